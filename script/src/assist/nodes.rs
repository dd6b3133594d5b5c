//! The nodes of a program, as those look at them who look for mistakes.

use rhai::{AST, ASTNode, Expr, Position, Stmt};

use crate::language::semicolons::is_stand_in;
use crate::language::tokens::typed;

/// What would fail, and where.
pub(super) type Wrong = (Position, rhai::EvalAltResult);

/// Looks at all nodes but those inside of `try`: whoever tries may fail.
pub(super) fn walk(program: &AST, mut look: impl FnMut(&ASTNode<'_>)) {
    walk_paths(program, |_, node| look(node));
}

/// The same with those around each.
pub(super) fn walk_paths(program: &AST, mut look: impl FnMut(&[ASTNode<'_>], &ASTNode<'_>)) {
    program.walk(&mut |path| {
        if let Some(node) = path.last().filter(|_| !path.iter().any(tries)) {
            look(path, node);
        }
        true
    });
}

/// Whether what is inside may fail.
pub(super) fn tries(node: &ASTNode<'_>) -> bool {
    matches!(node, ASTNode::Stmt(Stmt::TryCatch(..)))
}

/// The variable that a node reads or assigns, but for what stands for other letters, and `_3`.
pub(super) fn variable<'a>(node: &ASTNode<'a>) -> Option<(&'a str, Position)> {
    let ASTNode::Expr(Expr::Variable(variable, _, at)) = node else { return None };
    let name = typed(&variable.1);
    let is_special = is_stand_in(name) || name.starts_with('_') || !variable.2.is_empty();
    (!is_special).then_some((name, *at))
}
