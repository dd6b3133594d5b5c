//! What Python, NumPy and Julia users type, and how it is written here.

mod names;

use self::names::WORDS;
use crate::diagnose::wording::ARRAY;
use crate::language::words::is_name;

/// What stands for members of tensors that do not exist.
pub(crate) fn member(name: &str) -> Option<&'static str> {
    match name {
        "t" => Some("t.T, or permute(t, [0, 2, 1]) with all axes named"),
        _ => None,
    }
}

/// Whether a name is that of a module of others.
pub(crate) fn is_module(name: &str) -> bool {
    let modules = ["np", "numpy", "jnp", "jax", "torch", "scipy", "math", "linalg"];
    modules.contains(&name)
}

/// How `a'` is written.
pub(crate) const TRANSPOSED: &str = "a transposed matrix is a.T, with conjugated entries a.H";

/// Functions of two arrays that others have over all lanes of one.
pub(crate) fn over_lanes(name: &str) -> Option<&'static str> {
    match name {
        "max" | "maximum" => Some("hmax(x)"),
        "min" | "minimum" => Some("hmin(x)"),
        _ => None,
    }
}

/// Functions of lists that would change the length of an array, and what to write of one.
pub(crate) fn of_arrays(name: &str) -> Option<&'static str> {
    match name {
        "append" | "push" | "insert" | "extend" => {
            Some("arrays keep their length; a longer one is concat([x, FloatC([4])])")
        }
        "pop" | "remove" | "shift" | "truncate" | "extract" | "splice" | "drain" | "retain" => {
            Some("arrays keep their length; a part of one is x[1..3] or compress(x, mask)")
        }
        name => of_lanes(name),
    }
}

/// What to write of arrays in place of functions of lists that go through the items.
fn of_lanes(name: &str) -> Option<&'static str> {
    match name {
        "map" => Some("functions of arrays go lane by lane: f(x)"),
        "filter" => Some("the lanes of an array that are chosen are compress(x, x > 1)"),
        "reduce" => {
            Some("all lanes together are hsum(x), hprod(x), hmin(x), hmax(x): help(\"reduction\")")
        }
        "some" => Some("whether a lane is one of those is any(x > 1)"),
        "for_each" => Some("a loop over lanes is for lane in x { .. }"),
        _ => None,
    }
}

/// What to write for a call of ours whose arguments ours does not take.
pub(crate) fn called_otherwise(name: &str, arguments: &str) -> Option<&'static str> {
    let has = |kind: &str| arguments.split(", ").any(|argument| argument == kind);
    match name {
        "where" if arguments == ARRAY => {
            Some("the numbers of the true lanes are flatnonzero(m), along each axis nonzero(m)")
        }
        "zeros" | "ones" | "full" if has("text") => {
            Some("other types have their own: TensorXdC::zeros([2, 3]), TensorXiC::ones([2, 3])")
        }
        _ if has("range") => Some("a range as an array is Int32C::arange(0, 5)"),
        _ => None,
    }
}

/// What to write where an error of core tells of a call of others.
pub(crate) fn meant(message: &str) -> Option<&'static str> {
    if message.starts_with("inverse: got (TensorX") {
        Some("the inverse of a tensor is inv(t)")
    } else if message.starts_with("norm: got axis ") {
        Some("the order of a norm stands last: norm(x, all, false, 2)")
    } else {
        None
    }
}

/// Functions of lists in Python, and what to write of a list.
pub(crate) fn of_lists(name: &str) -> Option<&'static str> {
    match name {
        "sorted" => Some("list.sort(), which sorts it in place"),
        "reversed" => Some("list.reverse(), which turns it in place"),
        "sum" => Some("list.reduce(|a, b| a + b, 0), or hsum(FloatC(list))"),
        _ => None,
    }
}

/// A name without the module that others keep it in, and without the end of Cengine's classes.
pub(crate) fn plain(name: &str) -> &str {
    let modules = ["np.", "numpy.", "plt.", "pd."];
    let name = modules.iter().find_map(|of| name.strip_prefix(of)).unwrap_or(name);
    of_class(name).unwrap_or(name)
}

/// The function of a class of Cengine, whose name ends in `_op`.
pub(crate) fn of_class(name: &str) -> Option<&str> {
    let function = name.strip_suffix("_op")?;
    let family = function.trim_start_matches("new_").split('_').next()?;
    ["rscalar", "cscalar", "ctensor"].contains(&family).then_some(function)
}

