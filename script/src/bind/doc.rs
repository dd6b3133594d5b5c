//! Help texts as data: one [`FunctionDoc`] a name, parsed from what the bindings and the tables of core say.
//!
//! A text says shapes, dtypes, evaluation and accuracy, and ends with an example:
//!
//! ```text
//! Square root, correctly rounded; NaN below zero.
//!
//! >> sqrt(FloatC([1, 4]))
//! [1, 2]
//! ```

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// The help of all names, made of what is written when somebody asks for the first: few sessions do.
pub(crate) type Docs = Rc<LazyCell<Vec<FunctionDoc>, Box<dyn FnOnce() -> Vec<FunctionDoc>>>>;

/// Help for a name: a function, a type, an operator or a constant.
#[derive(Clone, Debug)]
pub struct FunctionDoc {
    /// Name as typed.
    pub name: String,
    /// Parameters as typed: `(source, index, active)`; `a + b` for an operator, nothing for a constant.
    pub parameters: String,
    /// Parameters of its other forms, of tensors for example.
    pub forms: Vec<String>,
    /// What it belongs to: `random numbers`.
    pub family: &'static str,
    /// Help text; empty if there is none.
    pub doc: String,
    /// What to try; the cells of one page run one after the other.
    pub examples: Vec<Example>,
}

/// A cell and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// What is typed.
    pub code: String,
    /// What is shown.
    pub shown: String,
}

/// What examples are typed behind.
const PROMPT: &str = ">> ";

impl FunctionDoc {
    /// Takes the examples out of a text. Where it comes from `///` comments, a blank starts each line.
    pub(crate) fn new(name: &str, parameters: &str, family: &'static str, text: &str) -> Self {
        let mut doc = String::with_capacity(text.len());
        let mut examples: Vec<Example> = Vec::new();
        let mut margin = "";
        for line in text.lines() {
            if let Some(code) = line.trim_start().strip_prefix(PROMPT) {
                margin = if line.starts_with(' ') { " " } else { "" };
                examples.push(Example { code: code.into(), shown: String::new() });
                continue;
            }
            let (into, line) = match examples.last_mut() {
                Some(example) => (&mut example.shown, line.strip_prefix(margin).unwrap_or(line)),
                None => (&mut doc, line.trim()),
            };
            into.push_str(line);
            into.push('\n');
        }
        for example in &mut examples {
            example.shown.truncate(example.shown.trim_end().len());
        }
        Self {
            name: name.into(),
            parameters: parameters.into(),
            forms: Vec::new(),
            family,
            doc: doc.trim().into(),
            examples,
        }
    }

    /// Whether it is called with parentheses.
    pub fn is_function(&self) -> bool {
        self.parameters.starts_with('(')
    }

    /// What it takes in each of its forms: `(x)`, `(t, axes, keepdims)`.
    pub(crate) fn signatures(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.parameters).chain(&self.forms).map(String::as_str)
    }

    /// How it is written: `gather(source, index, active)`, `a + b`, `pi`.
    pub fn title(&self) -> String {
        if self.is_function() || self.parameters.is_empty() {
            format!("{}{}", self.name, self.parameters)
        } else {
            self.parameters.clone()
        }
    }

    /// The examples as they are typed and answered.
    pub(crate) fn example_lines(&self) -> Vec<String> {
        let lines = |example: &Example| {
            let mut lines = vec![format!("{PROMPT}{}", example.code)];
            lines.extend(example.shown.lines().map(Into::into));
            lines
        };
        self.examples.iter().flat_map(lines).collect()
    }
}

/// Help as the bindings write it, and all names that they register.
#[derive(Default)]
pub(crate) struct Written {
    texts: Vec<Text>,
    pub(super) names: BTreeSet<String>,
}

struct Text {
    name: String,
    parameters: String,
    family: &'static str,
    text: String,
    kind: Kind,
}

/// What a text is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// The page of a name.
    Page,
    /// A form of a function, which stands on its page.
    Form,
    /// Another name of a function; the text is that function's.
    Alias,
}

impl Written {
    pub(super) fn add(
        &mut self,
        kind: Kind,
        [name, parameters, text]: [&str; 3],
        family: &'static str,
    ) {
        let [name, parameters, text] = [name, parameters, text].map(Into::into);
        self.texts.push(Text { name, parameters, family, text, kind });
    }

    /// The pages of all names, and then others; names without any have an empty text.
    pub(crate) fn into_docs(self, others: impl Iterator<Item = FunctionDoc>) -> Vec<FunctionDoc> {
        let mut docs: Vec<FunctionDoc> = Vec::with_capacity(self.texts.len());
        // The last page of each name.
        let mut places: HashMap<String, usize> = HashMap::new();
        for text in self.texts {
            let known = places.get(&text.name).map(|&place| &mut docs[place]);
            let page = match (text.kind, known) {
                (Kind::Form, Some(page)) => {
                    page.add_form(FunctionDoc::new(&text.name, &text.parameters, "", &text.text));
                    continue;
                }
                (Kind::Alias, _) => match places.get(&text.text) {
                    Some(&place) => docs[place].alias(&text.name),
                    None => continue,
                },
                _ => FunctionDoc::new(&text.name, &text.parameters, text.family, &text.text),
            };
            places.insert(text.name, docs.len());
            docs.push(page);
        }
        let bare = self.names.iter().filter(|name| !places.contains_key(*name));
        docs.extend(bare.map(|name| FunctionDoc::new(name, "(..)", "not documented", "")));
        docs.extend(others);
        docs
    }
}

impl FunctionDoc {
    fn add_form(&mut self, form: Self) {
        self.doc.extend(["\n", &form.parameters, ": ", &form.doc]);
        self.forms.push(form.parameters);
        self.examples.extend(form.examples);
    }

    /// The page of another name.
    fn alias(&self, alias: &str) -> Self {
        let mut page = self.clone();
        for example in &mut page.examples {
            example.code = example.code.replace(&format!("{}(", self.name), &format!("{alias}("));
        }
        page.doc = format!("Another name of {}. {}", self.name, page.doc);
        page.name = alias.into();
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_leave_the_text() {
        for text in [
            "Two rows.\n\n>> a = 1;\n>> v\n[[1, 2],\n [3, 4]]",
            " Two rows.\n\n >> a = 1;\n >> v\n [[1, 2],\n  [3, 4]]\n",
        ] {
            let doc = FunctionDoc::new("v", "(x)", "vectors", text);
            assert_eq!(doc.doc, "Two rows.");
            assert_eq!(doc.examples.len(), 2);
            assert_eq!(doc.examples[0], Example { code: "a = 1;".into(), shown: String::new() });
            assert_eq!(doc.examples[1].shown, "[[1, 2],\n [3, 4]]");
        }
    }
}
