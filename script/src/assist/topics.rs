//! Topics of help: pages that teach, in a screen or two, besides the page of each name.
//!
//! A page is text: a title, then blocks between blank lines. A block that begins with `>> ` is a session, whose
//! cells show what follows them; one that is indented stays as it is; another one is prose.

use crate::bind::doc::Example;
use crate::show::wrap::{narrowed, wrap};

/// What examples are typed behind.
const PROMPT: &str = ">> ";

/// A page of help.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// What it is asked for by; the first name is the one that is shown.
    pub names: &'static [&'static str],
    page: &'static str,
}

/// All topics, in the order in which they are read.
pub const TOPICS: &[Topic] = &[
    Topic {
        names: &["tutorial", "getting started", "start", "intro", "introduction", "learn"],
        page: include_str!("topics/tutorial.txt"),
    },
    Topic {
        names: &[
            "language",
            "syntax",
            "functions",
            "function",
            "closures",
            "closure",
            "maps",
            "lists",
            "switch",
            "try",
            "catch",
            "throw",
            "const",
            "break",
            "texts",
            "strings",
            "errors",
            "precedence",
            "reserved words",
        ],
        page: include_str!("topics/language.txt"),
    },
    Topic {
        names: &["performance", "speed", "fusion", "fusing", "profiling"],
        page: include_str!("topics/performance.txt"),
    },
    Topic {
        names: &["tensors", "tensor", "matrices", "axes", "axis", "broadcasting"],
        page: include_str!("topics/tensors.txt"),
    },
    Topic {
        names: &["complex", "complex numbers", "complex number"],
        page: include_str!("topics/complex.txt"),
    },
    Topic {
        names: &[
            "derivatives",
            "derivative",
            "gradients",
            "autodiff",
            "automatic differentiation",
            "backpropagation",
            "training",
            "training loop",
        ],
        page: include_str!("topics/derivatives.txt"),
    },
    Topic {
        names: &[
            "optim",
            "optimisers",
            "optimizers",
            "minimise",
            "minimize",
            "adam",
            "sgd",
            "lbfgs",
            "check_gradients",
            "optim::minimise",
            "optim::begin",
            "optim::adam",
            "optim::sgd",
            "optim::lbfgs",
            "optim::check_gradients",
        ],
        page: include_str!("topics/optim.txt"),
    },
    Topic {
        names: &["promotion", "conversion", "casting"],
        page: include_str!("topics/promotion.txt"),
    },
    Topic { names: &["matrix"], page: include_str!("topics/matrix.txt") },
    Topic { names: &["cengine"], page: include_str!("topics/cengine.txt") },
    Topic { names: &["examples", "example"], page: include_str!("topics/examples.txt") },
    Topic {
        names: &["loops", "loop", "for", "while", "if", "branches", "control flow"],
        page: include_str!("topics/loops.txt"),
    },
    Topic {
        names: &["files", "file", "input and output", "io"],
        page: include_str!("topics/files.txt"),
    },
    Topic {
        names: &["plots", "pictures", "plotting", "figures"],
        page: include_str!("topics/plots.txt"),
    },
    Topic { names: &["numpy", "python"], page: include_str!("topics/numpy.txt") },
    Topic { names: &["julia"], page: include_str!("topics/julia.txt") },
    Topic {
        names: &["keys", "key bindings", "keyboard", "editing", "shell", "history"],
        page: include_str!("topics/keys.txt"),
    },
    Topic {
        names: &[
            "settings",
            "config",
            "config.toml",
            "configuration",
            "init.rhai",
            "environment",
            "environment variables",
            "options",
        ],
        page: include_str!("topics/settings.txt"),
    },
    Topic {
        names: &["batch", "scripts", "script", "command line", "exit codes", "json"],
        page: include_str!("topics/batch.txt"),
    },
    Topic {
        names: &[
            "notebooks",
            "notebook",
            "jupyter",
            "jupyterlab",
            "nbconvert",
            "papermill",
            "restart",
        ],
        page: include_str!("topics/notebooks.txt"),
    },
    Topic { names: &["modules", "module", "import"], page: include_str!("topics/modules.txt") },
    Topic {
        names: &["sandbox", "bounds", "limits", "untrusted"],
        page: include_str!("topics/sandbox.txt"),
    },
    Topic { names: &["gpu", "cuda", "gpus"], page: include_str!("topics/gpu.txt") },
];

impl Topic {
    /// The topic that a query means.
    pub(crate) fn find(query: &str) -> Option<&'static Self> {
        let query = query.to_lowercase();
        TOPICS.iter().find(|topic| topic.names.contains(&query.as_str()))
    }

    /// What it is about.
    pub(crate) fn title(&self) -> &'static str {
        self.page.lines().next().unwrap_or_default()
    }

    /// Whether names and page have all of the words, which are in lower case.
    pub(crate) fn has(&self, words: &[String]) -> bool {
        let text = format!("{} {}", self.names.join(" "), self.page).to_lowercase();
        words.iter().all(|word| text.contains(word))
    }

    /// The page in lines of at most `width` characters, but for sessions.
    pub(crate) fn fitted(&self, width: usize) -> String {
        let fitted = |block: &str| match block.chars().next() {
            Some('>') => block.into(),
            Some(' ') => narrowed(block, width),
            _ => wrap(block, width),
        };
        self.page.trim_end().split("\n\n").map(fitted).collect::<Vec<_>>().join("\n\n")
    }

    /// What the page types and what that shows; the cells run one after the other.
    pub fn examples(&self) -> Vec<Example> {
        let mut examples: Vec<Example> = Vec::new();
        let sessions = self.page.split("\n\n").filter(|block| block.starts_with(PROMPT));
        for line in sessions.flat_map(str::lines) {
            match (line.strip_prefix(PROMPT), examples.last_mut()) {
                (Some(code), _) => {
                    examples.push(Example { code: code.into(), shown: String::new() });
                }
                (None, Some(example)) => {
                    let break_line = if example.shown.is_empty() { "" } else { "\n" };
                    example.shown.push_str(break_line);
                    example.shown.push_str(line);
                }
                (None, None) => {}
            }
        }
        examples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_fit_windows() {
        for topic in TOPICS {
            let most = |width: usize| {
                let page = topic.fitted(width);
                let prose = page.split("\n\n").filter(|block| !block.starts_with([' ', '>']));
                prose.flat_map(str::lines).map(str::len).max()
            };
            assert!(most(80) <= Some(80) && most(40) <= Some(40), "{}", topic.title());
            // A table that does not fit the usual window helps nobody.
            assert!(
                topic
                    .page
                    .split("\n\n")
                    .filter(|block| block.starts_with(' '))
                    .all(|table| { table.lines().all(|line| line.chars().count() <= 80) })
            );
        }
    }

    #[test]
    fn every_name_leads_to_one_topic() {
        let mut names: Vec<&str> = TOPICS.iter().flat_map(|topic| topic.names).copied().collect();
        let n = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n);
        assert_eq!(Topic::find("Getting Started").map(Topic::title), Some(TOPICS[0].title()));
    }
}