/// What help says of a name of others.
pub(crate) fn help(name: &str) -> Option<String> {
    let name = plain(name);
    Some(format!("{name} is written here: {}", word(name)?))
}

/// What to write instead of a name.
pub(crate) fn word(name: &str) -> Option<&'static str> {
    WORDS.iter().find(|(known, _)| *known == name).map(|(_, word)| *word)
}

/// What a statement without an end lacks, from what stands where `;` is expected.
pub(crate) fn missing_semicolon(next: Option<char>) -> &'static str {
    match next {
        Some('(') => "what a call gives is called with .call(..): f(1).call(2)",
        Some(_) => "statements end with ; (a line of its own needs none in the shell)",
        None => "a block is still open: close it with }",
    }
}

/// How statements of others begin, and how they would be written.
const STATEMENTS: [(&[&str], &str); 12] = [
    (&["def", "function"], "functions are written fn name(x) { .. }"),
    (
        &["import", "from", "using"],
        "the functions are there already; import \"file\" as name loads a script",
    ),
    (&["print"], "write print(x)"),
    (&["help"], "write help(\"sin\"), or ?sin in the shell"),
    (&["assert"], "write assert(right, \"why\")"),
    (&["raise"], "errors are raised with throw \"why\""),
    (&["try", "except", "finally"], "errors are caught with try { .. } catch (e) { .. }"),
    (&["with"], "files are read as a whole: read_csv(\"x.csv\"), read_npy(\"x.npy\")"),
    (&["class", "struct"], "there are no classes: maps hold values by name, #{a: 1, b: 2}"),
    (&["global", "nonlocal"], "functions do not see outer variables: pass them, and return them"),
    (
        &["var", "int", "float", "double", "auto"],
        "names have no types: a = 1, and let a = 1 in functions",
    ),
    (&["pip"], "there are no packages; %sh runs a command of the system at a prompt"),
];

/// Bytes of a line that is compared with what others write: no person wrote a longer one.
const LONGEST_LINE: usize = 10_000;

/// How the statement at a column (from 1) of a line that is no program here would be written.
pub(crate) fn hint_at(line: &str, column: usize) -> Option<&'static str> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    let caret = line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    let start = line[..caret].rfind(';').map_or(0, |at| at + 1);
    let end = line[caret..].find(';').map_or(line.len(), |at| caret + at);
    hint(&line[start..end])
}

