//! What a kernel of CUDA C++ takes: `const float *x, float *y, float alpha`.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::text_kernel::c_type;

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) dtype: DType,
    pub(super) is_pointer: bool,
    pub(super) is_const: bool,
}

impl Parameter {
    /// Bytes of what a launch passes.
    pub(super) fn bytes(&self) -> usize {
        if self.is_pointer { 8 } else { self.dtype.bytes() }
    }
}

/// Words that say nothing of what a parameter is.
const QUALIFIERS: [&str; 5] =
    ["__restrict__", "__restrict", "restrict", "volatile", "__grid_constant__"];

/// Reads the parameters of a kernel.
///
/// # Errors
/// `Kernel` for what is no `(const) type (*) (name)`.
pub(super) fn parameters(signature: &str) -> Result<Vec<Parameter>> {
    let signature = without_comments(signature);
    if signature.trim().is_empty() {
        return Ok(Vec::new());
    }
    signature.split(',').map(parameter).collect()
}

/// Whether a signature may stand for another one: what that writes it must not call const.
pub(super) fn agree(signature: &[Parameter], other: &[Parameter]) -> bool {
    let same = |(one, other): (&Parameter, &Parameter)| {
        let is_hidden = one.is_pointer && one.is_const && !other.is_const;
        one.dtype == other.dtype && one.is_pointer == other.is_pointer && !is_hidden
    };
    signature.len() == other.len() && signature.iter().zip(other).all(same)
}

fn parameter(text: &str) -> Result<Parameter> {
    let text = text.trim();
    let invalid = || Error::Kernel {
        what: format!("invalid prototype \"{text}\"; expected (const) type (*) (name)"),
        remedy: None,
    };
    let is_pointer = text.contains('*') || text.ends_with("[]");
    let spaced = text.replace('*', " * ").replace("[]", "");
    let mut words: Vec<&str> =
        spaced.split_whitespace().filter(|word| !QUALIFIERS.contains(word)).collect();
    let of_words = words.iter().position(|word| *word == "*").unwrap_or(words.len());
    let is_const = words[..of_words].contains(&"const");
    let n_stars = words.iter().filter(|word| **word == "*").count();
    words.retain(|word| !["const", "*"].contains(word));
    let is_name = |word: &&&str| {
        let mut letters = word.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if n_stars > 1 || words.is_empty() || !words.iter().all(|word| is_name(&word)) {
        return Err(invalid());
    }
    let Some((dtype, n_words)) = c_type(&words) else {
        let what = format!(
            "unsupported kernel argument type `{}`; supported: bool, int8_t to int64_t, uint8_t to uint64_t, char, short, \
             int, long long, size_t, __half, float, double",
            words[0]
        );
        return Err(Error::Kernel { what, remedy: None });
    };
    if words.len() > n_words + 1 {
        return Err(invalid());
    }
    Ok(Parameter { dtype, is_pointer, is_const })
}

fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("/*") {
        kept.push_str(&rest[..start]);
        rest = rest[start..].find("*/").map_or("", |end| &rest[start + end + 2..]);
    }
    kept.push_str(rest);
    let lines = kept.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// A kernel that a source declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    /// Its name, with those of the namespaces around it: `inner::f`.
    pub(super) name: String,
    /// Names of the types that a template takes.
    pub(super) template: Vec<String>,
    pub(super) signature: String,
}

/// The kernels that a source declares, as far as can be seen without compiling it.
pub(super) fn declared(source: &str) -> Vec<Declared> {
    let source = without_comments(source);
    let mut found = Vec::new();
    for (at, _) in source.match_indices("__global__") {
        let behind = &source[at + "__global__".len()..];
        // Attributes have brackets of their own.
        let behind = match behind.find("__launch_bounds__") {
            Some(bounds) if bounds < behind.find('(').unwrap_or(0) => {
                behind[bounds..].find(')').map_or("", |end| &behind[bounds + end + 1..])
            }
            _ => behind,
        };
        let Some(open) = behind.find('(') else { continue };
        let Some(close) = behind[open..].find(')') else { continue };
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = behind[..open].trim_end();
        let name = &name[name.rfind(|c| !is_part(c)).map_or(0, |end| end + 1)..];
        if name.is_empty() {
            continue;
        }
        let name = namespaces(&source[..at]) + name;
        let words = behind[open + 1..open + close].split_whitespace();
        let signature = words.collect::<Vec<_>>().join(" ");
        let template = template_of(source[..at].trim_end());
        if !found.iter().any(|known: &Declared| known.name == name) {
            found.push(Declared { name, template, signature });
        }
    }
    found
}

