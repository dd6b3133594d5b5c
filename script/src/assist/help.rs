//! What `help` and `apropos` show, from the documentation that the bindings register.

use std::fmt::Write as _;
use std::rc::Rc;

use porcini_core::spelling::similar;
use rhai::{Dynamic, Engine, FnPtr};

use crate::assist::commands::commands;
use crate::assist::topics::{TOPICS, Topic};
use crate::bind::doc::{Docs, FunctionDoc};
use crate::bind::types::type_names;
use crate::context::Context;
use crate::diagnose::python;
use crate::interpreter::Interpreter;
use crate::language::words::is_name;
use crate::show::visible::in_line;
use crate::show::wrap::{narrowed, wrap};
use crate::value::cuda_module::{ModuleKernelRef, ModuleRef};
use crate::value::text_kernel::KernelRef;
use crate::world::modules::library_text;

/// How `help()` begins.
const OVERVIEW: &str = "\
Operations on arrays are recorded, not run; looking at a value fuses all it needs into one kernel.

  a = FloatC::linspace(0, 1, 5)        an array; FloatC([1, 2, 3]) from a list
  b = sin(a) * 2 + 1                   recorded
  print(b)                             computed and shown
  m = b > 1.5; select(m, b, 0)         masks choose lanes
  hsum(b), count(m), any(m)            over all lanes
  v = Vector3fC(a, a * 2, a * 3)       three arrays at once; v.x, norm(v)
  rand(5), randn(5), randint(1, 7, 5)  random numbers, the same each session
  whos()                               what is recorded and in memory
  set_log_level(4)                     watch the machine think

