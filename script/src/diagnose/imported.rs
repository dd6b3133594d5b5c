//! Functions of imported modules, as the texts of the modules say.

use porcini_core::spelling::similar;

use crate::diagnose::wording::friendly_types;

/// The path of the module that a cell imports under a name; else that name, for it may be imported before.
pub(crate) fn path<'t>(cell: &'t str, name: &'t str) -> &'t str {
    let imported = |line: &'t str| {
        let (path, alias) = line.trim_start().strip_prefix("import")?.split_once(" as ")?;
        let alias = alias.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next();
        (alias == Some(name)).then(|| path.trim().trim_matches('"'))
    };
    // Statements may share a line.
    cell.split([';', '\n']).find_map(imported).unwrap_or(name)
}

/// Names of the functions of a module's text, with what each takes.
fn functions(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("fn ")?.split_once('(')?;
        Some((name, rest.split_once(')')?.0))
    })
}

/// What is wrong with the call of a function that a module has not, or has with other arguments; and hints.
pub(crate) fn missing(
    [module, function]: [&str; 2],
    arguments: &str,
    text: &str,
) -> (String, Vec<String>) {
    let forms = functions(text).filter(|(name, _)| *name == function);
    let forms = forms.map(|(_, parameters)| format!("it takes {module}::{function}({parameters})"));
    let forms: Vec<String> = forms.collect();
    if !forms.is_empty() {
        let arguments = friendly_types(arguments);
        return (format!("`{module}::{function}` does not take ({arguments})"), forms);
    }
    let near = similar(function, functions(text).map(|(name, _)| name));
    let near = near.first().map(|near| format!("did you mean `{module}::{near}`?"));
    (format!("no function `{module}::{function}`"), near.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_known_by_the_names_they_are_imported_under() {
        let cell = "let x = 1;\nimport \"lib/optim\" as o; o::adam(x)";
        assert_eq!(path(cell, "o"), "lib/optim");
        assert_eq!(path(cell, "optim"), "optim");
        let text = "// fn no(x)\nfn one(x, y) {\n    fn two()\n}\nprivate fn three() { }";
        assert_eq!(functions(text).collect::<Vec<_>>(), [("one", "x, y")]);
    }
}
