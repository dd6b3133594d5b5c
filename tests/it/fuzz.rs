//! Every function, operator and index with arguments of every kind: errors are fine, panics are not.

use std::collections::BTreeSet;
use std::rc::Rc;

use porcini_script::{ErrorKind, Interpreter, on_engine_thread};
use porcini_tests::extent::every;
use porcini_tests::golden;
use porcini_tests::host::TestHost;

/// One value of each kind.
const VALUES: [&str; 30] = [
    "3",
    "-2",
    "0",
    "9223372036854775807",
    "2.5",
    "nan",
    "true",
    "\"abc\"",
    "[1, 2]",
    "#{digits: 7, all: true}",
    "()",
    "|x| x",
    "FloatC([])",
    "FloatC(1)",
    "FloatC([1, 2])",
    "FloatC([1, 2, 3])",
    "UInt32C([0, 1])",
    "FloatC([1, 2]) > 1",
    "Vector2fC([1, 2], 3)",
    "Vector3fC(1, 2, 3)",
    "Vector2C(Complex2fC(1, 2), 3)",
    "Vector2C(Quaternion4fC(1, 2, 3, 4), FloatC([1, 2, 3]))",
    "Matrix2C(Complex2fC(1, 2), 3, 4, FloatC(5))",
    "Complex2fC([1, 2], 3)",
    "Quaternion4fC(1, 2, 3, 4)",
    "Matrix2fC([[1, 2], [3, 4]])",
    "PCG32C(1)",
    "TensorXfC([[1, 2], [3, 4]])",
    "TensorXcC([[1, 2, 3]], [[0, 1, 0]])",
    "zeros([2, 0, 3])",
];
/// An ndarray, of an array value.
const HOST_ARRAY: &str = "FloatC([1, 2]).ndarray()";
const STATICS: [&str; 9] =
    ["zero", "zeros", "ones", "empty", "full", "opaque", "arange", "linspace", "reinterpret"];
const OPERATORS: [&str; 20] = [
    "+", "-", "*", "/", "%", "**", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=",
    "&&", "||", "in",
];
/// Calls drawn for each number of arguments above two.
const DRAWN: usize = 30;

struct Fuzz {
    interpreter: Interpreter,
    state: u64,
    panics: Vec<String>,
    /// Errors that show Rust's names, have other words when a script catches them, or do not say of what they are.
    odd: BTreeSet<String>,
    /// Where the errors of cells are told.
    host: Rc<TestHost>,
}

/// What only Rust, or Rhai inside, calls so.
const RUST: [&str; 15] = [
    "&str",
    "alloc::",
    "rhai::",
    "porcini_",
    "core::",
    "std::",
    "i64",
    "usize",
    "Dynamic",
    "ImmutableString",
    "ArrayRef",
    "FnPtr",
    "Fault",
    "anon$",
    "ErrorFunction",
];

impl Fuzz {
    fn new() -> Self {
        let host = Rc::new(TestHost::default());
        let interpreter = golden::interpreter(host.clone(), golden::BASELINE, 0);
        Self { interpreter, state: 1, panics: Vec::new(), odd: BTreeSet::new(), host }
    }

    fn names() -> Vec<String> {
        (0..=VALUES.len()).map(|i| format!("v{i}")).collect()
    }

    /// Makes the values anew, since calls may change them.
    fn values(&mut self) {
        for (i, value) in VALUES.iter().chain([&HOST_ARRAY]).enumerate() {
            let made = self.interpreter.execute(&format!("let v{i} = {value};"), "fuzz");
            assert!(made.is_ok(), "{value}: {made:?}");
        }
    }

    fn run(&mut self, text: &str) {
        let Err(error) = self.interpreter.execute(text, "fuzz") else { return };
        if error.kind == ErrorKind::Internal {
            self.panics.push(format!("{text}\n  {error}"));
        }
        let words = format!("{}\n{}", error.message, error.hints.join("\n"));
        if has_rust(&words) {
            self.odd.insert(format!("{text}: {}", words.replace('\n', "; ")));
        }
    }

