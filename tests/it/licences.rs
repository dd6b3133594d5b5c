//! What others wrote: its licences, and the notices that go with our programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

/// Licences of what may be built in: they ask for a notice, and MPL for the source of its own files.
const ALLOWED: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

/// The file of notices.
const NOTICES: &str = "THIRD-PARTY.md";
/// What stands above the table.
const HEAD: &str = include_str!("licences/head.md");

/// The packages of the lock file as cargo describes them.
fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .args(["--filter-platform", "aarch64-unknown-linux-gnu"])
        .current_dir(porcini_tests::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_allowed(licence: &str) -> bool {
    let expression = Expression::parse_mode(licence, ParseMode::LAX);
    expression.is_ok_and(|expression| {
        expression
            .evaluate(|wanted| wanted.license.id().is_some_and(|id| ALLOWED.contains(&id.name)))
    })
}

/// The packages that are linked into our programs.
fn linked(metadata: &Value) -> BTreeSet<&str> {
    let nodes = list(&metadata["resolve"]["nodes"]);
    let nodes: BTreeMap<&str, &Value> =
        nodes.iter().map(|node| (text(&node["id"]), node)).collect();
    let is_program = |id: &&str| id.contains("/repl#") || id.contains("/jupyter-kernel#");
    let mut open: Vec<&str> = nodes.keys().copied().filter(is_program).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if found.insert(id) {
            let links =
                |dep: &&Value| list(&dep["dep_kinds"]).iter().any(|it| it["kind"].is_null());
            open.extend(list(&nodes[id]["deps"]).iter().filter(links).map(|dep| text(&dep["pkg"])));
        }
    }
    found
}

#[test]
fn licences_fit_ours() {
    let metadata = metadata();
    for package in list(&metadata["packages"]) {
        let (name, licence) = (text(&package["name"]), text(&package["license"]));
        assert!(is_allowed(licence), "{name}: its licence is {licence:?}, none of {ALLOWED:?}");
    }
    for (licence, allowed) in [
        ("MIT/Apache-2.0", true),
        ("MIT OR GPL-3.0", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("LGPL-2.1", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(licence), allowed, "{licence}");
    }
}

#[test]
fn the_notices_name_what_is_built_in() {
    let metadata = metadata();
    let linked = linked(&metadata);
    let mut rows = BTreeSet::new();
    for package in list(&metadata["packages"]) {
        let is_foreign = !package["source"].is_null();
        if is_foreign && linked.contains(text(&package["id"])) {
            let licence = text(&package["license"]).replace('/', " OR ");
            let (name, place) = (text(&package["name"]), text(&package["repository"]));
            rows.insert(format!("| {name} | {licence} | {place} |"));
        }
    }
    assert!(rows.len() > 50, "{rows:?}");
    let mut notices = HEAD.to_string();
    for row in rows {
        let _ = writeln!(notices, "{row}");
    }
    let file = porcini_tests::root().join(NOTICES);
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(&file, &notices).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        known == notices,
        "{NOTICES} is old: UPDATE_EXPECT=1 cargo test -p porcini-tests --test it licences"
    );
}
