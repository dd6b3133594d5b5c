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
use crate::value::cuda_module::{ModuleKernelRef, ModuleRef};
use crate::value::names::Sight;

type Result<T> = std::result::Result<T, Box<Error>>;

/// What asks for the kernel in the backends' common form, of arguments of types that may follow.
const EXPLAIN: &str = "--explain";

/// Defines a kernel under its own name, and the functions before it under theirs.
pub(super) fn kernel(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    let (mut text, explains) = match argument.text.strip_prefix(EXPLAIN) {
        Some(rest) => (rest.trim_start_matches(' '), true),
        None => (argument.text, false),
    };
    if text.starts_with("--") {
        let option = text.split_whitespace().next().unwrap_or_default();
        let hint =
            "there is --explain, and types behind it if you like: %%kernel --explain f16, i32";
        return Err(failed(format!("%%kernel: no option `{option}`"), hint));
    }
    let mut types = Vec::new();
    if let Some((line, rest)) = text.split_once('\n').filter(|_| explains) {
        match kernels::types_of(line) {
            Some(said) => (text, types) = (rest, said),
            None if line.trim().is_empty() => text = rest,
            None => {}
        }
    }
    if text.trim().is_empty() {
        let hint = "write %%kernel, and below it T twice(T x) { return x + x; }";
        return Err(failed("%%kernel: expected the text of a kernel", hint));
    }
    let context = interpreter.context.clone();
    let sight = Sight::of(&interpreter.scope);
    let kernel = kernels::of_text(&context, Some(&sight), text).map_err(|error| told(&error))?;
    if explains {
        let shown = kernels::explained(&context, &kernel, &types).map_err(|error| told(&error))?;
        context.host.print(shown.trim_end());
    }
    for kernel in kernel.others().chain([kernel.clone()]) {
        let name = kernel.name().to_string();
        define(interpreter, &name, kernels::function(kernel).into());
    }
    Ok(Outcome::default())
}

/// Compiles a module: its kernels become variables of their names, and itself one if a name is given.
pub(super) fn cuda(interpreter: &mut Interpreter, argument: &Argument<'_>) -> Result<Outcome> {
    // What stands behind the command, if it is a name and options: else the source begins there.
    let head = argument.text.split_once('\n').filter(|(line, _)| {
        let mut names = line.split_whitespace().filter(|word| !word.starts_with('-'));
        // `__global__` may stand on a line of its own.
        let is_name = |name: &str| is_variable(name) && !name.starts_with("__");
        names.next().is_none_or(is_name) && names.next().is_none()
    });
    let (line, source) = head.unwrap_or(("", argument.text));
    let (options, names): (Vec<&str>, Vec<&str>) =
        line.split_whitespace().partition(|word| word.starts_with('-'));
    if source.trim().is_empty() || is_variable(source.trim()) {
        let hint = "write %%cuda m, or %%cuda m --use_fast_math, and below it __global__ void f(float *x) { .. }; then \
                    f.launch([x]), or m.kernel(\"f\")";
        let what = "%%cuda: expected the name of a variable or none, and lines of CUDA C++";
        return Err(failed(what, hint));
    }
    let context = interpreter.context.clone();
    let options = options.into_iter().map(Into::into).collect();
    let options = Options { options, ..Options::default() };
    let module = context.session.cuda_module(source, options).map_err(|error| told(&error))?;
    for (name, _) in module.kernels() {
        // Templates wait for their types.
        let kernel = if is_variable(&name) { module.kernel(&name, None).ok() } else { None };
        if let Some(kernel) = kernel {
            context.module_kernels.borrow_mut().push(kernel.clone());
            define(interpreter, &name, Dynamic::from(ModuleKernelRef(kernel)));
        }
    }
    if let [name] = names[..] {
        define(interpreter, name, Dynamic::from(ModuleRef(module)));
    }
    Ok(Outcome::default())
}

fn is_variable(name: &str) -> bool {
    name.chars().all(is_name) && !name.starts_with(|c: char| c.is_ascii_digit())
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
    let mut told = Error::plain(kind, error.message());
    told.hints.extend(error.remedy().map(Into::into));
    Box::new(told)
}