/// The namespaces that are open at the end of a text: `outer::inner::`.
fn namespaces(before: &str) -> String {
    let (mut open, mut start) = (Vec::new(), 0);
    for (at, c) in before.char_indices() {
        match c {
            '{' => {
                let words: Vec<&str> = before[start..at].split_whitespace().collect();
                open.push(match words[..] {
                    [.., "namespace", name] => format!("{name}::"),
                    _ => String::new(),
                });
            }
            '}' => drop(open.pop()),
            ';' => {}
            _ => continue,
        }
        start = at + 1;
    }
    open.concat()
}

/// The kernel of a name, which may leave out the namespaces.
pub(super) fn find<'d>(all: &'d [Declared], name: &str) -> Option<&'d Declared> {
    let ends = |declared: &&Declared| {
        declared.name.strip_suffix(name).is_some_and(|before| before.ends_with("::"))
    };
    all.iter().find(|declared| declared.name == name).or_else(|| all.iter().find(ends))
}

/// The types of the template that ends a text: `template <typename T>`.
fn template_of(before: &str) -> Vec<String> {
    let before = before.strip_suffix("extern \"C\"").unwrap_or(before).trim_end();
    let Some(inside) = before.strip_suffix('>') else { return Vec::new() };
    let Some(open) = inside.rfind('<') else { return Vec::new() };
    if !inside[..open].trim_end().ends_with("template") {
        return Vec::new();
    }
    let names = inside[open + 1..].split(',').map(|one| {
        let words = one.split('=').next().unwrap_or_default().split_whitespace();
        words.last().unwrap_or_default().to_string()
    });
    names.collect()
}

/// The signature of a kernel by its name, templates with their types: `axpy<float>`.
pub(super) fn signature_of(all: &[Declared], name: &str) -> Option<String> {
    let (plain, types) = match name.split_once('<') {
        Some((plain, types)) => (plain, types.trim_end().strip_suffix('>')?),
        None => (name, ""),
    };
    let declared = find(all, plain.trim())?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut signature = String::new();
    let mut rest = declared.signature.as_str();
    while let Some(first) = rest.chars().next() {
        let end = match is_part(first) {
            true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let word = &rest[..end];
        let at = declared.template.iter().position(|known| known == word);
        let with = at.and_then(|at| types.split(',').nth(at)).map_or(word, str::trim);
        signature.push_str(with);
        rest = &rest[end..];
    }
    // What a call cannot leave out, a declaration may have: defaults.
    Some(signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> String {
        match parameters(text) {
            Ok(all) => all
                .iter()
                .map(|one| {
                    let constant = if one.is_const { "const " } else { "" };
                    format!(
                        "{constant}{}{}",
                        one.dtype.name(),
                        if one.is_pointer { "*" } else { "" }
                    )
                })
                .collect::<Vec<_>>()
                .join(", "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn prototypes_are_read() {
        assert_eq!(one("const float *x, float *y, float alpha"), "const f32*, f32*, f32");
        assert_eq!(one("unsigned int n, const __half* __restrict__ x"), "u32, const f16*");
        assert_eq!(one("float *, int"), "f32*, i32");
        assert_eq!(one(""), "");
        assert_eq!(
            one("const 3x"),
            "invalid prototype \"const 3x\"; expected (const) type (*) (name)"
        );
        assert!(
            one("const complex *x")
                .starts_with("unsupported kernel argument type `complex`; supported: ")
        );
        for wrong in ["float **x", "float x y", "*", "float *x,", "float x = 3"] {
            assert!(one(wrong).contains("invalid prototype"), "{wrong}: {}", one(wrong));
        }
    }

    #[test]
    fn sources_are_read() {
        let source = "/* __global__ void no() */ extern \"C\" __global__ void axpy(const float *x, float *y, float a) {}\n\
                      template <typename T, int N> __global__ void __launch_bounds__(256) scale(T *x, T a) {}";
        let all = declared(source);
        assert_eq!(all.len(), 2);
        assert_eq!(signature_of(&all, "axpy").unwrap(), "const float *x, float *y, float a");
        assert_eq!(signature_of(&all, "scale<double, 3>").unwrap(), "double *x, double a");
        assert_eq!(signature_of(&all, "other"), None);
        let source = "namespace a { struct S { int k; }; namespace b::c { template <typename T>\n__global__ void f(T *x,\n  int n) {} } \
                      __global__ void g() {} } namespace { __global__ void h() {} } extern \"C\" { __global__ void k() {} }";
        let names: Vec<String> = declared(source).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["a::b::c::f", "a::g", "h", "k"]);
        assert_eq!(signature_of(&declared(source), "f<half>").unwrap(), "half *x, int n");
        assert_eq!(find(&declared(source), "b::c::f").unwrap().template, ["T"]);
        assert!(find(&declared(source), "c").is_none());
    }
}
