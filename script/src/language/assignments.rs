//! Which variables a text declares by assigning to them: `a = 1` at top level or in a block there, as in
//! Python. Function and closure bodies are left out; they have variables of their own.

use std::collections::{BTreeSet, HashMap};

use rhai::{AST, Expr, FlowControl, Stmt};

use crate::language::reassigned::REASSIGN;
use crate::language::unpack::SET;

/// Names that the text assigns to and does not declare with `let` (or as a loop variable) before.
pub(crate) fn assigned_names(ast: &AST) -> BTreeSet<String> {
    let mut finder = Finder::default();
    finder.block(ast.statements());
    finder.assigned
}

#[derive(Default)]
struct Finder {
    assigned: BTreeSet<String>,
    /// Names declared in the blocks that are open, in order, and how often each is.
    local: Vec<String>,
    times: HashMap<String, usize>,
}

impl Finder {
    /// Looks through a block; what it declares ends with it.
    fn block(&mut self, statements: &[Stmt]) {
        let outer = self.local.len();
        for statement in statements {
            self.statement(statement);
        }
        self.forget(outer);
    }

    /// Nesting is bounded by the parser's limit on expressions.
    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assignment(assignment) => {
                if let Expr::Variable(variable, ..) = &assignment.1.lhs
                    && !assignment.0.is_op_assignment()
                {
                    self.assign(variable.1.as_str());
                }
            }
            Stmt::Var(declaration, ..) => self.declare(declaration.0.as_str()),
            Stmt::If(flow, _) | Stmt::While(flow, _) | Stmt::Do(flow, ..) => self.flow(flow),
            Stmt::TryCatch(flow, _) => self.flow(flow),
            Stmt::For(parts, _) => {
                let outer = self.local.len();
                self.declare(parts.0.as_str());
                parts.1.iter().for_each(|counter| self.declare(counter.as_str()));
                self.flow(&parts.2);
                self.forget(outer);
            }
            Stmt::Block(block) => self.block(block.statements()),
            Stmt::Expr(expression) => {
                match &**expression {
                    Expr::Stmt(block) => self.block(block.statements()),
                    // `[a, b] = ..`, and `a = ..` where `a` is deleted somewhere.
                    Expr::Custom(custom, _)
                        if custom
                            .tokens
                            .first()
                            .is_some_and(|key| key == SET || key == REASSIGN) =>
                    {
                        for name in &custom.inputs[..custom.inputs.len().saturating_sub(1)] {
                            if let Expr::Variable(variable, ..) = name {
                                self.assign(variable.1.as_str());
                            }
                        }
                    }
                    _ => {}
                }
            }
            // Other statements assign to nothing.
            _ => {}
        }
    }

    fn flow(&mut self, flow: &FlowControl) {
        self.block(flow.body.statements());
        self.block(flow.branch.statements());
    }

    fn declare(&mut self, name: &str) {
        self.local.push(name.into());
        *self.times.entry(name.into()).or_default() += 1;
    }

    /// Forgets what was declared behind the first `n` names.
    fn forget(&mut self, n: usize) {
        for name in self.local.drain(n..) {
            if let Some(times) = self.times.get_mut(&name) {
                *times -= 1;
            }
        }
    }

    fn assign(&mut self, name: &str) {
        if self.times.get(name).is_none_or(|times| *times == 0) {
            self.assigned.insert(name.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, names: &[&str]) {
        let mut engine = rhai::Engine::new();
        // As the interpreter has it: the optimiser would drop branches that are never taken.
        engine.set_optimization_level(rhai::OptimizationLevel::None);
        let ast = engine.compile(text).unwrap();
        assert!(
            assigned_names(&ast).iter().map(String::as_str).eq(names.iter().copied()),
            "{text}"
        );
    }

    #[test]
    fn blocks_declare_for_the_top_level() {
        check("a = 1; b = 2", &["a", "b"]);
        check("if true { a = 1; } else { b = 2; }", &["a", "b"]);
        check("for i in 0..3 { i = 1; s = i; }", &["s"]);
        check("{ let a = 1; a = 2; } a = 3", &["a"]);
        check("let a = 1; a = 2; a += 3; x.y = 4; z[0] = 5;", &[]);
        check("fn f() { a = 1; } let g = || { b = 1; };", &[]);
        check("while true { a = 1; try { b = 1; } catch { c = 1; } }", &["a", "b", "c"]);
    }
}
