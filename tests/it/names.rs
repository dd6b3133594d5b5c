//! Names of operations and functions stand in their tables: what lists some of them elsewhere has a property of rows
//! that is no column yet, and drifts.

use std::collections::BTreeSet;

use porcini_core::catalogue;
use porcini_core::ir::op::{OPS, ReduceOp, ScatterOp};
use porcini_core::trace::functions::FUNCTIONS;
use porcini_core::trace::nested;

use crate::tidy::sources;

/// Where the rows stand.
const TABLES: [&str; 5] = [
    "core/src/catalogue/",
    "core/src/ir/op",
    "core/src/ir/primitive.rs",
    "core/src/trace/functions",
    "core/src/trace/nested/",
];

/// Files that list words which only look like names, or give each a meaning of its own.
const EXCEPTIONS: [(&str, &str); 27] = [
    ("core/src/array/description.rs", "columns of a summary, which leave missing values out"),
    ("core/src/array/groups.rs", "columns of groups"),
    ("core/src/backend/cuda/ptx/op.rs", "instructions of PTX"),
    ("core/src/backend/isa.rs", "features of processors"),
    ("core/src/ir/var.rs", "functions that errors of several operations name"),
    ("core/src/text_kernel/expression.rs", "operators of C"),
    ("core/src/text_kernel/lexer.rs", "operators of C"),
    ("core/src/text_kernel/preprocess.rs", "operators of C"),
    ("core/src/text_kernel/library.rs", "names of C and NumPy"),
    ("core/src/trace/special/bessel.rs", "functions that are in each other's slopes"),
    ("python/src/callable.rs", "methods of NumPy that take what others have in a list"),
    ("python/src/components.rs", "functions of NumPy that go entry by entry"),
    ("python/src/forms.rs", "names that mean more in Python"),
    ("python/src/aliases.rs", "names that everybody else has"),
    ("python/src/index.rs", "members of Python's arrays"),
    ("python/src/numpy.rs", "names of NumPy"),
    ("script/src/bind/derivatives.rs", "names of Enoki and Dr.Jit for what has another"),
    ("script/src/bind/language_help.rs", "what Rhai's own functions of these names mean"),
    ("script/src/bind/list_tensors.rs", "names that mean something else of lists"),
    ("script/src/bind/engine_operators.rs", "keys of what describes an operator"),
    ("script/src/bind/script_numbers.rs", "functions of Rhai that are replaced"),
    ("script/src/bind/tensors.rs", "names that everybody else has for reductions"),
    ("script/src/diagnose/python.rs", "names that are said otherwise of lists"),
    ("script/src/diagnose/python/names.rs", "words of Python"),
    ("tests/src/nested/generate.rs", "what random programs call more often"),
    ("tests/src/oracle/functions.rs", "what functions mean, said again"),
    ("tests/src/texts/print.rs", "operators of C, with their precedence"),
];

/// Names within so many lines are a list if there are as many as this.
const LINES: usize = 8;
const LIST: usize = 3;

pub(crate) fn names() -> BTreeSet<&'static str> {
    let operations = OPS.iter().map(|row| row.name);
    let horizontal = ReduceOp::ALL.map(ReduceOp::name).into_iter();
    let scatters = ScatterOp::ALL.map(ScatterOp::name).into_iter();
    let functions = FUNCTIONS.iter().map(|row| row.name);
    let nested = nested::rows().map(|row| row.name);
    let whole = catalogue::rows().map(|row| row.name);
    let made = [catalogue::MAKERS, catalogue::TENSOR_MAKERS].into_iter().flatten();
    let cengine = [catalogue::CENGINE, catalogue::CENGINE_TENSORS].into_iter().flatten();
    let tensors = catalogue::tensor_rows().chain(made).chain(cengine).map(|row| row.name);
    operations
        .chain(horizontal)
        .chain(scatters)
        .chain(functions)
        .chain(nested)
        .chain(whole)
        .chain(tensors)
        .collect()
}

/// Names that stand between quotes, with their lines.
fn quoted<'t>(text: &'t str, names: &BTreeSet<&str>) -> Vec<(usize, &'t str)> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    let words =
        lines.flat_map(|(i, line)| line.split('"').skip(1).step_by(2).map(move |word| (i, word)));
    words.filter(|(_, word)| names.contains(word)).collect()
}

/// The largest list of names in a text.
fn list<'t>(text: &'t str, names: &BTreeSet<&str>) -> BTreeSet<&'t str> {
    let quoted = quoted(text, names);
    let near = |first: usize| {
        let near = quoted.iter().filter(|(line, _)| (first..first + LINES).contains(line));
        near.map(|(_, word)| *word).collect::<BTreeSet<_>>()
    };
    quoted.iter().map(|(line, _)| near(*line)).max_by_key(BTreeSet::len).unwrap_or_default()
}

#[test]
fn no_list_of_names_stands_beside_the_tables() {
    let names = names();
    for (file, text) in sources() {
        let is_product =
            file.contains("/src/") && !TABLES.iter().any(|table| file.starts_with(table));
        let list = list(&text, &names);
        let is_known = EXCEPTIONS.iter().any(|(known, _)| *known == file);
        assert_eq!(
            is_product && list.len() >= LIST,
            is_known,
            "{file}: {list:?}: make what they have in common a column of their rows, or say here why not"
        );
    }
}

#[test]
fn lists_are_found() {
    let names = names();
    let text = "let a = [\"sin\",\n \"cos\",\n // \"exp\"\n \"other\"];";
    assert_eq!(list(text, &names), BTreeSet::from(["sin", "cos"]));
    assert_eq!(list(&text.replace("// ", ""), &names).len(), LIST);
}
