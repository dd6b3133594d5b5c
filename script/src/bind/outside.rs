//! Which variable from outside a function of jit gave another value, and where.

use rhai::{
    AST, ASTNode, Dynamic, EvalAltResult, Expr, FnPtr, ImmutableString, Module, NativeCallContext,
    Position, ScriptFuncDef, Shared, Stmt,
};

use crate::fault::fault_with_hint;
use crate::language::tokens::typed;
use crate::language::unpack;
use crate::value::ArrayRef;

/// Methods that change a text, a list or a map.
const CHANGES: [&str; 24] = [
    "append",
    "chop",
    "clear",
    "crop",
    "dedup",
    "drain",
    "fill_with",
    "insert",
    "make_lower",
    "make_upper",
    "mixin",
    "pad",
    "pop",
    "push",
    "remove",
    "replace",
    "retain",
    "reverse",
    "set",
    "shift",
    "sort",
    "splice",
    "trim",
    "truncate",
];

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
    let is_array = changed.is_some_and(|variable| variable.value.read_lock::<ArrayRef>().is_some());
    let or = if is_array {
        format!("; an array that changes is {name}[all] = .., or an argument")
    } else {
        String::new()
    };
    fault_with_hint(
        format!("jit: the function gives {name}, a variable from outside, another value{line}"),
        format!("only its first call would: return it, as {name} = f.call(..){or}"),
    )
}

/// The name of a captured variable, and where the closure changes it.
fn named(call: &NativeCallContext<'_>, variable: &Captured) -> Option<(String, Option<Position>)> {
    let definition = defined(call, &variable.closure)?;
    let name = definition.params.get(variable.place)?.clone();
    let at = changing(call, definition, &name);
    Some((typed(&name).into(), at))
}

fn defined(call: &NativeCallContext<'_>, closure: &str) -> Option<Shared<ScriptFuncDef>> {
    call.iter_namespaces().find_map(|module| {
        let mut functions = module.iter_script_fn_info();
        let found = functions.find(|(_, _, name, ..)| *name == closure);
        found.map(|(.., definition)| definition.clone())
    })
}

/// Where a function, or a closure in it that has the variable too, changes it.
fn changing(
    call: &NativeCallContext<'_>,
    definition: Shared<ScriptFuncDef>,
    name: &str,
) -> Option<Position> {
    // A program of this function alone, since only programs show what functions are made of.
    let mut alone = Module::new();
    alone.set_script_fn(definition);
    let (mut at, mut inner) = (None, Vec::new());
    AST::new_from_module(alone).walk(&mut |path| {
        if let Some(node) = path.last() {
            at = assigned(node, name)
                .or_else(|| unpacked(node, name))
                .or_else(|| method(node, name));
            inner.extend(capturing(node, name));
        }
        at.is_none()
    });
    at.or_else(|| inner.iter().find_map(|closure| changing(call, defined(call, closure)?, name)))
}

/// Where an expression is a variable.
fn variable(expression: &Expr, name: &str) -> Option<Position> {
    match expression {
        Expr::Variable(variable, _, at) if variable.1 == name => Some(*at),
        _ => None,
    }
}

/// Where a statement assigns to a variable, or to a part of it.
fn assigned(node: &ASTNode<'_>, name: &str) -> Option<Position> {
    let ASTNode::Stmt(Stmt::Assignment(assignment)) = node else { return None };
    let mut target = &assignment.1.lhs;
    while let Expr::Index(parts, ..) | Expr::Dot(parts, ..) = target {
        target = &parts.lhs;
    }
    variable(target, name)
}

/// Where `[a, b] = ..` assigns to a variable.
fn unpacked(node: &ASTNode<'_>, name: &str) -> Option<Position> {
    let ASTNode::Expr(Expr::Custom(custom, _)) = node else { return None };
    if custom.tokens.first()? != unpack::SET {
        return None;
    }
    let (_, targets) = custom.inputs.split_last()?;
    targets.iter().find_map(|target| variable(target, name))
}

/// Where a method changes a variable, or a part of it.
fn method(node: &ASTNode<'_>, name: &str) -> Option<Position> {
    let ASTNode::Expr(Expr::Index(parts, ..) | Expr::Dot(parts, ..)) = node else { return None };
    let mut last = &parts.rhs;
    while let Expr::Index(parts, ..) | Expr::Dot(parts, ..) = last {
        last = &parts.rhs;
    }
    match last {
        Expr::MethodCall(call, _) if CHANGES.contains(&call.name.as_str()) => {
            variable(&parts.lhs, name)
        }
        _ => None,
    }
}

/// The name of the closure that a node makes, if it shares the variable.
fn capturing(node: &ASTNode<'_>, name: &str) -> Option<ImmutableString> {
    let ASTNode::Expr(Expr::FnCall(call, _)) = node else { return None };
    let (Expr::DynamicConstant(function, _), shared) = call.args.split_first()? else {
        return None;
    };
    let has = call.name == "curry" && shared.iter().any(|one| variable(one, name).is_some());
    if has { Some(function.read_lock::<FnPtr>()?.fn_name().into()) } else { None }
}
