//! What Python, NumPy and Julia users type, and how it is written here.

/// Names that do not exist here, and what stands for them.
const WORDS: [(&str, &str); 74] = [
    ("True", "true"),
    ("False", "false"),
    ("None", "()"),
    ("null", "()"),
    ("and", "&&, or & between masks"),
    ("or", "||, or | between masks"),
    ("not", "!x"),
    ("~", "!m"),
    ("#", "comments as // .."),
    ("def", "fn name(x) { .. }"),
    ("lambda", "|x| .."),
    ("np", "the functions without a prefix: sin(x), FloatC::linspace(0, 1, 5)"),
    ("numpy", "the functions without a prefix: sin(x), FloatC::linspace(0, 1, 5)"),
    ("math", "the functions without a prefix: sin(x)"),
    ("scipy", "the functions without a prefix: erf(x)"),
    ("torch", "the functions without a prefix: sin(x), FloatC([1, 2, 3])"),
    ("jax", "the functions without a prefix: sin(x), FloatC([1, 2, 3])"),
    ("dtype", "type_of(x)"),
    ("T", "transpose(m) for matrices: arrays have one dimension"),
    ("ndim", "shape(x)"),
    ("tolist", "x.ndarray(), or for lane in x { .. }"),
    ("item", "x[0]"),
    ("sorted", "sort(x)"),
    ("reversed", "reverse(x)"),
    ("enumerate", "for (item, i) in list { .. }"),
    ("zip", "for i in range(len(a)) { .. a[i], b[i] .. }"),
    ("str", "`${x}`"),
    ("repr", "`${x}`"),
    ("list", "[1, 2, 3]"),
    ("dict", "#{a: 1, b: 2}"),
    ("tuple", "[1, 2, 3]"),
    ("println", "print(x)"),
    ("printf", "print(`x = ${x}`)"),
    ("NaN", "nan"),
    ("Inf", "inf"),
    ("self", "the value as a parameter: fn f(x) { .. }"),
    ("concatenate", "concat(a, b)"),
    ("cumsum", "psum(x)"),
    ("array", "FloatC([1, 2, 3])"),
    ("asarray", "FloatC([1, 2, 3])"),
    ("arange", "FloatC::arange(n), UInt32C::arange(n)"),
    ("linspace", "FloatC::linspace(first, last, n)"),
    ("zeros", "FloatC::zero(n)"),
    ("ones", "FloatC::ones(n)"),
    ("full", "FloatC::full(value, n)"),
    ("empty", "FloatC::empty(n)"),
    ("where", "select(mask, a, b)"),
    ("sum", "hsum(x)"),
    ("prod", "hprod(x)"),
    ("mean", "hmean(x)"),
    ("amin", "hmin(x)"),
    ("amax", "hmax(x)"),
    ("reshape", "gather(x, row * width + column): arrays have one dimension"),
    ("size", "len(x)"),
    ("isclose", "abs(a - b) < tolerance, or allclose(a, b)"),
    ("assert", "if !right { throw \"why\" }"),
    ("dir", "%who at a prompt, or whos()"),
    ("type", "type_of(x)"),
    ("open", "read_csv(\"x.csv\") or read_npy(\"x.npy\")"),
    ("astype", "the type as a function: Int32C(x)"),
    ("int", "Int32C(x) for arrays, to_int(x) for numbers"),
    ("float", "FloatC(x) for arrays, to_float(x) for numbers"),
    ("random", "PCG32C(UInt64C::arange(n)).next_float32()"),
    ("rand", "PCG32C(UInt64C::arange(n)).next_float32()"),
    ("load", "read_npy(\"x.npy\")"),
    ("save", "write_npy(\"x.npy\", x)"),
    ("quit", "exit(), or press Ctrl-D"),
    ("elif", "else if"),
    ("inv", "inverse(m)"),
    ("upper", "text.to_upper()"),
    ("lower", "text.to_lower()"),
    ("strip", "text.trim()"),
    ("length", "len(x)"),
    ("randn", "PCG32C(UInt64C::arange(n)).next_float32_normal()"),
];

/// Functions of two arrays that others have over all lanes of one.
pub(crate) fn over_lanes(name: &str) -> Option<&'static str> {
    match name {
        "max" => Some("hmax(x)"),
        "min" => Some("hmin(x)"),
        _ => None,
    }
}

