//! What `help` and `apropos` show, from the documentation that the bindings register.

use std::fmt::Write as _;

use crate::doc::FunctionDoc;
use crate::error::similar;
use crate::topics::{TOPICS, Topic};

/// How `help()` begins.
const OVERVIEW: &str = "\
Operations on arrays are recorded, not run; looking at a value fuses all it needs into one kernel.

  a = FloatC::linspace(0, 1, 5)        an array; FloatC([1, 2, 3]) from a list
  b = sin(a) * 2 + 1                   recorded
  print(b)                             computed and shown
  m = b > 1.5; select(m, b, 0)         masks choose lanes
  hsum(b), count(m), any(m)            over all lanes
  v = Vector3fC(a, a * 2, a * 3)       three arrays at once; v.x, norm(v)
  rng = PCG32C(UInt64C::arange(1000))  random numbers: rng.next_float32()
  whos()                               what is recorded and in memory
  set_log_level(4)                     watch the machine think

help(\"tutorial\") teaches it in two screens, help(\"gather\") explains a name, help(\"mask lane\") searches.";

/// Widest line of help.
const WIDTH: usize = 80;
/// Narrowest line of help.
const NARROW: usize = 24;

/// Help for a name or a topic; a search if there is none; without a query an overview. Made for a window of so many
/// columns.
pub(crate) fn lookup(docs: &[FunctionDoc], query: &str, window: Option<usize>) -> String {
    let query = query.trim();
    let width = line_width(window);
    if query.is_empty() {
        return overview(docs, width);
    }
    let is_meant = |doc: &&FunctionDoc| {
        doc.name == query || doc.name.rsplit_once("::").is_some_and(|(_, last)| last == query)
    };
    let pages: Vec<String> = docs.iter().filter(is_meant).map(|doc| page(doc, window)).collect();
    match Topic::find(query) {
        _ if !pages.is_empty() => pages.join("\n\n"),
        Some(topic) => topic.fitted(width),
        None => apropos(docs, query, window),
    }
}

/// Characters of a line of help.
fn line_width(window: Option<usize>) -> usize {
    window.map_or(WIDTH, |window| window.clamp(NARROW, WIDTH))
}

/// Names and topics whose name or text contains every word.
pub(crate) fn apropos(docs: &[FunctionDoc], query: &str, window: Option<usize>) -> String {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let matches = |doc: &&FunctionDoc| {
        let text = format!("{} {} {}", doc.name, doc.family, doc.doc).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let names = docs.iter().filter(matches).map(|doc| (doc.title(), first_sentence(&doc.doc)));
    let topics = TOPICS.iter().filter(|topic| topic.has(&words));
    let topics =
        topics.map(|topic| (format!("help(\"{}\")", topic.names[0]), topic.title().into()));
    let mut text = String::new();
    for (title, about) in names.chain(topics) {
        let _ = match window.filter(|&window| window < WIDTH) {
            Some(window) => {
                let about = wrap(&about, window.max(NARROW) - 5).replace('\n', "\n    ");
                writeln!(text, "  {title}\n    {about}")
            }
            None => writeln!(text, "  {title:<28} {about}"),
        };
    }
    if text.is_empty() {
        let names = similar(query, docs.iter().map(|doc| doc.name.as_str()));
        return if names.is_empty() {
            format!("nothing about \"{query}\"; help() gives an overview")
        } else {
            format!("nothing about \"{query}\"; did you mean {}?", names.join(", "))
        };
    }
    text.trim_end().into()
}

/// The families in the order in which they come first, each with its names.
pub(crate) fn families(docs: &[FunctionDoc]) -> Vec<(&'static str, Vec<&FunctionDoc>)> {
    let mut families: Vec<(&str, Vec<&FunctionDoc>)> = Vec::new();
    for doc in docs {
        match families.iter_mut().find(|(family, _)| *family == doc.family) {
            Some((_, members)) => members.push(doc),
            None => families.push((doc.family, vec![doc])),
        }
    }
    families
}

/// All of it as a page of Markdown.
pub(crate) fn reference(docs: &[FunctionDoc]) -> String {
    let mut text = String::from(
        "# Reference\n\nMade from the help texts by `UPDATE_EXPECT=1 cargo test -p porcini-tests --test it \
         reference`; do not edit.\nEvery example is run by the tests. `x.sin()` is `sin(x)`.\n",
    );
    for (family, members) in families(docs) {
        let _ = write!(text, "\n## {}{}\n", family[..1].to_uppercase(), &family[1..]);
        for doc in members {
            let _ = write!(text, "\n### `{}`\n\n{}\n", doc.title(), doc.doc);
            if !doc.examples.is_empty() {
                let _ = write!(text, "\n```text\n{}\n```\n", doc.example_lines().join("\n"));
            }
        }
    }
    text
}

fn overview(docs: &[FunctionDoc], width: usize) -> String {
    let (sentences, table) = OVERVIEW.split_once("\n\n").unwrap_or((OVERVIEW, ""));
    let (table, further) = table.split_once("\n\n").unwrap_or((table, ""));
    let topics: Vec<&str> = TOPICS.iter().map(|topic| topic.names[0]).collect();
    let mut text = format!("{}\n\n{table}\n\n{}", wrap(sentences, width), wrap(further, width));
    let topics = format!("Topics: {}. The names by family:", topics.join(", "));
    let _ = write!(text, "\n\n{}", wrap(&topics, width));
    for (family, members) in families(docs) {
        let names: Vec<&str> = members.iter().map(|doc| doc.name.as_str()).collect();
        let names = wrap(&names.join(" "), width - 4).replace('\n', "\n    ");
        let _ = write!(text, "\n\n  {family}\n    {names}");
    }
    text
}

/// The page of a name.
pub(crate) fn page(doc: &FunctionDoc, window: Option<usize>) -> String {
    let width = line_width(window);
    let paragraphs: Vec<String> =
        doc.doc.split("\n\n").map(|paragraph| wrap(paragraph, width)).collect();
    let mut text = format!("{}\n\n{}", doc.title(), paragraphs.join("\n\n"));
    if !doc.examples.is_empty() {
        let _ = write!(text, "\n\n{}", doc.example_lines().join("\n"));
    }
    text
}

/// The text up to the first `.`, `;` or `:` that ends a word, on one line.
pub(crate) fn first_sentence(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        words.push(word);
        if word.ends_with(['.', ';', ':']) {
            break;
        }
    }
    words.join(" ").trim_end_matches(['.', ';', ':']).into()
}

/// The words of a text in lines of at most `width` characters, where they are short enough.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|line| line.len() + word.len() < width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.into()),
        }
    }
    lines.join("\n")
}
