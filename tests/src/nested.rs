//! Programs over nested values: vectors, matrices, complex numbers, quaternions, and these in each other.
//!
//! Such values exist in scripts, so a program is one: [`Program::script`] writes it, [`run`] has an
//! interpreter record it. What it should give is computed from the same steps, lane by lane: `evaluate` says
//! what each means, [`meaning`] how operations go through the levels, `formulas` (with `algebra` and `elementary`)
//! what the functions of several components are. [`generate`] draws programs.

mod algebra;
mod elementary;
mod evaluate;
mod formulas;
pub mod generate;
mod lane;
pub mod meaning;
mod steps;

use std::collections::HashSet;
use std::fmt::{self, Write};

use porcini_core::Array;
use porcini_script::Interpreter;

use crate::data;
use crate::oracle;
use crate::programs::Outcome;

use meaning::Tree;
pub use steps::{BodyArg, BodyLine, Branching, Operand, Part, Step};

/// The name of the variable that holds the outputs.
const OUTPUTS: &str = "out";

/// A program: each step uses earlier ones by their numbers.
#[derive(Clone, Debug)]
pub struct Program {
    /// The steps.
    pub steps: Vec<Step>,
    /// The steps whose values are compared.
    pub outputs: Vec<usize>,
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

    /// The program as a script over `n` lanes; with `eager` every value is evaluated at once.
    pub fn script(&self, n: usize, eager: bool) -> String {
        let mut text = format!("{OUTPUTS} = {{\n");
        for i in self.live() {
            let line = self.steps[i].script(i, n);
            let eval = if eager { format!(" eval(v{i});") } else { String::new() };
            writeln!(text, "  let v{i} = {line};{eval}").expect("a string takes any text");
        }
        let outputs: Vec<String> = self.outputs.iter().map(|output| format!("v{output}")).collect();
        format!("{text}  [{}]\n}};", outputs.join(", "))
    }

    /// The values over `n` lanes of the steps that an output needs.
    ///
    /// # Panics
    /// If a step has no meaning.
    pub fn values(&self, n: usize) -> Vec<Option<Tree>> {
        let mut values = vec![None; self.steps.len()];
        for i in self.live() {
            let value = self.steps[i].meaning(&values, n);
            values[i] = Some(value.expect("a step that its generator found to mean nothing"));
        }
        values
    }

    /// The bytes of the plain arrays in the outputs over `n` lanes.
    ///
    /// # Panics
    /// If a step has no meaning.
    pub fn evaluate(&self, n: usize) -> Vec<Vec<u8>> {
        let values = self.values(n);
        let outputs = self.outputs.iter().filter_map(|&output| values[output].as_ref());
        outputs.flat_map(Tree::leaves).map(oracle::visible_bytes).collect()
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
            if let Step::Data { dtype, values, seed, wide } = self.steps[i] {
                let size = if wide { "n" } else { "1" };
                writeln!(f, "// d{i}: {dtype} [{size}], {values:?}, seed {seed}")?;
            }
        }
        f.write_str(&self.script(17, false))
    }
}

/// Runs a program over `n` lanes.
///
/// # Errors
/// The diagnostic of the script, or what evaluation fails with.
pub fn run(
    program: &Program,
    interpreter: &mut Interpreter,
    n: usize,
    eager: bool,
) -> Result<Outcome, String> {
    let session = interpreter.session().clone();
    for i in program.live() {
        if let Step::Data { dtype, values, seed, wide } = program.steps[i] {
            let lanes = data::lanes(dtype, values, seed, if wide { n } else { 1 });
            let array = session.from_bytes(dtype, &data::to_bytes(dtype, &lanes));
            interpreter.set_array(&format!("d{i}"), array.map_err(|error| error.to_string())?);
        }
    }
    let late = interpreter.execute(&program.script(n, eager), "program").err();
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
    let error = late.or(session.take_error().map(|error| error.to_string()));
    let outputs = arrays.iter().map(|array| array.read_bytes(0..array.size()));
    let outputs =
        outputs.collect::<porcini_core::Result<_>>().map_err(|error| error.to_string())?;
    Ok(Outcome { outputs, error })
}
