//! Constructors of many arguments, as functions of scripts that make a list of them.
//!
//! Of a function that takes any types Rhai tries every combination of "this type" and "any type": 9 ms for 16
//! arguments, at each call. Functions of scripts it finds by name and number of arguments.

use crate::diagnose::diagnosis::LISTED;
use rhai::{Engine, Module, Scope};

/// Up to so many arguments Rhai finds a function in a microsecond.
pub(super) const FEW: usize = 4;

/// Makes `name(a, b, ..)` of so many arguments mean `name([a, b, ..])`.
pub(super) fn register(engine: &mut Engine, functions: &[(String, usize)]) {
    let function = |(name, arity): &(String, usize)| {
        let parameters: Vec<String> = (0..*arity).map(|i| format!("a{i}")).collect();
        let parameters = parameters.join(", ");
        format!("fn {name}({parameters}) {{ {name}([{parameters}]) }}\n")
    };
    let text: String = functions.iter().map(function).collect();
    let mut ast = engine.compile(text).expect("internal error: constructors do not parse");
    ast.set_source(LISTED);
    let module = Module::eval_ast_as_new(Scope::new(), &ast, engine);
    let module = module.expect("internal error: functions alone run nothing");
    engine.register_global_module(module.into());
}