/// How a statement that is no program here would be written.
fn hint(line: &str) -> Option<&'static str> {
    let code = line.split("//").next().unwrap_or(line);
    let trimmed = code.trim();
    let starts = |word: &str| trimmed.starts_with(word);
    let has = |text: &str| code.contains(text);
    let outside_texts: String = code.split(['"', '`']).step_by(2).collect();
    if let Some(statement) = statement(trimmed) {
        return Some(statement);
    }
    Some(if has_arrow(code) {
        "closures are written |x| x * 2, and called f(3)"
    } else if has_keyword_argument(code) {
        "there are no keyword arguments: pass the values in order, options as a map, plot(y, #{title: \"a\"})"
    } else if has("|>") {
        "functions are called f(x), and x.f() does the same"
    } else if code.contains(['÷', '×', '≤', '≥', '≠', '√']) {
        "operators are written / * <= >= != and sqrt(x)"
    } else if starts("!") {
        "%sh runs a command of the system, at a prompt or in a notebook: %sh ls -l"
    } else if starts("?") || trimmed.ends_with('?') {
        "?sin is for the prompt of the shell: write help(\"sin\")"
    } else if starts("@") {
        "there are no macros and decorators; %time x measures at a prompt"
    } else if has("?") && has(":") {
        "a choice is if right { a } else { b }, that of lanes select(mask, a, b)"
    } else if has_range_with_colon(&outside_texts) {
        "ranges are written 1..6, which ends before 6, or range(0, 10, 2)"
    } else if has("elif ") {
        "write else if"
    } else if trimmed.find('[') < trimmed.find(" for ") && has("[") && has(" in ") {
        "there are no comprehensions: write range(3).map(|i| ..)"
    } else if has_map_without_hash(code) {
        "maps are written #{a: 1, b: 2}"
    } else if has_format(code) {
        "a value with a format is ${format(\"{:.2f}\", x)}"
    } else if code.replace("#{", "").contains('#') {
        "comments are written // .."
    } else if starts("%") {
        "commands such as %time x are for the prompt of the shell; %help lists them there"
    } else if has("lambda") || has("= fn(") || has("function(") {
        "closures are written |x| x * 2, and called f(3)"
    } else if has_block_with_colon(trimmed) || starts("for ") && !has("{") {
        "blocks are written in braces: for i in range(3) { .. }"
    } else if (starts("if ") || starts("while ")) && !has("{") {
        "blocks are written in braces: if right { .. } else { .. }"
    } else if has_colon_slice(code) {
        "slices are a[2..5]; with a step a[range(0, 10, 2)]"
    } else if is_typed_assignment(trimmed) {
        "names have no types: a = 1, and let a = 1 in functions"
    } else if has("===") || has("!==") || has("<>") {
        "values are compared with == and !="
    } else if outside_texts.contains(" is ") {
        "values are compared with ==; None is ()"
    } else if [" and ", " or ", "not "].iter().any(|word| outside_texts.contains(word)) {
        "write && || ! for bools, & | ! for masks"
    } else if has(" if ") && has(" else ") && !has("{") {
        "a choice is if right { a } else { b }, that of lanes select(mask, a, b)"
    } else if has("f\"") {
        "text with values stands in backquotes: `x = ${x}`"
    } else if has("= (") && has(",") && !has("[") {
        "lists are written [1, 2, 3]"
    } else if outside_texts.trim_end().ends_with('\\') {
        "lines go on by themselves in brackets and behind an operator, without a \\"
    } else if outside_texts.contains('\\') {
        "a \\ b is written solve(a, b)"
    } else if has_dotted_comparison(&outside_texts) {
        "comparisons go lane by lane: x > 1; the lanes that are chosen are compress(x, x > 1)"
    } else if has_imaginary_number(code) {
        "complex numbers are written Complex2fC(1, 2)"
    } else if has_number_before_letters(code) {
        "names begin with a letter, and products are written 3 * x"
    } else if has_dotted_operator(code) {
        "functions and operators work on every lane: sin(x), x * 2, x ** 2"
    } else if has_bare_point(code) {
        "digits stand on both sides of the point: 0.5, 5.0"
    } else if has("++") {
        "write x += 1"
    } else if has("--") {
        "write x -= 1"
    } else if is_transposed(&outside_texts) {
        TRANSPOSED
    } else if outside_texts.contains('\'') {
        "text stands in double quotes"
    } else if is_chained_assignment(trimmed) {
        "one assignment a statement: y = 3; x = y"
    } else if is_multiple_assignment(trimmed) {
        "one assignment a statement: a = 1; b = 2"
    } else {
        return None;
    })
}

/// Whether a value in a text has a colon behind it, as in Python.
fn has_format(code: &str) -> bool {
    let is_formatted = |value: &str| {
        let (value, _) = value.split_once('}').unwrap_or((value, ""));
        value.replace("::", "").contains(':') && !value.contains('{')
    };
    code.split("${").skip(1).any(is_formatted)
}

/// What the first word of a statement says.
fn statement(code: &str) -> Option<&'static str> {
    let (word, rest) = code.split_at(code.find([' ', ':'])?);
    let is_ours = word == "try" && code.contains('{')
        || rest.starts_with("::")
        || rest[1..].trim_start().starts_with(['=', '(']);
    STATEMENTS.iter().find(|(words, _)| !is_ours && words.contains(&word)).map(|(_, hint)| *hint)
}

/// `{"a": 1}` and `{a: 1}`, but no `#{a: 1}`, `${..}` or `{ f::g() }`.
fn has_map_without_hash(code: &str) -> bool {
    code.match_indices('{').any(|(at, _)| {
        let key = code[at + 1..].split_once(':').filter(|(_, value)| !value.starts_with(':'));
        let is_key = |(key, _): (&str, &str)| {
            let key = key.trim().trim_matches('"');
            !key.is_empty() && key.chars().all(is_name)
        };
        !code[..at].ends_with(['#', '$']) && key.is_some_and(is_key)
    })
}

