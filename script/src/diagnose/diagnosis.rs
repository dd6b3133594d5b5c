//! From what Rhai reports to a diagnostic: the words, the place, the calls that led there, and hints (a similar name,
//! the candidates, how what Python says differently is written here).

use std::rc::Rc;

use porcini_core::catalogue::{MAKERS, Row, TENSOR_MAKERS};
use porcini_core::ir::op::ReduceOp;
use rhai::{Dynamic, EvalAltResult};

use crate::diagnose::caught;
use crate::diagnose::error::{Error, ErrorKind, stopped};
use crate::diagnose::location::{
    Location, argument_of, late_location, line_of, location, method_in_use, used_location,
};
use crate::diagnose::wording::{ARRAY, array_type, friendly_types, plain_text};
use crate::diagnose::{enclosing, imported, matrices, python};
use crate::fault::Fault;
use crate::language::tokens::{as_typed, typed};
use crate::language::words::{first_word, last_word, words};
use crate::show::writer::cut;
use crate::value::text_kernel::{CALL, MOST_PARAMETERS};
use crate::value::{Form, GENERATOR};
use porcini_core::spelling::similar;

/// What nothing is.
pub(super) const OF_NOTHING: &str = "() is nothing: what a map says of a key that it does not have";
/// What to do with an array of the host.
pub(super) const OF_NDARRAY: &str = "make an array of it first, of its x.dtype: FloatC(x)";

/// What Rhai calls the text of functions that only make a list of their arguments: of errors in them, the place of
/// the call is told.
pub(crate) const LISTED: &str = "constructors";
/// Signatures listed for a wrong call.
const MOST_CANDIDATES: usize = 4;

/// What to do where a function names a variable around it.
pub(crate) const OUTER: &str =
    "functions do not see outer variables: pass it as a parameter, or use a closure |x| ..";

/// The word with which names of types of a form begin; those of arrays have none.
fn kind_of(type_name: &str) -> &'static str {
    let forms = [Form::Vector(1), Form::Complex, Form::Quaternion, Form::Matrix(1), Form::Tensor];
    let words = forms.map(Form::word).into_iter().chain([GENERATOR]);
    words.into_iter().find(|word| type_name.starts_with(word)).unwrap_or(Form::Scalar.word())
}

/// The name of a type without its lanes: `Matrix4` of `Matrix4dC`.
fn sized(type_name: &str) -> &str {
    type_name.trim_end_matches(|c: char| !c.is_ascii_digit())
}

/// Whether a function gives a number as an array of one lane.
fn is_total(name: &str) -> bool {
    let totals = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max];
    name == "hmean" || totals.iter().any(|op| op.name() == name)
}

/// Name and text of a cell.
type Cell = (Rc<str>, Rc<str>);

/// What hints are made from.
pub(crate) struct Surroundings<'a> {
    /// Text of the cell.
    pub(crate) text: &'a str,
    /// Name of the cell.
    pub(crate) source: &'a str,
    /// Where a function of an earlier cell was written: name and text of that cell.
    pub(crate) cell_of: &'a dyn Fn(&str) -> Option<Cell>,
    /// Whether what runs is a cell of a notebook or a prompt.
    pub(crate) is_cell: bool,
    /// Name and text of a cell by its number.
    pub(crate) typed: &'a dyn Fn(u32) -> Option<Cell>,
    /// Path and text of an imported module, by its path or name.
    pub(crate) module: &'a dyn Fn(&str) -> Option<Cell>,
    /// Variables in scope.
    pub(crate) variables: Vec<String>,
    /// Functions, and what they take.
    pub(crate) functions: Vec<(String, String)>,
    /// Number of elements of an array variable.
    pub(crate) size_of: &'a dyn Fn(&str) -> Option<u64>,
    /// The shape of a variable that is a tensor.
    pub(crate) tensor_shape: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a variable is a kernel of a module, which is launched.
    pub(crate) is_launched: &'a dyn Fn(&str) -> bool,
    /// Where a variable was deleted.
    pub(crate) deleted: &'a dyn Fn(&str) -> Option<String>,
}

