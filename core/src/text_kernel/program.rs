//! What was read of a text, and of what is around it.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::stats::Calls;
use super::tree::{ATOMIC, Effects, Function, Parameter, Passed, Statement};
use super::trouble::Span;
use crate::dtype::Scalar;

/// What a text may use of what is around it, by name.
pub trait Surroundings {
    /// What has a name.
    fn find(&self, name: &str) -> Option<Captured>;

    /// The names that somebody who mistyped one may have meant.
    fn names(&self) -> Vec<&str>;
}

/// Nothing is around.
impl Surroundings for () {
    fn find(&self, _: &str) -> Option<Captured> {
        None
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// What a text uses of what is around it, by name.
#[derive(Clone, Debug)]
pub enum Captured {
    /// A number, by its value now.
    Number(Scalar),
    /// Another kernel.
    Kernel(TextKernel),
    /// An array, which must be an argument.
    Array,
    /// A number or a kernel; which, is not known while a text is only looked at.
    Unknown,
}

/// A kernel of a text. Cloning names the same one.
#[derive(Clone, Debug)]
pub struct TextKernel {
    pub(super) program: Arc<Program>,
}

/// A text that was read.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) text: Arc<str>,
    pub(super) functions: Arc<[Function]>,
    /// Which of them is the kernel.
    pub(super) number: usize,
    /// What the functions know beside their parameters.
    pub(super) constants: Arc<[Statement]>,
    pub(super) captured: Arc<[(String, Captured)]>,
    pub(super) stats: Mutex<Calls>,
    /// Loops that turned out too long to be unrolled.
    long: Mutex<Vec<Span>>,
    /// What statements record, while somebody looks.
    traced: Mutex<Option<Vec<Traced>>>,
}

/// A statement with the serials of what it recorded.
#[derive(Debug)]
pub(super) struct Traced {
    pub(super) at: Span,
    pub(super) serials: Range<u64>,
}

impl Program {
    /// A text that was read; the number is that of the kernel.
    pub(super) fn new(
        text: String,
        (mut functions, number): (Vec<Function>, usize),
        constants: Vec<Statement>,
        captured: Vec<(String, Captured)>,
    ) -> Self {
        find_written(&mut functions, &captured);
        Self {
            text: text.into(),
            number,
            functions: functions.into(),
            constants: constants.into(),
            captured: captured.into(),
            stats: Mutex::default(),
            long: Mutex::default(),
            traced: Mutex::default(),
        }
    }

    /// The same text with another function as the kernel.
    pub(super) fn with_kernel(&self, number: usize) -> Self {
        Self {
            text: self.text.clone(),
            functions: self.functions.clone(),
            number,
            constants: self.constants.clone(),
            captured: self.captured.clone(),
            stats: Mutex::default(),
            long: Mutex::default(),
            traced: Mutex::default(),
        }
    }

    /// Starts to take note of what statements record, or ends that: what was noted.
    pub(super) fn set_traced(&self, is_traced: bool) -> Vec<Traced> {
        let new = is_traced.then(Vec::new);
        std::mem::replace(&mut *self.lock_traced(), new).unwrap_or_default()
    }

    pub(super) fn is_traced(&self) -> bool {
        self.lock_traced().is_some()
    }

    /// Takes note of a statement, if that is wanted.
    pub(super) fn trace(&self, at: Span, serials: Range<u64>) {
        if let Some(traced) = &mut *self.lock_traced() {
            traced.push(Traced { at, serials });
        }
    }

    /// Whether a loop turned out too long to be unrolled.
    pub(super) fn is_long(&self, at: Span) -> bool {
        self.lock_long().contains(&at)
    }

    /// Keeps in mind that a loop is too long to be unrolled, for further calls.
    pub(super) fn keep_long(&self, at: Span) {
        self.lock_long().push(at);
    }

    fn lock_long(&self) -> MutexGuard<'_, Vec<Span>> {
        self.long.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_traced(&self) -> MutexGuard<'_, Option<Vec<Traced>>> {
        self.traced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The function that is called.
    pub(super) fn kernel(&self) -> &Function {
        &self.functions[self.number]
    }

    /// Whether a call may change what it is given.
    pub(super) fn writes(&self, passed: &Passed) -> bool {
        writes(&self.functions, &self.captured, passed)
    }

    /// The number of a function of the text.
    pub(super) fn own(&self, name: &str) -> Option<usize> {
        own(&self.functions, name)
    }

    /// The kernel or number that the text took along.
    pub(super) fn captured(&self, name: &str) -> Option<&Captured> {
        captured(&self.captured, name)
    }
}

fn own(functions: &[Function], name: &str) -> Option<usize> {
    functions.iter().position(|function| function.name == name)
}

fn captured<'c>(captured: &'c [(String, Captured)], name: &str) -> Option<&'c Captured> {
    captured.iter().find(|(known, _)| known == name).map(|(_, captured)| captured)
}

/// Finds the arrays that functions write, themselves or by those that they call.
fn find_written(functions: &mut [Function], captured: &[(String, Captured)]) {
    let effects: Vec<Effects> =
        functions.iter().map(|function| Effects::of(&function.body)).collect();
    // What is called may stand further down.
    let mut has_found = true;
    while std::mem::take(&mut has_found) {
        for (number, effects) in effects.iter().enumerate() {
            for place in 0..functions[number].parameters.len() {
                let Parameter { name, is_written, .. } = &functions[number].parameters[place];
                let is_own = |passed: &&Passed| passed.name == *name;
                let mut passed = effects.passed.iter().filter(is_own);
                let writes = effects.assigned.contains(name)
                    || passed.any(|passed| writes(functions, captured, passed));
                if writes && !is_written {
                    functions[number].parameters[place].is_written = true;
                    has_found = true;
                }
            }
        }
    }
}

/// Whether a call may change what it is given.
fn writes(functions: &[Function], around: &[(String, Captured)], passed: &Passed) -> bool {
    let Passed { function, position, .. } = passed;
    let function = match (own(functions, function), captured(around, function)) {
        (Some(number), _) => &functions[number],
        (None, Some(Captured::Kernel(kernel))) => kernel.program.kernel(),
        _ => return function.starts_with(ATOMIC) && *position == 0,
    };
    let parameter = function.parameters.get(*position);
    parameter
        .is_some_and(|parameter| parameter.is_out && (!parameter.is_raw || parameter.is_written))
}
