//! Which variable from outside a function of jit gave another value, and where.

use rhai::{
    AST, ASTNode, Dynamic, EvalAltResult, Expr, FnPtr, ImmutableString, Module, NativeCallContext,
    Position, Stmt,
};

use crate::fault::fault_with_hint;
use crate::language::tokens::typed;

/// A variable that a closure shares with what is around.
#[derive(Clone)]
pub(super) struct Captured {
    pub(super) value: Dynamic,
    /// The name of the closure, and which of its captured values it is.
    closure: ImmutableString,
    place: usize,
}

/// The variables that a closure shares with what is around.
pub(super) fn captured(function: &FnPtr) -> impl Iterator<Item = Captured> {
    let closure: ImmutableString = function.fn_name().into();
    let shared = function.curry().iter().enumerate().filter(|(_, value)| value.is_shared());
    shared.map(move |(place, value)| Captured {
        value: value.clone(),
        closure: closure.clone(),
        place,
    })
}

impl Captured {
    /// Gives the variable a value.
    pub(super) fn put(&self, value: Dynamic) {
        let mut variable = self.value.clone();
        if let Some(mut own) = variable.write_lock::<Dynamic>() {
            *own = value;
        }
    }
}

/// What is told of the variable that has another value than before, if it is known which.
pub(super) fn told(call: &NativeCallContext<'_>, changed: Option<&Captured>) -> Box<EvalAltResult> {
    let Some((name, at)) = changed.and_then(|variable| named(call, variable)) else {
        return fault_with_hint(
            "jit: the function gives a variable from outside another value",
            "only its first call would: return the value instead; an array that changes is x[all] = .., or an argument",
        );
    };
    let line =
        at.and_then(Position::line).map_or_else(String::new, |line| format!(" (line {line})"));
    fault_with_hint(
        format!("jit: the function gives {name}, a variable from outside, another value{line}"),
        format!(
            "only its first call would: return it, as {name} = f.call(..); an array that changes is {name}[all] = .., or an argument"
        ),
    )
}

/// The name of a captured variable, and where the closure assigns to it.
fn named(call: &NativeCallContext<'_>, variable: &Captured) -> Option<(String, Option<Position>)> {
    let definition = call.iter_namespaces().find_map(|module| {
        let mut functions = module.iter_script_fn_info();
        let found = functions.find(|(_, _, name, ..)| *name == variable.closure.as_str());
        found.map(|(.., definition)| definition.clone())
    })?;
    let name = definition.params.get(variable.place)?.clone();
    // A program of this function alone, since only programs show what functions are made of.
    let mut alone = Module::new();
    alone.set_script_fn(definition);
    let mut at = None;
    AST::new_from_module(alone).walk(&mut |path| {
        at = path.last().and_then(|node| assigned(node, &name));
        at.is_none()
    });
    Some((typed(&name).into(), at))
}

/// Where a statement assigns to a variable, or to a part of it.
fn assigned(node: &ASTNode<'_>, name: &str) -> Option<Position> {
    let ASTNode::Stmt(Stmt::Assignment(assignment)) = node else { return None };
    let mut target = &assignment.1.lhs;
    while let Expr::Index(parts, ..) | Expr::Dot(parts, ..) = target {
        target = &parts.lhs;
    }
    match target {
        Expr::Variable(variable, _, at) if variable.1 == name => Some(*at),
        _ => None,
    }
}