    /// Runs a text uncaught and caught: if it fails, the script gets the same words.
    fn run_both(&mut self, text: &str) {
        self.run(text);
        let Err(error) = self.interpreter.execute(text, "fuzz") else { return };
        let caught =
            format!("let words = (); try {{ {text}; }} catch (e) {{ words = `${{e}}`; }} words");
        let words = self.interpreter.execute(&caught, "fuzz").ok().and_then(|shown| shown.text);
        if words.as_ref().is_some_and(|words| *words != error.message) {
            self.odd.insert(format!("{text}: {} caught: {words:?}", error.message));
        }
    }

    /// Runs texts in one cell, where each error must name what `called` says of its text; on a panic each by itself,
    /// to name the one.
    fn run_all(&mut self, texts: &[String], called: impl Fn(&str) -> Option<String>) {
        self.values();
        self.host.take();
        let cell: Vec<String> = texts.iter().enumerate().map(|(i, text)| told(text, i)).collect();
        let result = self.interpreter.execute(&cell.join("\n"), "fuzz");
        for shown in self.host.take() {
            let told = shown.text.strip_prefix(TOLD).and_then(|told| told.split_once(' '));
            let Some((i, message)) = told else { continue };
            let text = &texts[i.parse::<usize>().unwrap()];
            if has_rust(message) {
                self.odd.insert(format!("{text}: {message}"));
            }
            if let Some(name) = called(text).filter(|name| !names(message, name)) {
                self.odd.insert(format!("{name} is not named: {text}: {message}"));
            }
        }
        let kind = result.err().map(|error| error.kind);
        assert_ne!(kind, Some(ErrorKind::Syntax), "{}", cell.join("\n"));
        if kind == Some(ErrorKind::Internal) {
            texts.iter().for_each(|text| self.run(&caught(text)));
        }
    }

    fn draw(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.state >> 33).unwrap() % n
    }

    /// Argument lists: all of one value, every twenty-fourth pair of two, or all under `PORCINI_FULL=1`, some of three and four.
    fn arguments(&mut self) -> Vec<String> {
        let names = Self::names();
        let mut lists = vec![String::new()];
        lists.extend(names.iter().cloned());
        let step = every(24);
        // Another function, other pairs.
        let pairs = (self.draw(step)..names.len().pow(2)).step_by(step);
        lists.extend(
            pairs.map(|i| format!("{}, {}", names[i / names.len()], names[i % names.len()])),
        );
        for n in [3, 4] {
            for _ in 0..DRAWN {
                let drawn: Vec<String> =
                    (0..n).map(|_| names[self.draw(names.len())].clone()).collect();
                lists.push(drawn.join(", "));
            }
        }
        lists
    }

    fn finish(mut self) {
        let after = self.interpreter.execute("FloatC(1) + 1", "after").unwrap();
        assert_eq!(after.text.unwrap(), "[2]");
        assert!(self.panics.is_empty(), "{}", self.panics.join("\n"));
        let odd: Vec<String> = self.odd.into_iter().collect();
        assert!(odd.is_empty(), "{}", odd.join("\n"));
    }
}

/// Whether words are those of Rust; some types of tensors are called like its own.
fn has_rust(words: &str) -> bool {
    let words = words.replace("TensorXi64C", "");
    RUST.iter().any(|rust| words.contains(rust))
}

/// What the line of an error begins with.
const TOLD: &str = "error of ";

/// A text that tells its error.
fn told(text: &str, i: usize) -> String {
    format!("try {{ {text}; }} catch (e) {{ print(`{TOLD}{i} ${{e}}`) }}")
}

/// Functions that are handed over are named by their own errors, whoever calls them.
const HANDED_OVER: [&str; 2] = ["the closure does not take (", "no function `abc`"];

/// Whether a message has the name as a word, or the operator: in front, or in back quotes.
fn names(message: &str, name: &str) -> bool {
    let function = name.rsplit("::").next().unwrap_or(name);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let has = |name: &str| message.split(|c| !is_part(c)).any(|word| word == name);
    let is_operator = !name.starts_with(is_part);
    HANDED_OVER.iter().any(|start| message.starts_with(start))
        || message.starts_with(&format!("{name}: "))
        || message.starts_with(&format!("{name}=: "))
        || message.contains(&format!("`{name}`"))
        || (is_operator && message.contains(&format!(" {name} ")))
        || (!is_operator && has(function))
}

