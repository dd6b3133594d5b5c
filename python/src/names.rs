//! The names that types have in Python.

use std::borrow::Cow;

use porcini_core::DType;

/// The name of a type in Python, of its name in scripts: without the C at the end.
pub(crate) fn name_of(script: &str) -> &str {
    script.strip_suffix('C').unwrap_or(script)
}

/// A text of core with the names that types have in Python.
pub(crate) fn as_python(text: &str) -> Cow<'_, str> {
    if !text.contains('C') {
        return Cow::Borrowed(text);
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find(is_word) {
        let end = rest[start..].find(|c| !is_word(c)).map_or(rest.len(), |n| start + n);
        let word = &rest[start..end];
        out.push_str(&rest[..start]);
        out.push_str(if is_type(word) { name_of(word) } else { word });
        rest = &rest[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether a word is the name of a type in scripts.
fn is_type(word: &str) -> bool {
    word == "PCG32C"
        || word == "TensorC"
        || DType::ALL.into_iter().any(|dtype| dtype.script_name() == word)
        || word.ends_with('C')
            && ["Vector", "Complex", "Quaternion", "Matrix", "TensorX"]
                .iter()
                .any(|stem| word.starts_with(stem))
}