/// `a'` and `(a * b)'`, but no `'text'`.
fn is_transposed(code: &str) -> bool {
    let mut quotes = code.match_indices('\'').peekable();
    let is_behind = |at: usize| code[..at].ends_with(|c: char| is_name(c) || ")]".contains(c));
    quotes.peek().is_some() && quotes.all(|(at, _)| is_behind(at))
}

/// `a: int = 1`
fn is_typed_assignment(code: &str) -> bool {
    let code = code.strip_prefix("let ").unwrap_or(code);
    code.split_once(':').is_some_and(|(name, rest)| {
        !name.is_empty()
            && name.chars().all(is_name)
            && rest.contains('=')
            && !rest.starts_with(':')
    })
}

/// `2j` and `2im`
fn has_imaginary_number(code: &str) -> bool {
    code.split(|c: char| !is_name(c)).any(|word| {
        let letters = word.trim_start_matches(|c: char| c.is_ascii_digit());
        letters.len() < word.len() && matches!(letters, "j" | "im")
    })
}

/// `sin.(x)` and `x .* y`
fn has_dotted_operator(code: &str) -> bool {
    code.match_indices('.').any(|(at, _)| {
        let is_operand = |c: char| is_name(c) && !c.is_ascii_digit() || ")] ".contains(c);
        code[..at].ends_with(is_operand)
            && code[at + 1..].starts_with(['(', '*', '/', '^', '+', '-'])
    })
}

/// `x .> 2`
fn has_dotted_comparison(code: &str) -> bool {
    [" .>", " .<", " .=="].iter().any(|operator| code.contains(operator))
}

fn has_block_with_colon(code: &str) -> bool {
    let opens = ["for ", "if ", "while ", "else"].iter().any(|word| code.starts_with(word));
    opens && code.contains(':') && !code.contains("::") || code.ends_with(':')
}

fn has_colon_slice(code: &str) -> bool {
    let inside = code.split('[').skip(1).filter_map(|rest| rest.split(']').next());
    inside.into_iter().any(|index| index.contains(':') && !index.contains(['(', '#']))
}

/// `x -> 2 * x`, and `f(x => 2 * x)`, but no case of a `switch`.
fn has_arrow(code: &str) -> bool {
    let inside = code.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    code.contains("->") || inside.into_iter().any(|argument| argument.contains("=>"))
}

/// `1:5`
fn has_range_with_colon(code: &str) -> bool {
    let mut parts = code.split(':').map(str::trim).peekable();
    while let Some(part) = parts.next() {
        let is_number = |text: &str, last: fn(&str) -> Option<char>| {
            last(text).is_some_and(|c| c.is_ascii_digit())
        };
        let next = parts.peek().is_some_and(|next| is_number(next, |text| text.chars().next()));
        if next && is_number(part, |text| text.chars().next_back()) && !code.contains(['{', '[']) {
            return true;
        }
    }
    false
}

/// `3x`, but no `1e5`, `0x1F` or `a3x`.
fn has_number_before_letters(code: &str) -> bool {
    code.split(|c: char| !is_name(c)).any(|word| {
        let letters = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
        let is_hexadecimal = word.starts_with('0') && letters.starts_with(['x', 'o', 'b']);
        let is_number = letters.is_empty() || letters.starts_with('e') || is_hexadecimal;
        word.starts_with(|c: char| c.is_ascii_digit()) && !is_number
    })
}

/// `.5` and `5.`
fn has_bare_point(code: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    code.match_indices('.').any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + 1..].chars().next();
        let is_name = |c: char| c.is_alphanumeric() || "_.)]".contains(c);
        is_digit(after) && !before.is_some_and(is_name)
            || is_digit(before) && !after.is_some_and(is_name)
    })
}

/// `x = y = 3`
fn is_chained_assignment(code: &str) -> bool {
    let parts: Vec<&str> = code.split('=').map(str::trim).collect();
    let is_word = |part: &&str| !part.is_empty() && part.chars().all(is_name);
    parts.len() > 2 && parts[..parts.len() - 1].iter().all(is_word)
}

fn is_multiple_assignment(code: &str) -> bool {
    code.split_once('=').is_some_and(|(left, _)| left.contains(',') && !left.contains(['(', '[']))
}

