//! Pasted transcripts: the prompts go, and the outputs between them.

/// Prompts of ours, of Python, IPython and Julia, and of the examples in help; those of continued lines second.
const PROMPTS: [(&str, &str); 3] = [(">>> ", "... "), ("julia> ", "       "), (">> ", "")];

/// A transcript without its prompts and outputs; other texts as they are.
pub(crate) fn without_prompts(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let Some(prompts) = prompts_of(first) else { return text.into() };
    let mut goes_on = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let typed = strip(line, &prompts.0)
            .or_else(|| strip(line, &prompts.1).filter(|_| goes_on))
            .or_else(|| numbered(line));
        goes_on = typed.is_some();
        lines.extend(typed);
    }
    lines.join("\n")
}

/// The prompts that a transcript has which begins with this line.
fn prompts_of(line: &str) -> Option<(String, String)> {
    if numbered(line).is_some() {
        let width = line.find("]: ")? + 3;
        return Some((String::new(), format!("{:>width$}", "...: ")));
    }
    let known = PROMPTS.iter().find(|(first, _)| strip(line, first).is_some())?;
    Some((known.0.into(), known.1.into()))
}

/// The line behind a prompt, which may have lost its last blank.
fn strip<'l>(line: &'l str, prompt: &str) -> Option<&'l str> {
    let line = line.trim_start_matches(|c: char| c == ' ' && !prompt.starts_with(' '));
    let bare = prompt.trim_end();
    line.strip_prefix(prompt)
        .filter(|_| !prompt.is_empty())
        .or_else(|| (line == bare && !bare.is_empty()).then_some(""))
}

/// The line behind `In [12]: `.
fn numbered(line: &str) -> Option<&str> {
    let (number, typed) = line.trim_start().strip_prefix("In [")?.split_once("]: ")?;
    number.chars().all(|c| c.is_ascii_digit() || c == ' ').then_some(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_outputs_go() {
        for (pasted, cell) in [
            ("a = 1\na", "a = 1\na"),
            (">>> a = 1\n>>> a\n1", "a = 1\na"),
            ("  >>> a = 1", "a = 1"),
            (">>> fn f(x) {\n...     x\n... }\n>>> f(1)\n1\n>>>", "fn f(x) {\n    x\n}\nf(1)\n"),
            ("In [1]: a = 1\n\nIn [2]: a\nOut[2]: 1", "a = 1\na"),
            ("In [1]: if a {\n   ...:     b\n   ...: }\n", "if a {\n    b\n}"),
            ("julia> a = 1\n1", "a = 1"),
            (">> a = 1; a\n[1]\n  >> a + 1\n[2]", "a = 1; a\na + 1"),
            ("a >>> b", "a >>> b"),
        ] {
            assert_eq!(without_prompts(pasted), cell, "{pasted:?}");
        }
    }
}
