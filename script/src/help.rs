//! Help texts, from the documentation that the bindings register.

use std::fmt::Write as _;

use crate::bind::FunctionDoc;
use crate::error::similar;

/// What `help()` says.
const OVERVIEW: &str = "\
Operations on arrays are recorded, not run; looking at a value fuses all it needs into one kernel.

  a = FloatC::linspace(0, 1, 5)        an array; FloatC([1, 2, 3]) from a list
  b = sin(a) * 2 + 1                   recorded
  print(b)                             computed and shown
  m = b > 1.5; select(m, b, 0)         masks choose lanes
  hsum(b), count(m), any(m)            over all lanes
  v = Vector3fC(a, a * 2, a * 3)       three arrays at once; v.x, norm(v), dot(v, v)
  rng = PCG32C(UInt64C::arange(1000))  random numbers: rng.next_float32()
  whos()                               what is recorded and in memory
  set_log_level(4)                     watch the machine think

help(\"gather\") explains a function, help(\"mask lane\") searches.";

/// Help for a name; what to look at if there is none.
pub(crate) fn lookup(docs: &[FunctionDoc], query: &str) -> String {
    let query = query.trim();
    if query.is_empty() {
        return OVERVIEW.into();
    }
    let exact: Vec<&FunctionDoc> = docs.iter().filter(|doc| doc.name == query).collect();
    if !exact.is_empty() {
        let pages =
            exact.iter().map(|doc| format!("{}{}\n\n{}", doc.name, doc.parameters, wrap(&doc.doc)));
        return pages.collect::<Vec<_>>().join("\n\n");
    }
    search(docs, query)
}

fn search(docs: &[FunctionDoc], query: &str) -> String {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let matches = |doc: &&FunctionDoc| {
        let text = format!("{} {}", doc.name, doc.doc).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let mut text = String::new();
    for doc in docs.iter().filter(matches) {
        let first = doc.doc.split(['.', ';', ':']).next().unwrap_or_default();
        let _ = writeln!(
            text,
            "  {:<28} {}",
            format!("{}{}", doc.name, doc.parameters),
            one_line(first)
        );
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

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text in lines of at most 80 characters.
fn wrap(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|line| line.len() + word.len() < 79);
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
