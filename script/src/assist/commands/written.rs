//! Cells that hold a kernel: `%%kernel` in our subset of C, `%%cuda` in CUDA C++.

use porcini_core as core;
use porcini_core::cuda_module::Options;
use rhai::Dynamic;

use super::argument::{Argument, failed};
use crate::bind::kernels;
use crate::diagnose::error::{Error, ErrorKind};
use crate::interpreter::Interpreter;
use crate::language::words::is_name;
use crate::show::outcome::Outcome;
use crate::value::cuda_module::ModuleRef;
use crate::value::names::Sight;

type Result<T> = std::result::Result<T, Box<Error>>;

/// What asks for the kernel in the backends' common form.
const EXPLAIN: &str = "--explain";

/// Defines a kernel under its own name, and the functions before it under theirs.
pub(super) fn kernel(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let (text, explains) = match argument.text.strip_prefix(EXPLAIN) {
        Some(rest) => (rest.trim_start(), true),
        None => (argument.text, false),
    };
    if text.trim().is_empty() {
        let hint = "write %%kernel, and below it T twice(T x) { return x + x; }";
        return Err(failed("%%kernel: expected the text of a kernel", hint));
    }
    let context = interpreter.context.clone();
    let sight = Sight::of(&interpreter.scope);
    let kernel = kernels::of_text(&context, Some(&sight), text).map_err(|error| told(&error))?;
    if explains {
        let shown = kernels::explained(&context, &kernel).map_err(|error| told(&error))?;
        context.host.print(shown.trim_end());
    }
    for kernel in kernel.others().chain([kernel.clone()]) {
        let name = kernel.name().to_string();
        define(interpreter, &name, kernels::function(kernel).into());
    }
    Ok(Outcome::default())
}

/// Compiles a module under a name.
pub(super) fn cuda(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let (name, source) = argument.text.split_once('\n').unwrap_or((argument.text, ""));
    let name = name.trim();
    let is_variable = !name.is_empty()
        && name.chars().all(is_name)
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if !is_variable || source.trim().is_empty() {
        let hint =
            "write %%cuda m, and below it __global__ void f(float *x) { .. }; then m.kernel(\"f\")";
        return Err(failed("%%cuda: expected the name of a variable, and lines of CUDA C++", hint));
    }
    let session = &interpreter.context.session;
    let module = session.cuda_module(source, Options::default()).map_err(|error| told(&error))?;
    define(interpreter, name, Dynamic::from(ModuleRef(module)));
    Ok(Outcome::default())
}

/// Gives a variable a value, which the cells that follow know.
fn define(interpreter: &mut Interpreter, name: &str, value: Dynamic) {
    drop(interpreter.scope.remove::<Dynamic>(name));
    interpreter.scope.push_dynamic(name, value);
    interpreter.tidy_scope();
}

fn told(error: &core::Error) -> Box<Error> {
    let kind = match error {
        core::Error::Interrupted => ErrorKind::Interrupted,
        _ => ErrorKind::Runtime,
    };
    let mut told = Error::plain(kind, error.to_string());
    if let core::Error::Kernel { remedy: Some(remedy), .. } = error {
        told.hints.push(remedy.clone());
    }
    Box::new(told)
}
