//! What was read of a text, and of what is around it.

use std::sync::{Arc, Mutex};

use super::stats::Calls;
use super::tree::{ATOMIC, Effects, Function, Parameter, Passed, Statement};
use crate::dtype::Scalar;

/// What a text uses of what is around it, by name.
#[derive(Clone, Debug)]
pub enum Captured {
    /// A number, by its value now.
    Number(Scalar),
    /// Another kernel.
    Kernel(TextKernel),
}

/// A kernel of a text. Cloning names the same one.
#[derive(Clone, Debug)]
pub struct TextKernel {
    pub(super) program: Arc<Program>,
}

/// A text that was read.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) text: String,
    /// The last one is the kernel.
    pub(super) functions: Vec<Function>,
    /// What the functions know beside their parameters.
    pub(super) constants: Vec<Statement>,
    pub(super) captured: Vec<(String, Captured)>,
    pub(super) stats: Mutex<Calls>,
}

impl Program {
    /// A text that was read.
    pub(super) fn new(
        text: String,
        functions: Vec<Function>,
        constants: Vec<Statement>,
        captured: Vec<(String, Captured)>,
    ) -> Self {
        let mut program = Self { text, functions, constants, captured, stats: Mutex::default() };
        program.find_written();
        program
    }

    /// Finds the arrays that functions write, themselves or by those that they call.
    fn find_written(&mut self) {
        let effects: Vec<Effects> =
            self.functions.iter().map(|function| Effects::of(&function.body)).collect();
        // Functions call those before them: once is enough, unless one has the name of something that they call.
        let mut has_found = true;
        while std::mem::take(&mut has_found) {
            for (number, effects) in effects.iter().enumerate() {
                for place in 0..self.functions[number].parameters.len() {
                    let Parameter { name, is_written, .. } =
                        &self.functions[number].parameters[place];
                    let is_own = |passed: &&Passed| passed.name == *name;
                    let writes = effects.assigned.contains(name)
                        || effects.passed.iter().filter(is_own).any(|passed| self.writes(passed));
                    if writes && !is_written {
                        self.functions[number].parameters[place].is_written = true;
                        has_found = true;
                    }
                }
            }
        }
    }

    /// Whether a call may change what it is given.
    pub(super) fn writes(&self, passed: &Passed) -> bool {
        let Passed { function, position, .. } = passed;
        let (program, number) = match self.own(function) {
            Some(number) => (self, number),
            None => match self.captured(function) {
                Some(Captured::Kernel(kernel)) => {
                    (&*kernel.program, kernel.program.functions.len() - 1)
                }
                _ => return function.starts_with(ATOMIC) && *position == 0,
            },
        };
        let parameter = program.functions[number].parameters.get(*position);
        parameter.is_some_and(|parameter| {
            parameter.is_out && (!parameter.is_raw || parameter.is_written)
        })
    }

    /// The number of a function of the text.
    pub(super) fn own(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.name == name)
    }

    /// The kernel or number that the text took along.
    pub(super) fn captured(&self, name: &str) -> Option<&Captured> {
        self.captured.iter().find(|(known, _)| known == name).map(|(_, captured)| captured)
    }
}
