//! Random programs over nested values: vectors, matrices, complex numbers, quaternions, and these in each other.
//!
//! Such values exist in scripts, so a program is one: [`Program::script`] writes it, [`run`] has an interpreter record
//! it. What it should give nobody says here: every device and every way of running must give the same, and what is
//! right is for [`laws`](super::laws) to tell. [`generate`] draws programs.

pub mod generate;
mod steps;

use std::collections::HashSet;
use std::fmt::{self, Write};

use porcini_core::Array;
use porcini_script::Interpreter;

use crate::programs::Outcome;

pub use steps::{Data, Step};

/// The name of the variable that holds the outputs.
const OUTPUTS: &str = "out";

/// A program: each step uses earlier ones by their numbers.
#[derive(Clone, Debug)]
pub struct Program {
    /// The steps.
    pub steps: Vec<Step>,
    /// The steps whose values are compared.
    pub outputs: Vec<usize>,
    /// How many lanes wide arrays have.
    pub n: usize,
}

impl Program {
    /// The steps that an output needs, in order.
    fn live(&self) -> Vec<usize> {
        let mut live: HashSet<usize> = self.outputs.iter().copied().collect();
        for i in (0..self.steps.len()).rev() {
            if live.contains(&i) {
                live.extend(self.steps[i].operands());
            }
        }
        (0..self.steps.len()).filter(|i| live.contains(i)).collect()
    }

    /// The program as a script; with `eager` every value is evaluated at once.
    pub fn script(&self, eager: bool) -> String {
        let mut text = format!("{OUTPUTS} = {{\n");
        for i in self.live() {
            let line = self.steps[i].script();
            let eval = if eager { format!(" eval(v{i});") } else { String::new() };
            writeln!(text, "  let v{i} = {line};{eval}").expect("a string takes any text");
        }
        let outputs: Vec<String> = self.outputs.iter().map(|output| format!("v{output}")).collect();
        format!("{text}  [{}]\n}};", outputs.join(", "))
    }

    /// The same program with other numbers.
    #[must_use]
    pub fn with_other_numbers(&self) -> Self {
        let mut other = self.clone();
        other.steps.iter_mut().for_each(Step::change_numbers);
        other
    }

    /// A smaller program for which `fails` still holds: the first output that suffices.
    #[must_use]
    pub fn shrink(&self, fails: impl Fn(&Self) -> bool) -> Self {
        // An earlier step may already be wrong.
        let alone = |output| Self { outputs: vec![output], ..self.clone() };
        let smaller = self.live().into_iter().map(alone).find(|program| fails(program));
        smaller.unwrap_or_else(|| self.clone())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for i in self.live() {
            if let Some(data) = self.steps[i].data {
                writeln!(f, "// {}: {data:?}", self.steps[i].text)?;
            }
        }
        f.write_str(&self.script(false))
    }
}

/// Runs a program.
///
/// # Errors
/// The diagnostic of the script, or what evaluation fails with.
pub fn run(
    program: &Program,
    interpreter: &mut Interpreter,
    eager: bool,
) -> Result<Outcome, String> {
    let session = interpreter.session().clone();
    for i in program.live() {
        program.steps[i].give_data(interpreter)?;
    }
    let late = interpreter.execute(&program.script(eager), "program").err();
    // Bounds errors come at the end of the cell, when all is recorded.
    let late = late.map(|error| error.to_string());
    let bounds = |error: &String| error.contains(" out of bounds for size ");
    if let Some(error) = late.as_ref().filter(|error| !bounds(error)) {
        return Err(error.clone());
    }
    let arrays = interpreter.arrays(OUTPUTS);
    interpreter.execute(&format!("{OUTPUTS} = 0;"), "end").map_err(|error| error.to_string())?;
    let all: Vec<&Array> = arrays.iter().collect();
    session.eval(&all).map_err(|error| error.to_string())?;
    let error = late.or(session.take_errors().first().map(|error| error.to_string()));
    let outputs = arrays.iter().map(|array| array.read_bytes(0..array.size()));
    let outputs =
        outputs.collect::<porcini_core::Result<_>>().map_err(|error| error.to_string())?;
    Ok(Outcome { outputs, error })
}