/// The function that a call calls; of what is no function Rhai says only that it cannot be called.
fn function_of(call: &str) -> Option<String> {
    let (name, _) = call.split_once('(')?;
    (name != "curry").then(|| name.into())
}

/// The operator of `v1 + v2` or `let t = v1; t += v2`; Rhai's own `&&` and `||` only say that they want bools.
fn operator_of(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split(' ').collect();
    match *words.as_slice() {
        [_, "&&" | "||", _] => None,
        [_, "in", _] => Some("in".into()),
        [a, operator, _] if !a.contains(['-', '[', '.', '(']) => Some(operator.into()),
        ["let", _, "=", _, _, operator, _] => Some(operator.trim_end_matches('=').into()),
        _ => None,
    }
}

fn caught(text: &str) -> String {
    format!("try {{ {text}; }} catch {{ }}")
}

#[test]
fn functions_never_panic() {
    on_engine_thread(|| {
        let mut fuzz = Fuzz::new();
        let names = fuzz.interpreter.functions().iter().filter(|doc| doc.is_function());
        let mut names: Vec<String> = names.map(|doc| doc.name.clone()).collect();
        for array in
            ["FloatC", "Float16C", "Int8C", "UInt16C", "Int32C", "UInt64C", "MaskC", "Vector2fC"]
        {
            names.extend(STATICS.map(|function| format!("{array}::{function}")));
        }
        let every = every(9);
        for (number, name) in names.into_iter().enumerate() {
            // One would end each cell at its first call, the other is meant to take its time.
            if ["exit", "sleep"].contains(&name.as_str()) {
                continue;
            }
            let calls: Vec<String> =
                fuzz.arguments().iter().map(|arguments| format!("{name}({arguments})")).collect();
            let some: Vec<String> =
                calls.iter().skip(number % every).step_by(every).cloned().collect();
            fuzz.run_all(&some, function_of);
            // Uncaught: the diagnostics must not panic either.
            let uncaught = calls.iter().take(2 + VALUES.len()).step_by(every);
            uncaught.for_each(|call| fuzz.run_both(call));
        }
        fuzz.finish();
    });
}

#[test]
fn operators_and_indices_never_panic() {
    on_engine_thread(|| {
        let mut fuzz = Fuzz::new();
        let names = Fuzz::names();
        for (i, a) in names.iter().enumerate() {
            // Every other value by turns, or all.
            for b in names.iter().skip(i % every(2)).step_by(every(2)) {
                let mut texts: Vec<String> =
                    OPERATORS.iter().map(|operator| format!("{a} {operator} {b}")).collect();
                texts.extend(
                    ["+", "-", "*", "/", "%", "**", "<<", "&"]
                        .map(|operator| format!("let t = {a}; t {operator}= {b}")),
                );
                texts.push(format!("{a}[{b}]"));
                texts.push(format!("{a}[-1..{b}]"));
                texts.push(format!("{a}[range({b}, -9223372036854775807, -3)]"));
                texts.push(format!("{a}.x = {b}"));
                texts.push(format!("{a}.zyx = {b}"));
                texts.push(format!("{a}.xx = {b}"));
                texts.push(format!("-{a} ** {b}"));
                texts.push(format!("{a} ** -{b} ** {a}"));
                texts.push(format!("Matrix3fC({}{b})", format!("{a}, {b}, ").repeat(4)));
                texts.push(format!("Matrix4C({}{a}, {b})", format!("{a}, {b}, ").repeat(7)));
                texts.push(format!("for x in {a} {{ x + {b}; break; }}"));
                let values = names.iter().step_by(every(6));
                texts.extend(values.map(|c| format!("{a}[{b}] = {c}")));
                fuzz.run_all(&texts, operator_of);
                fuzz.run(&format!("{a} + {b}"));
                fuzz.run(&format!("{a}[{b}]"));
            }
        }
        fuzz.finish();
    });
}
