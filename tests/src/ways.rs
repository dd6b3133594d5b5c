//! Ways to be slow that are no array work: those in `ways.txt`, and cells of one very long token. The shell, the sandbox
//! and the notebook are all tried with them.

/// Letters of a token that takes seconds to read.
const LONG: usize = 20_000_000;

/// Something slow.
#[derive(Clone, Debug)]
pub struct Way {
    /// What it is.
    pub name: String,
    /// What runs before.
    pub before: String,
    /// What takes long.
    pub script: String,
}

/// All of them.
pub fn all() -> Vec<Way> {
    let lines = include_str!("ways.txt").lines().filter(|line| !line.starts_with('#'));
    let written = lines.filter_map(|line| line.split_once(": ")).map(|(name, script)| {
        let (before, script) = script.split_once(" --- ").unwrap_or(("", script));
        way(name, before, script.into())
    });
    written.chain(tokens()).collect()
}

/// Every tenth; all under `PORCINI_FULL=1`.
pub fn some() -> Vec<Way> {
    let step = if std::env::var_os("PORCINI_FULL").is_some() { 1 } else { 10 };
    all().into_iter().step_by(step).collect()
}

fn tokens() -> impl Iterator<Item = Way> {
    let long = |letter: &str| letter.repeat(LONG / letter.len());
    [
        ("a long text", format!("\"{}\"", long("x"))),
        ("a long text in back quotes", format!("`{}`", long("x\n"))),
        ("an open text", format!("`{}", long("x"))),
        ("a long number", format!("1.{}", long("1"))),
        ("a long name", long("x")),
        ("a long comment", format!("/* {} */ 1", long("x"))),
        ("comments in comments", long("/*")),
        ("many comments", long("// x\n") + "1"),
        ("blanks", long(" ") + "1"),
        ("empty lines", long("\n") + "1"),
        ("open brackets", long("[")),
        ("operators", format!("1{}", long(" + 1"))),
        ("statements", long("let a = 1\n")),
    ]
    .into_iter()
    .map(|(name, script)| way(name, "", script))
}

fn way(name: &str, before: &str, script: String) -> Way {
    Way { name: name.into(), before: before.into(), script }
}
