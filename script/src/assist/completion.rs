//! What could stand at the cursor: names with what they are, for editors and notebooks.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use porcini_core::DType;
use porcini_core::catalogue::MAKERS;
use porcini_core::ir::op::{Class, OPS};
use porcini_core::text_kernel::{self, Word};
use porcini_core::trace::functions;
use rhai::{Dynamic, Identifier, Map};

use crate::assist::candidate::{Candidate, CandidateKind, candidate};
use crate::assist::commands::{COMMANDS, Command, Takes};
use crate::assist::help::first_sentence;
use crate::assist::in_cell;
use crate::assist::options::{self, options_of};
use crate::assist::topics::{TOPICS, Topic};
use crate::bind::doc::FunctionDoc;
use crate::bind::tensor_members::{MEMBERS as MEMBERS_OF_TENSORS, OF_ARRAYS};
use crate::bind::types::type_names;
use crate::interpreter::Interpreter;
use crate::language::cell::Cell;
use crate::language::parts::READERS_OF_KERNELS;
use crate::language::tokens::{KEYWORDS, typed};
use crate::language::words::{is_name, last_word};
use crate::value::generator::RngRef;
use crate::value::host_array::HostRef;
use crate::value::text_kernel::KernelRef;
use crate::value::{ArrayRef, Form, GENERATOR, describe, scalar};
use crate::world::modules;

/// The word in front of the text that names a module.
const IMPORT: &str = "import";

/// Names that could stand at the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Byte at which the names start.
    pub start: usize,
    /// Byte at which the typed part ends: the cursor.
    pub end: usize,
    /// The names in order; behind a dot components, then what the help uses most.
    pub candidates: Vec<Candidate>,
}