/// Functions of lists that would change the length of an array, and what to write of one.
pub(crate) fn of_arrays(name: &str) -> Option<&'static str> {
    match name {
        "append" | "push" | "insert" | "extend" => {
            Some("arrays keep their length; a longer one is concat(x, FloatC([4]))")
        }
        "pop" | "remove" | "shift" | "truncate" | "extract" | "splice" | "drain" | "retain" => {
            Some("arrays keep their length; a part of one is x[1..3] or compress(x, mask)")
        }
        _ => None,
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

/// What to write instead of a name.
pub(crate) fn word(name: &str) -> Option<&'static str> {
    WORDS.iter().find(|(known, _)| *known == name).map(|(_, word)| *word)
}

/// How a line that is no program here would be written.
pub(crate) fn hint(line: &str) -> Option<&'static str> {
    let code = line.split("//").next().unwrap_or(line);
    let trimmed = code.trim();
    let starts = |word: &str| trimmed.starts_with(word);
    let has = |text: &str| code.contains(text);
    Some(if has_arrow(code) {
        "closures are written |x| x * 2, and called f.call(3)"
    } else if has_keyword_argument(code) {
        "there are no keyword arguments: pass the values in order, options as a map, plot(y, #{title: \"a\"})"
    } else if has("?") && has(":") {
        "a choice is if right { a } else { b }, that of lanes select(mask, a, b)"
    } else if has("elif ") {
        "write else if"
    } else if has(" for ") && has(" in ") && has("[") {
        "there are no comprehensions: write range(3).map(|i| ..)"
    } else if starts("def ") {
        "functions are written fn name(x) { .. }"
    } else if starts("import ") || starts("from ") && has(" import ") {
        "the functions are there already; import \"file\" as name loads a script"
    } else if has("#") {
        "comments are written // .."
    } else if starts("print ") {
        "write print(x)"
    } else if starts("help ") {
        "write help(\"sin\"), or ?sin in the shell"
    } else if starts("%") {
        "commands such as %time x are for the prompt of the shell; %help lists them there"
    } else if has("{\"") && !has("#{") && !has("${") {
        "maps are written #{a: 1, b: 2}"
    } else if has(" @ ") {
        "products of matrices are a * b, of vectors dot(a, b)"
    } else if has("lambda") || has("= fn(") || has("function(") {
        "closures are written |x| x * 2, and called f.call(3)"
    } else if has_block_with_colon(trimmed) || starts("for ") && !has("{") {
        "blocks are written in braces: for i in range(3) { .. }"
    } else if (starts("if ") || starts("while ")) && !has("{") {
        "blocks are written in braces: if right { .. } else { .. }"
    } else if has_colon_slice(code) {
        "slices are a[2..5]; with a step a[range(0, 10, 2)]"
    } else if [" and ", " or ", "not "].iter().any(|word| has(word)) {
        "write && || ! for bools, & | ! for masks"
    } else if has(" if ") && has(" else ") && !has("{") {
        "a choice is if right { a } else { b }, that of lanes select(mask, a, b)"
    } else if has("f\"") {
        "text with values stands in backquotes: `x = ${x}`"
    } else if has("= (") && has(",") && !has("[") {
        "lists are written [1, 2, 3]"
    } else if has_number_before_letters(code) {
        "names begin with a letter, and products are written 3 * x"
    } else if has_bare_point(code) {
        "digits stand on both sides of the point: 0.5, 5.0"
    } else if has("++") || has("--") {
        "write x += 1"
    } else if has("'") {
        "text stands in double quotes"
    } else if is_chained_assignment(trimmed) {
        "one assignment a statement: y = 3; x = y"
    } else if is_multiple_assignment(trimmed) {
        "one assignment a statement: a = 1; b = 2"
    } else {
        return None;
    })
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

/// `3x`, but no `1e5`, `0x1F` or `a3x`.
fn has_number_before_letters(code: &str) -> bool {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| {
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

fn is_chained_assignment(code: &str) -> bool {
    let is_other = ["==", "<=", ">=", "!=", "..="];
    let plain = is_other.iter().fold(code.to_string(), |code, other| code.replace(other, ""));
    plain.matches('=').count() > 1 && !code.contains(['(', '{', ';'])
}

fn is_multiple_assignment(code: &str) -> bool {
    code.split_once('=').is_some_and(|(left, _)| left.contains(',') && !left.contains(['(', '[']))
}

fn has_keyword_argument(code: &str) -> bool {
    let Some(open) = code.find('(') else { return false };
    code[open..].split(['(', ',']).any(|argument| {
        let Some((name, value)) = argument.split_once('=') else { return false };
        let name = name.trim();
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        !name.is_empty() && !value.starts_with(['=', '>']) && name.chars().all(is_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "a @ b",
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
        ] {
            assert_eq!(hint(line), None, "{line}");
        }
    }
}
