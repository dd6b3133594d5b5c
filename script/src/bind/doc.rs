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

/// Help for a name: a function, a type, an operator or a constant.
#[derive(Clone, Debug)]
pub struct FunctionDoc {
    /// Name as typed.
    pub name: String,
    /// Parameters as typed: `(source, index, active)`; `a + b` for an operator, nothing for a constant.
    pub parameters: String,
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
            family,
            doc: doc.trim().into(),
            examples,
        }
    }

    /// Whether it is called with parentheses.
    pub fn is_function(&self) -> bool {
        self.parameters.starts_with('(')
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
