//! The names that types have in Python.

use std::borrow::Cow;

use porcini_core::DType;

/// The name of a type in Python, of its name in scripts: without the C at the end.
pub(crate) fn name_of(script: &str) -> &str {
    script.strip_suffix('C').unwrap_or(script)
}

/// What core says in words of scripts, and Python otherwise: where a program without lines is, truth values of flags.
const WORDS: [(&str, &str); 3] =
    [(" (line 0)", ""), ("\", false)", "\", False)"), ("\", true)", "\", True)")];

/// A text of core in Python's words: with the names that types have there, and named arguments for those that scripts
/// give in maps.
pub(crate) fn as_python(text: &str) -> Cow<'_, str> {
    let has_words = WORDS.iter().any(|(script, _)| text.contains(script));
    if !has_words && !text.contains("#{") {
        return with_python_types(text);
    }
    let words =
        WORDS.iter().fold(text.to_string(), |text, (script, own)| text.replace(script, own));
    Cow::Owned(with_python_types(&without_maps(&words)).into_owned())
}

/// `#{invertible: f, n: 2}` as `invertible=f, n=2`.
fn without_maps(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, map)) = rest.split_once("#{") {
        out.push_str(before);
        let Some((inside, behind)) = map.split_once('}') else {
            out.push_str("#{");
            rest = map;
            continue;
        };
        out.push_str(&inside.replace(": ", "="));
        rest = behind;
    }
    out.push_str(rest);
    out
}

fn with_python_types(text: &str) -> Cow<'_, str> {
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
        // What types make: PCG32.seeded.
        if is_type(word)
            && let Some(made) = rest.strip_prefix("::")
        {
            out.push('.');
            rest = made;
        }
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

/// Whether a name is one that Python and libraries ask for, to see what an object can do: `__dlpack__`.
pub(crate) fn is_of_protocol(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("__")
}