impl Error {
    /// The diagnostic of what Rhai reports.
    pub(crate) fn new(error: &EvalAltResult, around: &Surroundings<'_>) -> Self {
        let mut innermost = error;
        let mut calls = Vec::new();
        let mut cell: (Rc<str>, Rc<str>) = (around.source.into(), around.text.into());
        let mut place = None;
        // Of an error without a place the call in which it happened.
        let mut call = None;
        let mut caller = "";
        loop {
            let (function, source, inner, position) = match innermost {
                EvalAltResult::ErrorInFunctionCall(function, source, inner, position) => {
                    (function, source, inner, position)
                }
                EvalAltResult::ErrorInModule(module, inner, position) => {
                    let place = format!("{}:{}", cell.0, line_of(*position));
                    calls.push((format!("module `{module}`"), place));
                    let unknown = || (module.as_str().into(), "".into());
                    cell = (around.module)(module).unwrap_or_else(unknown);
                    innermost = inner;
                    continue;
                }
                _ => break,
            };
            if !position.is_none() {
                call = Some((*position, cell.clone()));
            }
            // A module's function is called by the one that others call by its name.
            let is_passed_on = caller != function && caller == typed(function);
            caller = function;
            if source == LISTED {
                place = Some(*position);
            } else if !function.is_empty() && !is_passed_on {
                let place = format!("{}:{}", cell.0, line_of(*position));
                calls.push((display_function(function), place));
                if let Some(module) = (around.module)(source) {
                    cell = module;
                } else if let Some(written) = (around.cell_of)(function) {
                    cell = written;
                }
            }
            innermost = inner;
        }
        calls.reverse();
        let location = location(place.unwrap_or(innermost.position()), &cell.0, &cell.1)
            .or_else(|| {
                let runs = (!around.is_cell).then_some((&*cell.0, &*cell.1));
                late_location(innermost, around.typed, runs)
            })
            .or_else(|| used_location(innermost, &cell.0, &cell.1))
            .or_else(|| call.and_then(|(at, cell)| location(at, &cell.0, &cell.1)));
        let location = location.map(|location| match argument_of(innermost) {
            Some(number) => location.at_argument(number),
            None => location,
        });
        let is_known = |name: &str| {
            let of_functions = around.functions.iter().any(|(known, _)| known == name);
            of_functions || around.variables.iter().any(|known| known == name)
        };
        let called = location.as_ref();
        let called = called.and_then(|at| enclosing::unknown_call(innermost, at, is_known));
        let (called, location) = match called {
            Some((error, location)) => (Some(error), Some(location)),
            None => (None, location),
        };
        let innermost = called.as_ref().unwrap_or(innermost);
        let mut diagnostic = Diagnosis { around, location: location.as_ref(), hints: Vec::new() };
        let (kind, message) = diagnostic.of(innermost, !calls.is_empty());
        let mut hints = diagnostic.hints;
        hints.dedup();
        Self { kind, message, location, hints, calls }
    }
}

/// The message of an error where only the functions are known.
pub(crate) fn message_of(error: &EvalAltResult, functions: &[(String, String)]) -> String {
    without_text(error, functions).message
}

/// The diagnostic of an error where only the functions are known.
pub(crate) fn without_text(error: &EvalAltResult, functions: &[(String, String)]) -> Error {
    let around = Surroundings {
        text: "",
        source: "",
        cell_of: &|_| None,
        is_cell: false,
        typed: &|_| None,
        module: &|_| None,
        variables: Vec::new(),
        functions: functions.to_vec(),
        size_of: &|_| None,
        tensor_shape: &|_| None,
        is_launched: &|_| false,
        deleted: &|_| None,
    };
    Error::new(error, &around)
}

fn display_function(name: &str) -> String {
    if name.starts_with("anon$") { "the closure".into() } else { format!("`{}`", typed(name)) }
}

/// Finds message and hints for one error.
pub(super) struct Diagnosis<'a> {
    pub(super) around: &'a Surroundings<'a>,
    pub(super) location: Option<&'a Location>,
    pub(super) hints: Vec<String>,
}