fn has_keyword_argument(code: &str) -> bool {
    let Some(open) = code.find('(') else { return false };
    code[open..].split(['(', ',']).any(|argument| {
        let Some((name, value)) = argument.split_once('=') else { return false };
        let name = name.trim();
        !name.is_empty() && !value.starts_with(['=', '>']) && name.chars().all(is_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_classes_of_cengine_end_in_op() {
        let names = ["np.sin", "sin_op", "new_ctensor_zero_op", "rscalar_add_op"];
        assert_eq!(names.map(plain), ["sin", "sin_op", "new_ctensor_zero", "rscalar_add"]);
    }

    #[test]
    fn python_is_recognised() {
        for line in [
            "scatter(target=a, source=b)",
            "v = [f() for _ in range(3)]",
            "for i in range(3): pass",
            "x = a[2:5]",
            "x = y = 3",
            "a, b = 1, 2",
            "x = 3 # three",
            "print 'x'",
            "x = 1 if y else 2",
            "x = (1, 2)",
            "print(f\"{x}\")",
            "help sin",
            "%tiem x",
            "x = {\"a\": 1}",
            "a' * b",
            "for i in range(3) print(i)",
            "x ? 1 : 0",
            "if a { 1 } elif b { 2 }",
            "from numpy import *",
            "if y == 5 then 1",
            "while (y == 5) print(y)",
            "let 3x = 1",
            "y = .5",
            "f = x -> x * 2",
            "l.map(x => x * 2)",
            "let f = fn(x) { x * 2 }",
            "5. * x",
            "sin.(x)",
            "x .* 2",
            "a[a .> 2]",
            "q \\ b",
            "x.^2",
            "2 + 3j",
            "x is None",
            "x <> y",
            "x === y",
            "a: int = 1",
            "int a = 1",
            "let x: f32 = 1",
            "{a: 1}",
            "assert x == 5, \"no\"",
            "raise ValueError(\"x\")",
            "try: x",
            "with open(\"a\") as f:",
            "class A:",
            "global x",
            "using Plots",
            "@time x",
            "?sin",
            "!pip install x",
        ] {
            assert!(hint(line).is_some(), "{line}");
        }
        for line in [
            "f(a == b)",
            "`${\"a\"}`",
            "x = FloatC::zero(3)",
            "a[range(0, 3, 1)]",
            "let y = 2",
            "a3x = 1e5 + 0x1F + 1_000 + 0.5 + a[2..5][0..=1]",
            "if a { 1 }",
            "switch f(x) { 1 => 2, _ => 3 }",
            "help = 3",
            "time::now()",
            "try { f::g() } catch (e) { }",
            "v[0..(n)] / x.y + a.z",
            "#{a: 1 b: 2}",
            "print(\"this is not \" x)",
            "def = 3",
            "b = 2 c = 3",
            "x = `a is b` c",
        ] {
            assert_eq!(hint(line), None, "{line}");
        }
    }

    #[test]
    fn other_statements_of_the_line_are_not_meant() {
        let line = "x = FloatC::linspace(0, 1, 5); q, w = 1, 2; def f(x)";
        assert_eq!(hint_at(line, 10), None);
        assert_eq!(hint_at(line, 33), Some("one assignment a statement: a = 1; b = 2"));
        assert_eq!(hint_at(line, 48), Some("functions are written fn name(x) { .. }"));
        assert_eq!(hint_at("é; x is y", 6), Some("values are compared with ==; None is ()"));
        assert_eq!(hint_at("", 1), None);
        assert_eq!(hint("b = (a * b)' * c[0]'"), Some(TRANSPOSED));
        assert_eq!(hint("print('x')"), Some("text stands in double quotes"));
        let goes_on =
            Some("lines go on by themselves in brackets and behind an operator, without a \\");
        assert_eq!([hint("x = 1 + \\"), hint("a = [1, 2, \\ ")], [goes_on; 2]);
        assert_eq!(hint("q \\ b"), Some("a \\ b is written solve(a, b)"));
        assert_eq!((hint("\"it's"), hint("x--")), (None, Some("write x -= 1")));
        let comprehension = "there are no comprehensions: write range(3).map(|i| ..)";
        assert_ne!(hint("    for i in [1, 2]:"), Some(comprehension));
        assert_eq!(hint("v = [f() for _ in range(3)]"), Some(comprehension));
    }
}
