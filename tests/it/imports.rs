//! Which modules of a package import which: `use`, and paths that begin with `crate`, `super`, `self` or a child,
//! wherever they stand. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

/// A module by its path below `src`: `show/plot`. The root, `lib` or `main`, has the empty path.
pub(crate) type Module = String;

/// The modules of a package, and what each imports.
pub(crate) type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The imports of files: names below `src`, and texts.
pub(crate) fn imports<'f>(files: impl Iterator<Item = (&'f str, &'f str)>) -> Imports {
    let texts: BTreeMap<Module, String> =
        files.map(|(name, text)| (module(name), without_tests(text))).collect();
    let package = Package::new(&texts);
    let of = |(own, text): (&Module, &String)| {
        let paths = paths(own, &without_reexports(text).0, &package.children(own));
        let targets = paths.iter().map(|path| package.target(path));
        (own.clone(), targets.filter(|target| target != own && !target.is_empty()).collect())
    };
    texts.iter().map(of).collect()
}

/// The modules that reach each other, where there are several.
pub(crate) fn knots(imports: &Imports) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reached(imports, module))).collect();
    let reach_each_other =
        |a: &Module, b: &Module| reached[a].contains(b) && reached[b].contains(a);
    let knot = |a: &Module| -> BTreeSet<Module> {
        imports.keys().filter(|b| a == *b || reach_each_other(a, b)).cloned().collect()
    };
    let knots: BTreeSet<_> = imports.keys().map(knot).filter(|knot| knot.len() > 1).collect();
    knots.into_iter().collect()
}

fn reached<'i>(imports: &'i Imports, from: &Module) -> BTreeSet<&'i Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = imports[from].iter().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(&imports[module]);
        }
    }
    reached
}

/// `show/plot/mod.rs` is `show/plot`.
fn module(file: &str) -> Module {
    let path = file.trim_end_matches(".rs").trim_end_matches("mod").trim_end_matches('/');
    if matches!(path, "lib" | "main") { String::new() } else { path.into() }
}

/// A text without comments, the tests below it, and what modules inside it take from it.
fn without_tests(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let is_inner = |line: &str| line.starts_with(' ') && line.trim() == "use super::*;";
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//") && !is_inner(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// A text without its `pub use`, and what these name.
fn without_reexports(text: &str) -> (String, Vec<&str>) {
    let mut rest = String::new();
    let mut reexports = Vec::new();
    for statement in text.split_inclusive(';') {
        let start = ["pub use ", "pub(crate) use ", "pub(super) use "];
        let found = start.iter().find_map(|start| statement.split_once(start));
        match found {
            Some((before, reexported)) => {
                rest.push_str(before);
                reexports.push(reexported);
            }
            None => rest.push_str(statement),
        }
    }
    (rest, reexports)
}

/// What paths lead to.
struct Package<'t> {
    texts: &'t BTreeMap<Module, String>,
    /// The module behind a name that another one exports anew.
    reexports: BTreeMap<String, Module>,
}

impl<'t> Package<'t> {
    fn new(texts: &'t BTreeMap<Module, String>) -> Self {
        let mut package = Self { texts, reexports: BTreeMap::new() };
        for (own, text) in texts {
            for reexported in without_reexports(text).1 {
                let paths = paths(own, &format!("self::{reexported}"), &[]);
                let anchored = ["crate::", "self::", "super::"];
                let paths = match anchored.iter().any(|anchor| reexported.starts_with(anchor)) {
                    true => self::paths(own, reexported, &[]),
                    false => paths,
                };
                for path in paths {
                    let name = path.last().cloned().unwrap_or_default();
                    let target = package.target(&path);
                    package.reexports.insert(joined(own, &name), target);
                }
            }
        }
        package
    }

    fn children(&self, own: &str) -> Vec<&str> {
        let below = self.texts.keys().filter_map(|module| {
            let (parent, child) = module.rsplit_once('/').unwrap_or(("", module));
            (parent == own && !child.is_empty()).then_some(child)
        });
        below.collect()
    }

    /// The module that a path leads into.
    fn target(&self, path: &[String]) -> Module {
        let mut module = String::new();
        for name in path {
            let next = joined(&module, name);
            if self.texts.contains_key(&next) {
                module = next;
            } else {
                return self.reexports.get(&next).cloned().unwrap_or(module);
            }
        }
        module
    }
}

fn joined(module: &str, name: &str) -> String {
    if module.is_empty() { name.into() } else { format!("{module}/{name}") }
}

/// All paths of a text that begin inside of the package, from its root.
fn paths(own: &str, text: &str, children: &[&str]) -> Vec<Vec<String>> {
    let own: Vec<String> = own.split('/').filter(|name| !name.is_empty()).map(Into::into).collect();
    let mut paths = Vec::new();
    for (at, _) in text.match_indices("::") {
        let before = &text[..at];
        let word = &before[before.trim_end_matches(is_word).len()..];
        let ahead = before[..at - word.len()].chars().next_back();
        // `$crate::` stands in macros; what follows `::` is in the middle of a path.
        if matches!(ahead, Some(':' | '$')) {
            continue;
        }
        let mut from = match word {
            "crate" => Vec::new(),
            "super" => own[..own.len().saturating_sub(1)].to_vec(),
            "self" => own.clone(),
            child if children.contains(&child) => [own.clone(), vec![child.into()]].concat(),
            _ => continue,
        };
        let mut rest = &text[at + 2..];
        while word == "super" && rest.starts_with("super::") {
            from.pop();
            rest = &rest["super::".len()..];
        }
        tree(from, rest, &mut paths);
    }
    paths
}

/// Reads `a::b`, or `{a, b::{c, d as e}}`, as paths; what follows it comes back.
fn tree<'t>(mut from: Vec<String>, text: &'t str, paths: &mut Vec<Vec<String>>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        while !rest.is_empty() && !rest.trim_start().starts_with('}') {
            rest = tree(from.clone(), rest, paths);
            let end = rest.find([',', '}']).unwrap_or(rest.len());
            rest = rest[end..].strip_prefix(',').unwrap_or(&rest[end..]);
        }
        return rest.trim_start().strip_prefix('}').unwrap_or(rest);
    }
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    if !matches!(&text[..end], "" | "self") {
        from.push(text[..end].into());
    }
    match text[end..].strip_prefix("::") {
        Some(rest) if end > 0 => tree(from, rest, paths),
        _ => {
            paths.push(from);
            &text[end..]
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let files = [
        ("lib.rs", "mod a;\nmod room;\npub use room::b::Thing;"),
        ("a.rs", "use crate::room::{self, b::{One, Two as Three}};\nfn f() { super::c::g() }"),
        ("c.rs", "use crate::Thing;\n// crate::a::f\n#[cfg(test)]\nmod tests { use crate::a; }"),
        ("room/mod.rs", "mod b;\npub(crate) use b::Four;\nfn f() { b::f::<crate::a::A>() }"),
        ("room/b.rs", "use super::f;\nuse super::super::c;"),
        ("d.rs", "use crate::room::Four;"),
    ];
    let imports = imports(files.into_iter());
    let of = |module: &str| imports[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(of("a"), ["c", "room", "room/b"]);
    assert_eq!(of("c"), ["room/b"]);
    assert_eq!(of("room"), ["a", "room/b"]);
    assert_eq!(of("room/b"), ["c", "room"]);
    assert_eq!(of("d"), ["room/b"]);
    let knots = knots(&imports);
    assert_eq!(knots.len(), 1);
    assert!(knots[0].iter().eq(["a", "c", "room", "room/b"]));
}