help(\"tutorial\") teaches it in two screens, help(\"gather\") explains a name, help(\"mask lane\") searches.";

/// How the help of another name of a function begins.
pub(crate) const ALIAS: &str = "Another name of ";
/// Widest line of help.
const WIDTH: usize = 80;
/// Letters of a search at most: each word is looked for in all texts.
const LONGEST_QUERY: usize = 1000;
/// Narrowest line of help.
const NARROW: usize = 24;

/// `help` and `apropos` as functions of scripts.
pub(crate) fn register(engine: &mut Engine, context: &Rc<Context>, docs: &Docs) {
    type Text = fn(&[FunctionDoc], &str, Option<usize>) -> Result<String, String>;
    let texts: [(&str, Text); 2] = [("help", lookup), ("apropos", apropos)];
    for (name, text) in texts {
        let (known, host) = (docs.clone(), context.host.clone());
        let show = move |query: &str| {
            host.page(&text(&known, query, host.window()).unwrap_or_else(|nothing| nothing));
        };
        engine.register_fn(name, show.clone());
        if name == "help" {
            engine.register_fn(name, move || show(""));
            let host = context.host.clone();
            engine.register_fn(name, move |function: FnPtr| {
                host.page(&of_function(&function.into()));
            });
            let host = context.host.clone();
            engine.register_fn(name, move |module: ModuleRef| host.page(&module.about()));
            let host = context.host.clone();
            engine.register_fn(name, move |kernel: ModuleKernelRef| host.page(&kernel.about()));
        }
    }
}

/// What there is to say of a function that a variable holds: the text of a kernel.
pub(super) fn of_function(function: &Dynamic) -> String {
    match KernelRef::of(function) {
        Some(kernel) => {
            let source = kernel.source().trim();
            format!(
                "{}\n\n{source}\n\nhelp(\"kernel\") tells of the language.\n",
                kernel.signature()
            )
        }
        None => {
            "A function of this session; help(\"name\") explains those that have a page.\n".into()
        }
    }
}

impl Interpreter {
    /// Help for a name or a search, as `help("..")` shows it.
    pub fn help(&self, query: &str) -> String {
        self.find_help(query).unwrap_or_else(|nothing| nothing)
    }

    /// Help for a name or a search.
    ///
    /// # Errors
    /// That nothing was found, and what the query may have meant.
    pub fn find_help(&self, query: &str) -> Result<String, String> {
        lookup(&self.docs, query, self.context.host.window())
    }

    /// The help of all names as a page of Markdown.
    pub fn reference(&self) -> String {
        reference(&self.docs)
    }
}

/// Help for a name or a topic; a search if there is none; without a query an overview. Made for a window of so many
/// columns.
///
/// # Errors
/// That nothing was found, and what the query may have meant.
fn lookup(docs: &[FunctionDoc], query: &str, window: Option<usize>) -> Result<String, String> {
    let query = query.trim();
    let width = line_width(window);
    if query.is_empty() {
        return Ok(overview(docs, width));
    }
    if let Some(text) = library_text(query) {
        return Ok(text.trim_end().into());
    }
    let is_meant = |doc: &&FunctionDoc| {
        doc.name == query || doc.name.rsplit_once("::").is_some_and(|(_, last)| last == query)
    };
    let mut pages: Vec<String> =
        docs.iter().filter(is_meant).map(|doc| page(doc, window)).collect();
    let topic = Topic::find(query);
    // `numpy` and `keys` are listed as topics, and functions too.
    pages.splice(
        0..0,
        topic.filter(|topic| topic.names[0] == query).map(|topic| topic.fitted(width)),
    );
    match topic {
        _ if !pages.is_empty() => Ok(pages.join("\n\n")),
        None if matches!(query, "topics" | "topic") => {
            Ok(rows(TOPICS.iter().map(topic_row), window))
        }
        Some(topic) => Ok(topic.fitted(width)),
        None if matches!(query, "commands" | "command" | "magic") || query.starts_with('%') => {
            Ok(commands(window))
        }
        None => match (python::help(query), python::plain(query)) {
            (Some(answer), _) => Ok(wrap(&answer, width)),
            (None, name) if name != query => lookup(docs, name, window),
            // The help of Float64C::linspace stands under FloatC.
            (None, _) => match query.rsplit_once("::") {
                Some((owner, name)) if type_names().iter().any(|known| known == owner) => {
                    lookup(docs, name, window)
                }
                _ => apropos(docs, query, window),
            },
        },
    }
}

/// Characters of a line of help.
fn line_width(window: Option<usize>) -> usize {
    window.map_or(WIDTH, |window| window.clamp(NARROW, WIDTH))
}

/// Names and topics whose name or text contains every word.
///
/// # Errors
/// As [`lookup`].
fn apropos(docs: &[FunctionDoc], query: &str, window: Option<usize>) -> Result<String, String> {
    if query.len() > LONGEST_QUERY {
        let n = query.len();
        return Err(format!("nothing about these {n} letters; help() gives an overview"));
    }
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let matches = |doc: &&FunctionDoc| {
        let text = format!("{} {} {}", doc.name, doc.family, doc.doc).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let mut found: Vec<&FunctionDoc> = docs.iter().filter(matches).collect();
    // Those whose name has a word, and then those whose text has whole ones, come first.
    found.sort_by_cached_key(|doc| {
        let name = doc.name.to_lowercase();
        let text = format!("{name} {} {}", doc.family, doc.doc).to_lowercase();
        let is_whole = |word: &String| text.split(|c| !is_name(c)).any(|part| part == word);
        let in_name = |word: &String| name.split('_').any(|part| part == word);
        (!words.iter().any(in_name), !words.iter().all(is_whole))
    });
    let names = found.into_iter().map(|doc| (doc.title(), first_sentence(&doc.doc)));
    let topics = TOPICS.iter().filter(|topic| topic.has(&words));
    let text = rows(names.chain(topics.map(topic_row)), window);
    if text.is_empty() {
        let topics = TOPICS.iter().flat_map(|topic| topic.names).copied();
        let query = in_line(query);
        let names = similar(&query, docs.iter().map(|doc| doc.name.as_str()).chain(topics));
        return Err(if names.is_empty() {
            format!("nothing about \"{query}\"; help() gives an overview")
        } else {
            format!("nothing about \"{query}\"; did you mean {}?", names.join(", "))
        });
    }
    Ok(text)
}

/// How a topic is asked for, and what it is about.
fn topic_row(topic: &Topic) -> (String, String) {
    (format!("help(\"{}\")", topic.names[0]), topic.title().into())
}

/// A line for each title and what stands for it; two where the window is narrow.
fn rows(rows: impl Iterator<Item = (String, String)>, window: Option<usize>) -> String {
    let lines: Vec<String> = rows
        .map(|(title, about)| match window.filter(|&window| window < WIDTH) {
            Some(window) => {
                let about = wrap(&about, window.max(NARROW) - 5).replace('\n', "\n    ");
                format!("  {title}\n    {about}")
            }
            None => format!("  {title:<28} {about}"),
        })
        .collect();
    lines.join("\n")
}

/// The families in the order in which they come first, each with its names.
fn families(docs: &[FunctionDoc]) -> Vec<(&'static str, Vec<&FunctionDoc>)> {
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
fn reference(docs: &[FunctionDoc]) -> String {
    let mut text = String::from(
        "# Reference\n\nMade from the help texts by `UPDATE_EXPECT=1 cargo test -p porcini-tests --test it \
         reference`; do not edit.\nEvery example is run by the tests. `x.sin()` is `sin(x)`.\n",
    );
    let heading = |family: &str| format!("{}{}", family[..1].to_uppercase(), &family[1..]);
    text.push('\n');
    for (family, _) in families(docs) {
        let anchor = family.to_lowercase().replace(' ', "-").replace(',', "");
        let _ = writeln!(text, "* [{}](#{anchor})", heading(family));
    }
    // Other names of a function stand with it.
    let original = |doc: &FunctionDoc| {
        let name = doc.doc.strip_prefix(ALIAS)?.split_once(". ")?.0;
        docs.iter().any(|other| other.name == name).then(|| name.to_string())
    };
    for (family, members) in families(docs) {
        let _ = write!(text, "\n## {}\n", heading(family));
        for doc in members.into_iter().filter(|doc| original(doc).is_none()) {
            let _ = write!(text, "\n### `{}`\n\n{}\n", doc.title(), doc.doc);
            let is_other = |other: &&FunctionDoc| original(other).as_ref() == Some(&doc.name);
            let others = docs.iter().filter(is_other).map(|other| format!("`{}`", other.name));
            let others: Vec<String> = others.collect();
            if !others.is_empty() {
                let _ = write!(text, "\nAlso {}.\n", others.join(", "));
            }
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
    let mut text = format!(
        "{}\n\n{}\n\n{}",
        wrap(sentences, width),
        narrowed(table, width),
        wrap(further, width)
    );
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

/// The text up to the first `.`, `;` or `:` that ends a word outside of brackets, on one line.
pub(crate) fn first_sentence(text: &str) -> String {
    let mut words = Vec::new();
    let mut open = 0;
    for word in text.split_whitespace() {
        words.push(word);
        open += word.matches('(').count();
        open = open.saturating_sub(word.matches(')').count());
        if open == 0 && word.ends_with(['.', ';', ':']) {
            break;
        }
    }
    words.join(" ").trim_end_matches(['.', ';', ':']).into()
}