impl Diagnosis<'_> {
    fn of(&mut self, error: &EvalAltResult, in_function: bool) -> (ErrorKind, String) {
        let message = match error {
            EvalAltResult::ErrorTerminated(token, _) => return stopped(token),
            EvalAltResult::ErrorParsing(parse, _) => {
                return (ErrorKind::Syntax, as_typed(&self.syntax(parse)));
            }
            EvalAltResult::ErrorRuntime(value, _) => self.raised(value),
            EvalAltResult::ErrorFunctionNotFound(signature, _) => {
                self.no_function(signature, in_function)
            }
            EvalAltResult::ErrorVariableNotFound(name, _) => self.no_variable(name, in_function),
            EvalAltResult::ErrorMismatchDataType(want, got, _) => self.mismatch(want, got),
            EvalAltResult::ErrorIndexNotFound(index, _) => format!("no element {index}"),
            EvalAltResult::ErrorArrayBounds(n, i, _) => {
                format!("index {i} is out of bounds for a list of {n}")
            }
            EvalAltResult::ErrorStackOverflow(_) => {
                self.hints.push("functions call each other without end, or too deeply".into());
                "too many nested function calls".into()
            }
            // Only the sandbox counts them.
            EvalAltResult::ErrorTooManyOperations(_) => {
                self.hints.push("the sandbox allows more with --max-operations N".into());
                "too many operations".into()
            }
            EvalAltResult::ErrorDataRace(name, _) => {
                if let Some(method) = method_in_use(name) {
                    let copy =
                        format!("take a copy of it first: let c = x; x.{method}(|a| .. c ..)");
                    self.hints.push(copy);
                    format!("{method}: the function that is given to it uses the list, too")
                } else {
                    self.hints.push("take a copy of it first: let c = x; x.push(c)".into());
                    "a value that changes here is used here too".into()
                }
            }
            EvalAltResult::ErrorFor(_) => {
                self.hints.push("loop over range(n), a list, or an array".into());
                "for: this value cannot be looped over".into()
            }
            EvalAltResult::ErrorDotExpr(text, _) => self.member(text),
            EvalAltResult::ErrorIndexingType(types, _) if types.starts_with("()") => {
                self.hints
                    .push("an empty map is #{}, an empty list []; {} is an empty block".into());
                "nothing, (), has no members".into()
            }
            EvalAltResult::ErrorArithmetic(text, _) if text.contains("overflow") => {
                self.hints.push("floats reach further: write a number with .0".into());
                plain_text(error)
            }
            other => plain_text(other),
        };
        (ErrorKind::Runtime, cut(message))
    }

    fn raised(&mut self, value: &Dynamic) -> String {
        match value.read_lock::<Fault>() {
            Some(fault) => {
                let otherwise = python::meant(&fault.message).map(String::from);
                self.hints.extend(fault.hint.clone().or(otherwise));
                let member = fault.message.split_once("has no member `");
                if let Some((name, _)) = member.and_then(|(_, rest)| rest.split_once('`')) {
                    if let Some(word) = python::over_lanes(name) {
                        self.hints.push(format!("write {word}"));
                    } else if self.around.functions.iter().any(|f| f.0 == name && f.1 != "()") {
                        let hint = format!("it is a function: write {name}(x) or x.{name}()");
                        self.hints.push(hint);
                    } else if let Some(word) = python::member(name).or_else(|| python::word(name)) {
                        self.hints.push(format!("write {word}"));
                    }
                }
                fault.message.clone()
            }
            None => caught::error_of(value)
                .map_or_else(|| caught::thrown(value), |error| self.of(&error, false).1),
        }
    }

    fn no_function(&mut self, signature: &str, in_function: bool) -> String {
        let (name, arguments) = signature.split_once(" (").unwrap_or((signature, ""));
        let name = typed(name);
        let arguments = arguments
            .strip_suffix(')')
            .unwrap_or(arguments)
            .replace("&str | ImmutableString | String", "text");
        if arguments.contains("deleted variable") {
            return self.used_deleted();
        }
        let own: Vec<&(String, String)> =
            self.around.functions.iter().filter(|(known, _)| known == name).collect();
        if let Some((type_name, function)) = name.rsplit_once("::") {
            let path = imported::path(self.around.text, type_name);
            if let Some((_, text)) = (self.around.module)(path) {
                let (message, hints) = imported::missing([type_name, function], &arguments, &text);
                self.hints.extend(hints);
                return message;
            }
            let of_others = || {
                let alike = self.around.functions.iter().filter_map(|(known, parameters)| {
                    let (owner, known) = known.rsplit_once("::")?;
                    let is_meant = known == function && kind_of(owner) == kind_of(type_name);
                    is_meant.then_some((sized(owner) != sized(type_name), parameters.as_str()))
                });
                alike.min_by_key(|(is_other, _)| *is_other).map(|(_, parameters)| parameters)
            };
            let documented = own.first().map(|(_, parameters)| parameters.as_str());
            let documented = documented.or_else(of_others);
            let is_tensor = kind_of(type_name) == Form::Tensor.word();
            let makers = match type_name {
                GENERATOR => &[],
                _ if is_tensor => TENSOR_MAKERS,
                _ => MAKERS,
            };
            let known = makers.iter().filter(|row| row.name == function).map(Row::signature);
            let known = known.reduce(|known, other| format!("{known} or {other}"));
            if let Some(parameters) = known.as_deref().or(documented) {
                self.hints.push(format!("it takes {type_name}::{function}{parameters}"));
                return format!("`{name}` does not take ({})", friendly_types(&arguments));
            }
            let similar = similar(function, makers.iter().map(|row| row.name));
            if !similar.is_empty() {
                self.hints.push(format!("did you mean `{type_name}::{}`?", similar[0]));
            } else if type_name == GENERATOR {
                self.hints.push(format!("write {GENERATOR}::seeded(n, seed)"));
            } else if let Some(word) = python::word(function) {
                self.hints.push(format!("write {word}"));
            } else if let Some(row) = MAKERS.iter().find(|row| is_tensor && row.name == function) {
                let call = format!("FloatC::{function}{}", row.signature());
                self.hints.push(format!("write TensorC({call}, shape), or another type of array"));
            } else if self.around.text.is_empty() {
                // Of an error that was caught the module's text is not known.
                return format!("no function `{name}` that takes ({})", friendly_types(&arguments));
            }
            return format!("no function `{name}`");
        }
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return self.no_operator(name, &arguments);
        }
        if own.is_empty()
            && let Some(word) = python::of_lists(name)
                .filter(|_| arguments == "array")
                .or_else(|| python::word(name))
        {
            self.hints.push(format!("write {word}"));
            return format!("no function `{name}`");
        }
        if name == CALL {
            let hint =
                "numbers that belong together are one array, read by index: raw T p, p[0], p[1]";
            self.hints.push(hint.into());
            let n = arguments.split(", ").count() - 1;
            return format!("a kernel got {n} arguments, expected up to {MOST_PARAMETERS}");
        }
        if own.is_empty() {
            let names = self.around.functions.iter().map(|(name, _)| name.as_str());
            match array_type(name) {
                Some(ours) => self.hints.push(format!("write {ours}")),
                None => self.suggest(name, names),
            }
            let is_variable = self.around.variables.iter().any(|variable| variable == name);
            if is_variable && in_function {
                self.hints.push(OUTER.into());
            } else if (self.around.is_launched)(name) {
                let hint = "is a kernel of CUDA C++, which is launched";
                self.hints.push(format!("`{name}` {hint}: {name}.launch([x, y], blocks, threads)"));
            } else if is_variable {
                self.hints.push(format!("the variable `{name}` holds no closure: {name} = |x| .."));
            }
            return format!("no function `{name}`");
        }
        let of_arrays = python::of_arrays(name).filter(|_| arguments.starts_with(ARRAY));
        if let Some(hint) = of_arrays.or_else(|| {
            let is_element = name == "append" && arguments.starts_with("array");
            is_element.then_some("one element is added by list.push(4)")
        }) {
            self.hints.push(hint.into());
            return format!("`{name}` does not take ({})", friendly_types(&arguments));
        }
        if let Some(hint) = matrices::listed(name, &arguments) {
            self.hints.push(hint);
            return format!("`{name}` does not take ({})", friendly_types(&arguments));
        }
        let is_closure = name.starts_with("anon$");
        let shown = if is_closure { "" } else { name };
        for (_, parameters) in own.iter().take(MOST_CANDIDATES) {
            self.hints.push(format!("it takes {shown}{parameters}"));
        }
        if own.iter().any(|(_, parameters)| parameters == "(value)") && arguments.contains(',') {
            self.hints.push(format!("of several numbers make a list first: {name}([1, 2, 3])"));
        }
        if let Some(word) = python::over_lanes(name).filter(|_| !arguments.contains(',')) {
            self.hints.push(format!("over all lanes write {word}"));
        }
        if self.is_method_call() {
            self.hints.push(format!("functions of scripts are no methods: write {shown}(x)"));
        }
        self.hints.extend(python::called_otherwise(name, &arguments).map(String::from));
        // Where there are too many arguments, the list is not what is wrong.
        let n = arguments.split(", ").count();
        let takes_as_many = own.iter().any(|(_, taken)| taken.split(", ").count() >= n);
        if takes_as_many && arguments.split(", ").any(|argument| argument == "array") {
            let line = self.location.map_or("", |location| location.text.as_str());
            self.hints.push(matrices::of_list(name, line).into());
        }
        if arguments.split(", ").any(|argument| argument == "ndarray") {
            self.hints.push(OF_NDARRAY.into());
        }
        if arguments.split(", ").any(|argument| argument == "()") {
            self.hints.push(OF_NOTHING.into());
        }
        let called = match name {
            "contains" => "`in` (contains)".into(),
            name => display_function(name),
        };
        self.name_tensor(name);
        format!("{called} does not take ({})", friendly_types(&arguments))
    }

    /// Says which argument of the call at the caret is a tensor: messages, which errors that are caught have too, know types
    /// of Rust alone, of which arrays and tensors are one.
    fn name_tensor(&mut self, name: &str) {
        let (before, _) = self.halves();
        let receiver = before.trim_end().strip_suffix('.').map(last_word);
        let call = self.behind(name).unwrap_or_default();
        let mut texts = receiver.into_iter().chain(matrices::arguments(call));
        let hint = texts.find_map(|text| {
            let shape = (self.around.tensor_shape)(text)?;
            Some(format!("`{text}` is a tensor of shape {shape}"))
        });
        self.hints.extend(hint);
    }

    /// Whether a function of the script is called behind a dot.
    fn is_method_call(&self) -> bool {
        let (before, behind) = self.halves();
        before.ends_with('.') && (self.around.cell_of)(first_word(behind)).is_some()
    }

    fn used_deleted(&mut self) -> String {
        let line = self.location.map_or("", |location| location.text.as_str());
        let found = words(line).find_map(|word| Some((word, (self.around.deleted)(word)?)));
        match found {
            Some((name, place)) => format!("`{name}` was deleted at {place}"),
            None => "the variable was deleted".into(),
        }
    }

    fn no_variable(&mut self, name: &str, in_function: bool) -> String {
        let name = typed(name);
        if let Some(place) = (self.around.deleted)(name) {
            return format!("`{name}` was deleted at {place}");
        }
        if self.is_assigned(name) {
            self.hints.push(format!("declare it in the function: let {name} = .."));
            return format!("`{name}` is not defined in the function");
        }
        if let Some(word) = python::word(name) {
            // A slip of one's own names is likelier.
            self.suggest(name, self.around.variables.iter().map(String::as_str));
            let of_module = self.behind(name).and_then(matrices::qualified);
            let of_module = of_module.filter(|_| python::is_module(name));
            let is_ours =
                |name: &&str| self.around.functions.iter().any(|(known, _)| known == name);
            self.hints.push(match (of_module.filter(is_ours), of_module.and_then(python::word)) {
                (Some(function), _) => format!("write {function} without a prefix"),
                (None, Some(word)) => format!("write {word}"),
                (None, None) => format!("write {word}"),
            });
            return format!("`{name}` is not defined");
        }
        if let Some((_, parameters)) = self.around.functions.iter().find(|(f, _)| f == name) {
            let maker = enclosing::maker(self.halves().0, name);
            self.hints.push(if let Some(maker) = maker {
                maker
            } else if self.is_behind("help(") {
                format!("names stand in quotes: help(\"{name}\")")
            } else {
                let is_argument =
                    self.behind(name).is_some_and(|rest| rest.starts_with([')', ',']));
                let names = parameters.trim_matches(['(', ')']);
                let closure = if is_argument { format!("|{names}| ") } else { String::new() };
                format!("it is a function: write {closure}{name}{parameters}")
            });
            return format!("`{name}` is no variable");
        }
        if in_function && self.around.variables.iter().any(|variable| variable == name) {
            self.hints.push(OUTER.into());
            return format!("`{name}` is not defined in the function");
        }
        if name.strip_prefix('_').is_some_and(|cell| cell.parse::<usize>().is_ok()) {
            self.hints.push("Out lists the cells whose values are kept".into());
            return format!("`{name}` holds nothing");
        }
        if self.is_updated(name) {
            self.hints.push(format!("give it a value first: {name} = 0"));
            return format!("`{name}` is not defined");
        }
        let variables = self.around.variables.iter().map(String::as_str);
        let functions = self.around.functions.iter().map(|(name, _)| name.as_str());
        // Functions are not deleted.
        let is_deleted = self.is_behind("del ");
        let functions = functions.filter(|_| !is_deleted);
        self.suggest(name, variables.chain(functions));
        format!("`{name}` is not defined")
    }

    /// The line before the caret, and from there on.
    pub(super) fn halves(&self) -> (&str, &str) {
        self.location.map_or(("", ""), Location::halves)
    }

    /// Whether the error stands behind a text.
    fn is_behind(&self, text: &str) -> bool {
        self.halves().0.trim_end().ends_with(text.trim_end())
    }

    /// What stands behind the name at the caret.
    fn behind(&self, name: &str) -> Option<&str> {
        self.halves().1.strip_prefix(name).map(str::trim_start)
    }

    /// Whether the error stands at the left of an assignment.
    fn is_assigned(&self, name: &str) -> bool {
        self.behind(name).is_some_and(|rest| rest.starts_with('=') && !rest.starts_with("=="))
    }

    /// Whether it stands at the left of `+=` and its like.
    fn is_updated(&self, name: &str) -> bool {
        const OPERATORS: [&str; 11] =
            ["+=", "-=", "*=", "/=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>="];
        self.behind(name).is_some_and(|rest| OPERATORS.iter().any(|op| rest.starts_with(op)))
    }

    fn mismatch(&mut self, want: &str, got: &str) -> String {
        let got_array = got.ends_with("ArrayRef") || got == ARRAY;
        if want == "bool" && got_array {
            let (before, behind) = self.halves();
            let statement = before.rsplit(['{', '}', ';']).next().unwrap_or(before);
            let is_condition = words(statement).any(|word| matches!(word, "if" | "while"));
            let condition = format!("{statement}{}", behind.split('{').next().unwrap_or(behind));
            if is_condition {
                self.hints.push(
                    "lane by lane write select(m, a, b), or if_then(m, [x], |x| [..], |x| [..])"
                        .into(),
                );
            }
            self.hints.push(
                "a mask has one value per lane: reduce it with any(m) or all(m), combine masks with & | !"
                    .into(),
            );
            let total = words(&condition).find(|word| is_total(word));
            if let Some(total) = total.filter(|_| is_condition) {
                self.hints.push(format!("the number in an array of one lane is {total}(x)[0]"));
            }
            let size =
                self.array_under_caret().map_or_else(String::new, |n| format!(" of {n} elements"));
            return format!("expected one bool, got an array{size}");
        }
        if want == "i64" && got == "f64" || friendly_types(want) == "integer" && got == "float" {
            self.hints.push("to_int(x) makes an integer of a float".into());
        } else if got.contains("Range") {
            // Of a variable it would be read as a part: it is assigned to.
            let before = self.halves().0;
            let list = before.rsplit_once('[').map_or(before, |(list, _)| list);
            let is_value = list.ends_with([')', ']', '}', '"']) || list.contains('.');
            self.hints.push(if is_value {
                "a part of a list is taken from a variable: let l = list; l[0..2]".into()
            } else {
                "parts of lists are not assigned to: for i in 0..2 { l[i] = 0 }".into()
            });
            return format!("expected {}, got a range", friendly_types(want));
        }
        if friendly_types(want) == "integer" && got_array {
            self.hints.push(
                "items of a list by an array: gather(list, index); by a mask: compress(list, mask)"
                    .into(),
            );
        }
        if want == "Fn" {
            return format!("expected a function to call, got {}", friendly_types(got));
        }
        format!("expected {}, got {}", friendly_types(want), friendly_types(got))
    }

    /// Size of the array variable that the caret stands at, or behind, or that is on the line without calls.
    fn array_under_caret(&self) -> Option<u64> {
        let (before, behind) = self.halves();
        let near = [first_word(behind), last_word(before.trim_end())];
        // What a call gives may have another size than what it takes.
        let is_called = |text: &str| {
            let mut names = text.match_indices('(').map(|(at, _)| last_word(&text[..at]));
            names.any(|name| !matches!(name, "" | "if" | "while"))
        };
        let far =
            (!is_called(before) && !is_called(behind)).then(|| words(behind).chain(words(before)));
        near.into_iter().chain(far.into_iter().flatten()).find_map(self.around.size_of)
    }

    fn member(&mut self, text: &str) -> String {
        match text.split('\'').nth(1) {
            Some(name) if text.ends_with(" '()'") => {
                self.hints.push(OF_NOTHING.into());
                format!("nothing, (), has no member `{}`", typed(name))
            }
            Some(name) => {
                let word = python::word(name).map(|word| format!("write {word}"));
                self.hints.extend(word);
                format!("no member `{}`", typed(name))
            }
            None => text.into(),
        }
    }

    pub(super) fn under_caret(&self) -> Option<char> {
        self.halves().1.chars().next()
    }

    fn suggest<'n>(&mut self, name: &str, known: impl Iterator<Item = &'n str>) {
        let similar = similar(name, known);
        if !similar.is_empty() {
            self.hints.push(format!("did you mean `{}`?", similar.join("`, `")));
        }
    }
}