/// Where the cursor stands.
#[derive(Debug, PartialEq, Eq)]
enum Cursor<'t> {
    /// In a text, the first argument of `function`.
    Text { function: &'t str, typed: &'t str },
    /// In the text of a kernel.
    Kernel { text: &'t str, typed: &'t str },
    /// Behind `owner::`.
    Static { owner: &'t str, typed: &'t str },
    /// Behind `owner.`; `None` if the owner is no name.
    Member { owner: Option<&'t str>, typed: &'t str },
    /// In the name of an option of a function.
    Option { function: &'t str, typed: &'t str },
    /// In a key of `owner[".."]`.
    Key { owner: &'t str, typed: &'t str },
    /// In the name of a command, behind `%%` of one that takes a cell.
    Command { typed: &'t str, takes_cell: bool },
    /// In a path that is no text.
    File { typed: &'t str },
    /// In the name of a switch that is no text.
    Flag { typed: &'t str },
    /// In a name that has help.
    Help { typed: &'t str },
    /// In a name.
    Name { typed: &'t str },
    /// Where no name can stand: a comment, a number.
    Nowhere,
}

impl<'t> Cursor<'t> {
    /// The place in a command; `None` in script.
    fn typed_at_prompt(before: &'t str) -> Option<Self> {
        if before.trim_start().starts_with("%%kernel")
            && let Some((_, text)) = before.split_once('\n')
        {
            return Some(Self::in_kernel(text));
        }
        let line = before.rsplit('\n').next()?.trim_start();
        if line.starts_with('?') {
            return Some(Self::Help { typed: last_word(line) });
        }
        let line = line.strip_prefix('%')?;
        let rest = line.strip_prefix('%').unwrap_or(line);
        let Some((name, argument)) = rest.split_once(' ') else {
            return Some(Self::Command { typed: rest, takes_cell: line.starts_with('%') });
        };
        let takes = COMMANDS.iter().find(|command| command.name == name)?.takes;
        let typed = argument.trim_start();
        Some(match takes {
            Takes::Code => return None,
            Takes::File | Takes::System => Self::File { typed: typed.rsplit(' ').next()? },
            Takes::Flag if !typed.contains(' ') => Self::Flag { typed },
            Takes::Name => Self::Help { typed: last_word(typed) },
            Takes::Flag | Takes::Nothing | Takes::Text | Takes::Word => Self::Nowhere,
        })
    }

    /// The place in the text of a kernel; numbers and what stands behind a dot are no names.
    fn in_kernel(before: &'t str) -> Self {
        let typed = last_word(before);
        let is_member = before[..before.len() - typed.len()].ends_with('.');
        match is_member || typed.starts_with(|c: char| c.is_ascii_digit()) {
            true => Self::Nowhere,
            false => Self::Kernel { text: &before[..before.len() - typed.len()], typed },
        }
    }

    /// The place in script; `open` is the text or comment there: where its contents start, and its quote.
    fn of(before: &'t str, open: Option<(usize, char)>) -> Self {
        if let Some((start, quote)) = open {
            // The first argument only; back quotes hold prose.
            let ahead = before[..start - 1].trim_end();
            let typed = &before[start..];
            if let Some(owner) = ahead.strip_suffix('[').filter(|_| quote == '"') {
                return Self::Key { owner: path(owner), typed };
            }
            let function = match ahead.strip_suffix('(') {
                Some(call) => last_word(call.trim_end()),
                None if last_word(ahead) == IMPORT => IMPORT,
                None => "",
            };
            return match quote {
                '"' | '`' if READERS_OF_KERNELS.contains(&function) => {
                    Self::in_kernel(&before[start..])
                }
                '"' => Self::Text { function, typed },
                _ => Self::Nowhere,
            };
        }
        let typed = last_word(before);
        let behind = &before[..before.len() - typed.len()];
        if let Some(owner) = behind.strip_suffix("::") {
            return Self::Static { owner: last_word(owner), typed };
        }
        if let Some(owner) = behind.strip_suffix('.').filter(|owner| !owner.ends_with('.')) {
            let path = path(owner);
            return match path.starts_with(|c: char| c.is_ascii_digit()) {
                true => Self::Nowhere,
                false => Self::Member { owner: Some(path).filter(|path| !path.is_empty()), typed },
            };
        }
        let names_something_new = NEW.contains(&last_word(behind.trim_end()));
        match typed.starts_with(|c: char| c.is_ascii_digit()) || names_something_new {
            true => Self::Nowhere,
            false => match options::function_at(behind) {
                Some(function) => Self::Option { function, typed },
                None => Self::Name { typed },
            },
        }
    }

    fn typed(&self) -> &'t str {
        match *self {
            Self::Text { typed, .. } | Self::Static { typed, .. } | Self::Member { typed, .. } => {
                typed
            }
            Self::Command { typed, .. }
            | Self::File { typed }
            | Self::Flag { typed }
            | Self::Help { typed }
            | Self::Key { typed, .. }
            | Self::Option { typed, .. }
            | Self::Kernel { typed, .. }
            | Self::Name { typed } => typed,
            Self::Nowhere => "",
        }
    }
}

/// Where the contents of the text or comment start that a byte stands in, and its quote.
pub(super) fn open_text(cell: &Cell, byte: usize) -> Option<(usize, char)> {
    cell.lexeme_at(byte)?.contents_at(cell.text(), byte)
}

/// A path of names at the end of a text: `a.b`; empty behind a bracket.
pub(super) fn path(text: &str) -> &str {
    let path = &text[text.trim_end_matches(|c| is_name(c) || c == '.').len()..];
    if path.starts_with('.') { "" } else { path }
}

impl Interpreter {
    /// Names that could stand before byte `cursor`. Evaluates nothing.
    pub fn complete(&self, cell: &Cell, cursor: usize) -> Completion {
        let before = cell.text().get(..cursor).unwrap_or(cell.text());
        let place = Cursor::typed_at_prompt(before)
            .unwrap_or_else(|| Cursor::of(before, open_text(cell, before.len())));
        let mut typed = place.typed();
        let is_member = matches!(place, Cursor::Member { .. });
        let mut candidates = match place {
            Cursor::Text { function: "set_flag" | "flag", .. } | Cursor::Flag { .. } => flags(),
            Cursor::Text { function: "help" | "apropos", .. } => {
                topics().chain(self.documented()).collect()
            }
            Cursor::Help { .. } => {
                let names = self.own_names().into_iter().chain(self.documented());
                topics().chain(names).collect()
            }
            Cursor::Command { takes_cell, .. } => commands(takes_cell),
            Cursor::Kernel { text, .. } => self.names_in_kernels(text),
            Cursor::Text { .. } | Cursor::File { .. } => {
                let (folder, part) = typed
                    .rsplit_once('/')
                    .map_or(("", typed), |(folder, part)| (&typed[..folder.len() + 1], part));
                typed = part;
                let mut files = self.files(folder);
                if matches!(place, Cursor::Text { function: IMPORT, .. }) && folder.is_empty() {
                    let module = |name| candidate(name, CandidateKind::File, "module");
                    files.extend(modules::library().map(module));
                }
                files
            }
            Cursor::Static { owner, .. } => self.statics(owner),
            Cursor::Member { owner: Some(owner), .. } => self.members(owner),
            Cursor::Key { owner, .. } => self.keys(owner),
            Cursor::Member { owner: None, .. } => self.methods(|_| true),
            Cursor::Option { function, .. } => {
                let options = options_of(self.functions(), function);
                let option = |name: &String| candidate(name, CandidateKind::Member, "option");
                options.iter().map(option).collect()
            }
            Cursor::Name { typed } => self.names(cell, before.len() - typed.len()),
            Cursor::Nowhere => Vec::new(),
        };
        keep_fitting(&mut candidates, typed);
        candidates.sort();
        candidates.sort_by(|a, b| a.name.cmp(&b.name));
        candidates.dedup_by(|a, b| a.name == b.name);
        if is_member {
            let n = self.mentions();
            candidates.sort_by_key(|found| {
                let is_component = found.kind == CandidateKind::Member && found.doc.is_empty();
                (!is_component, Reverse(n.get(&*found.name).copied().unwrap_or(0)))
            });
        }
        Completion { start: before.len() - typed.len(), end: before.len(), candidates }
    }

    /// How often the help calls each function: what is used most.
    fn mentions(&self) -> HashMap<&str, usize> {
        let mut n = HashMap::new();
        let examples = self.functions().iter().flat_map(|doc| &doc.examples);
        let examples = examples.map(|example| example.code.as_str());
        let texts = self.functions().iter().map(|doc| doc.doc.as_str());
        for (at, text) in
            texts.chain(examples).flat_map(|t| t.match_indices('(').map(move |(at, _)| (at, t)))
        {
            *n.entry(last_word(&text[..at])).or_default() += 1;
        }
        n
    }

    fn names(&self, cell: &Cell, at: usize) -> Vec<Candidate> {
        let mut names = self.own_names();
        let known: HashSet<String> = names.iter().map(|known| known.name.clone()).collect();
        names.extend(in_cell::names(cell, at).into_iter().filter(|new| !known.contains(&new.name)));
        names.extend(self.documented());
        names.extend(KEYWORDS.iter().map(|&word| candidate(word, CandidateKind::Keyword, "")));
        names
    }

    /// What the text of a kernel knows: names that it has itself, functions, numbers and kernels of the session, words and
    /// types of its language.
    fn names_in_kernels(&self, text: &str) -> Vec<Candidate> {
        let own = text_kernel::words(text).into_iter().filter(|(word, _)| *word == Word::Name);
        let own = own.map(|(_, at)| candidate(&text[at], CandidateKind::Variable, "in the text"));
        let words = text_kernel::known_words().map(|(word, name)| match word {
            Word::Type => candidate(name, CandidateKind::Type, ""),
            _ => candidate(name, CandidateKind::Keyword, ""),
        });
        let is_known = |value: &Dynamic| scalar(value).is_some() || KernelRef::of(value).is_some();
        let variables = self.scope.iter_raw().filter(|(_, _, value)| is_known(value));
        let variables = variables
            .map(|(name, _, value)| candidate(name, CandidateKind::Variable, &describe(value)));
        let functions = self.documented().into_iter();
        let functions = functions.filter(|function| text_kernel::is_callable(&function.name));
        // What is known by a name has more to tell.
        let known: Vec<Candidate> = words.chain(variables).chain(functions).collect();
        let own = own.filter(|own| known.iter().all(|known| known.name != own.name));
        own.chain(known.iter().cloned()).collect()
    }

    /// Names that have help.
    fn documented(&self) -> Vec<Candidate> {
        self.functions().iter().filter_map(candidate_of).collect()
    }

    /// Variables and functions of the session.
    fn own_names(&self) -> Vec<Candidate> {
        let variable = |(name, _, value): (&str, bool, &Dynamic)| {
            candidate(name, CandidateKind::Variable, &describe(value))
        };
        let functions = self.definitions.iter_functions().filter(|f| !f.name.contains('$'));
        let function = functions.map(|function| {
            let parameters = format!("({})", function.params.join(", "));
            candidate(typed(function.name), CandidateKind::Function, &parameters)
        });
        self.scope.iter_raw().map(variable).chain(function).collect()
    }

    fn files(&self, folder: &str) -> Vec<Candidate> {
        let names = self.context.host.list_folder(folder).unwrap_or_default();
        names.iter().map(|name| candidate(name, CandidateKind::File, "")).collect()
    }

    /// What stands behind `owner::`: functions of a type, or of an imported module.
    fn statics(&self, owner: &str) -> Vec<Candidate> {
        if let Some(path) = self.imports.get(owner) {
            let modules = self.modules.borrow();
            return modules.get(path).map(|(_, text)| functions_of(text)).unwrap_or_default();
        }
        if !type_names().iter().any(|name| name == owner) {
            return Vec::new();
        }
        let family = |name: &str| name.trim_end_matches(|c: char| !c.is_ascii_digit()).to_string();
        // Tensors are made by functions of their own, which take shapes.
        let is_tensor = |name: &str| name.starts_with(Form::Tensor.word());
        let mut found = Vec::new();
        for doc in self.functions() {
            let Some((known, function)) = doc.name.rsplit_once("::") else { continue };
            let shared = owner != GENERATOR && MAKERS.iter().any(|row| row.name == function);
            let is_alike = shared || family(known) == family(owner);
            if is_alike && is_tensor(known) == is_tensor(owner) {
                let mut doc = doc.clone();
                doc.name = function.into();
                found.extend(candidate_of(&doc));
            }
        }
        found
    }

    /// What stands behind `owner.`.
    fn members(&self, owner: &str) -> Vec<Candidate> {
        if !owner.contains('.') && type_names().iter().any(|name| name == owner) {
            return self.statics(owner);
        }
        let Some(value) = self.value_at(owner) else { return self.methods(|_| true) };
        let mut found = Vec::new();
        let mut member = |name: &str, detail: &str| {
            let mut member = candidate(name, CandidateKind::Member, detail);
            let of_tensors = MEMBERS_OF_TENSORS.iter().map(|(known, about, _)| (*known, *about));
            let mut members = MEMBERS.into_iter().chain(of_tensors);
            let about = members.find(|(known, _)| *known == name && !value.is_map());
            member.doc = about.map_or("", |(_, about)| about).into();
            found.push(member);
        };
        if let Some(array) = value.read_lock::<ArrayRef>() {
            for name in member_names(&array) {
                let detail = component(&array, name).map(|part| describe(&Dynamic::from(part)));
                member(name, &detail.unwrap_or_default());
            }
            let (owners, dtype) = (owners(&array), array.dtype());
            let methods = self.methods(|parameter| owners.contains(&parameter));
            found.extend(methods.into_iter().filter(|method| takes(&method.name, dtype)));
            return found;
        }
        let owners: &[&str] = if value.is::<RngRef>() {
            member("state", "UInt64C");
            member("inc", "UInt64C");
            &["rng"]
        } else if let Some(map) = value.read_lock::<Map>() {
            // Other keys are asked for by `m["a b"]`.
            for (key, value) in map.iter().filter(|(key, _)| key.chars().all(is_name)) {
                member(key, &describe(value));
            }
            &["map"]
        } else if value.is_array() {
            &["list"]
        } else if value.is_string() {
            &["text"]
        } else if value.is::<HostRef>() {
            &["host"]
        } else if value.is_fnptr() {
            &["f"]
        } else {
            &[]
        };
        found.extend(self.methods(|parameter| owners.contains(&parameter)));
        found
    }

    /// What stands in `owner[".."]` of a map.
    fn keys(&self, owner: &str) -> Vec<Candidate> {
        let Some(value) = self.value_at(owner) else { return Vec::new() };
        let Some(map) = value.read_lock::<Map>() else { return Vec::new() };
        let key = |(key, value): (&Identifier, &Dynamic)| {
            let (name, kind) = (String::from(&**key), CandidateKind::Member);
            Candidate { name, kind, detail: describe(value), doc: String::new() }
        };
        map.iter().map(key).collect()
    }

    /// Functions whose first parameter is fitting, as what stands behind the dot.
    fn methods(&self, fits: impl Fn(&str) -> bool) -> Vec<Candidate> {
        let first = |doc: &FunctionDoc| {
            let inside = doc.parameters.strip_prefix('(')?.strip_suffix(')')?;
            let (first, rest) = inside.split_once(", ").unwrap_or((inside, ""));
            let first = first.split(' ').next().filter(|first| !first.is_empty())?;
            fits(first).then(|| format!("({rest})"))
        };
        let method = |doc: &FunctionDoc| {
            let rest = first(doc)?;
            candidate_of(doc).filter(|found| found.kind == CandidateKind::Function).map(
                |mut found| {
                    found.detail = rest;
                    found
                },
            )
        };
        self.functions().iter().filter_map(method).collect()
    }

    /// The value that a path of names leads to.
    pub(super) fn value_at(&self, path: &str) -> Option<Dynamic> {
        let mut names = path.split('.');
        let mut value = self.scope.get(names.next()?)?.clone();
        for name in names {
            let array = value.read_lock::<ArrayRef>().map(|array| array.clone());
            value = match array {
                Some(array) => Dynamic::from(component(&array, name)?),
                None => value.read_lock::<Map>()?.get(name)?.clone(),
            };
        }
        Some(value)
    }
}

/// Words behind which a new name comes.
const NEW: [&str; 4] = ["for", "let", "const", "fn"];

/// First parameters, as the help names them, that an array can be.
fn owners(array: &ArrayRef) -> Vec<&'static str> {
    let mut owners = vec!["x", "a", "source", "target", "table", "sorted", "array", "d"];
    owners.extend(match array.form() {
        Form::Scalar => &[][..],
        Form::Tensor => &["t"],
        Form::Vector(_) => &["v", "vector"],
        Form::Complex => &["v", "vector", "complex"],
        Form::Quaternion => &["v", "vector", "complex", "quaternion"],
        Form::Matrix(_) => &["v", "m", "matrix"],
    });
    owners.extend((array.dtype() == DType::Mask).then_some("mask"));
    owners.extend(array.dtype().is_int().then_some("index"));
    owners
}

/// Whether a function takes lanes of a type, as far as the tables say.
fn takes(function: &str, dtype: DType) -> bool {
    let operation = OPS.iter().find(|row| row.name == function).map(|row| row.class);
    let class = operation.or_else(|| functions::find(function).map(|row| row.class));
    // Integers become floats where those are needed.
    class.is_none_or(|class| class.contains(dtype) || class == Class::Float && dtype.is_int())
}

/// What members that are no component are.
const MEMBERS: [(&str, &str); 7] = [
    ("data", "address of the contents, as an integer (evaluates)"),
    ("index", "serial of the variable, as logs and whos show it"),
    ("real", "real part"),
    ("imag", "imaginary part"),
    ("T", "the transposed matrix"),
    ("state", "state of the generators"),
    ("inc", "increments of the generators, which choose their streams"),
];

fn member_names(array: &ArrayRef) -> Vec<&'static str> {
    let form = array.form();
    let more: &[&str] = match form {
        Form::Scalar => &["data", "index"],
        Form::Tensor => return MEMBERS_OF_TENSORS.iter().map(|(name, ..)| *name).collect(),
        Form::Quaternion => &["real", "imag"],
        Form::Matrix(_) => &["T"],
        Form::Vector(_) | Form::Complex => &[],
    };
    let of_arrays: &[&str] = if form == Form::Scalar { &OF_ARRAYS } else { &[] };
    [form.component_names(), more, of_arrays].concat()
}

/// A component by its name.
fn component(array: &ArrayRef, name: &str) -> Option<ArrayRef> {
    let i = array.form().component_names().iter().position(|known| *known == name)?;
    array.components()?.into_iter().nth(i)
}

fn commands(takes_cell: bool) -> Vec<Candidate> {
    let command = |command: &Command| Candidate {
        name: command.name.into(),
        kind: CandidateKind::Command,
        detail: format!(" {}", command.parameters),
        doc: command.doc.into(),
    };
    let fits = |command: &&Command| !takes_cell || command.takes.takes_cell();
    COMMANDS.iter().filter(fits).map(command).collect()
}

fn topics() -> impl Iterator<Item = Candidate> {
    TOPICS.iter().map(|topic: &Topic| Candidate {
        name: topic.names[0].into(),
        kind: CandidateKind::Topic,
        detail: String::new(),
        doc: topic.title().into(),
    })
}

fn flags() -> Vec<Candidate> {
    let flag = |(name, value, doc): &(&str, bool, &str)| Candidate {
        name: (*name).into(),
        kind: CandidateKind::Flag,
        detail: format!(" = {value} by default"),
        doc: (*doc).into(),
    };
    porcini_core::flags::FLAGS.iter().map(flag).collect()
}

/// The functions that a script text defines.
fn functions_of(text: &str) -> Vec<Candidate> {
    let head = |line: &str| {
        let (name, rest) = line.trim_start().strip_prefix("fn ")?.split_once('(')?;
        let (parameters, _) = rest.split_once(')')?;
        Some(candidate(name.trim(), CandidateKind::Function, &format!("({parameters})")))
    };
    text.lines().filter_map(head).collect()
}

/// A documented name as one that can be typed; `None` for operators and static functions.
fn candidate_of(doc: &FunctionDoc) -> Option<Candidate> {
    if !doc.name.chars().all(is_name) {
        return None;
    }
    let is_type = doc.family.starts_with("types") && doc.name.ends_with('C');
    let kind = if is_type {
        CandidateKind::Type
    } else if doc.is_function() {
        CandidateKind::Function
    } else {
        CandidateKind::Constant
    };
    Some(Candidate {
        name: doc.name.clone(),
        kind,
        detail: doc.parameters.clone(),
        doc: first_sentence(&doc.doc),
    })
}

/// Keeps names that start with what is typed; where none does, those that do but for their case.
fn keep_fitting(candidates: &mut Vec<Candidate>, typed: &str) {
    let is_alias = |name: &str| name.starts_with("cuda_") && !typed.starts_with("cuda");
    candidates.retain(|candidate| !is_alias(&candidate.name));
    let starts = |candidate: &Candidate| candidate.name.starts_with(typed);
    if candidates.iter().any(starts) {
        candidates.retain(starts);
    } else {
        let lower = typed.to_lowercase();
        candidates.retain(|candidate| candidate.name.to_lowercase().starts_with(&lower));
    }
    // What nobody has begun to type is mostly a variable.
    if typed.is_empty() && candidates.iter().any(|c| c.kind == CandidateKind::Variable) {
        candidates.retain(|candidate| candidate.kind == CandidateKind::Variable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let check = |before: &str, place: Cursor<'_>| {
            let open = open_text(&Cell::script(before), before.len());
            assert_eq!(Cursor::of(before, open), place, "{before}");
        };
        check("a + si", Cursor::Name { typed: "si" });
        check("", Cursor::Name { typed: "" });
        check("FloatC::ar", Cursor::Static { owner: "FloatC", typed: "ar" });
        check("v.x.no", Cursor::Member { owner: Some("v.x"), typed: "no" });
        check("f(1).no", Cursor::Member { owner: None, typed: "no" });
        check("0..n", Cursor::Name { typed: "n" });
        check("for ", Cursor::Nowhere);
        check("let  a", Cursor::Nowhere);
        check("for i in a", Cursor::Name { typed: "a" });
        check("12", Cursor::Nowhere);
        check("1.", Cursor::Nowhere);
        check("read_npy(\"da", Cursor::Text { function: "read_npy", typed: "da" });
        check("f(x, \"da", Cursor::Text { function: "", typed: "da" });
        check("\"done\" + na", Cursor::Name { typed: "na" });
        check("`back", Cursor::Nowhere);
        check("plot(x, #{ti", Cursor::Option { function: "plot", typed: "ti" });
        check("t[\"a b", Cursor::Key { owner: "t", typed: "a b" });
        check("a // comm", Cursor::Nowhere);
    }
}
