//! Variables that are used where they are no more, as the text says by itself: behind the loop whose they are, and behind
//! `del`.

use std::collections::{HashMap, HashSet};

use rhai::{AST, ASTNode, Expr, Stmt};

use super::nodes::{Wrong, tries, variable};
use crate::fault::fault;
use crate::language::reassigned::REASSIGN;
use crate::language::tokens::typed;
use crate::language::unpack;

/// First words of what gives variables values; and of what takes them away.
const GIVES: [&str; 3] = [unpack::LET, unpack::SET, REASSIGN];
const DEL: &str = "del";

/// The variables that loops have and nothing else declares.
pub(super) fn of_loops(program: &AST) -> HashSet<String> {
    let (mut loops, mut others) = (HashSet::new(), HashSet::new());
    for function in program.iter_functions() {
        others.extend(function.params.iter().map(ToString::to_string));
    }
    program.walk(&mut |path| {
        let names = path.last().map(given).unwrap_or_default().into_iter().map(String::from);
        if matches!(path.last(), Some(ASTNode::Stmt(Stmt::For(..)))) {
            loops.extend(names);
        } else {
            others.extend(names);
        }
        true
    });
    loops.retain(|name| !others.contains(name));
    loops
}

/// Whether one of the nodes around a variable is a loop that has it.
pub(super) fn is_in_loop(path: &[ASTNode<'_>], name: &str) -> bool {
    path.iter()
        .any(|node| matches!(node, ASTNode::Stmt(Stmt::For(..))) && given(node).contains(&name))
}

/// Variables that are used behind their deletion, which no statement between gives a value: of statements that stand in no
/// block. Once each.
pub(super) fn behind_del(program: &AST) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut gone: HashMap<&str, usize> = HashMap::new();
    // Behind what ends the script nothing is used.
    for statement in program.statements().iter().take_while(|statement| !ends(statement)) {
        let mut has = HashSet::new();
        let mut used = Vec::new();
        statement.walk(&mut Vec::new(), &mut |path| {
            let Some(node) = path.last() else { return true };
            has.extend(given(node).into_iter().map(String::from));
            used.extend(
                variable(node)
                    .filter(|_| !path.iter().any(tries))
                    .map(|(name, at)| (name.to_string(), at)),
            );
            true
        });
        gone.retain(|name, _| !has.contains(*name));
        for (name, at) in used {
            if let Some(line) = gone.remove(&*name) {
                wrong.push((at, *fault(format!("`{name}` was deleted on line {line}"))));
            }
        }
        if let Stmt::Expr(expression) = statement
            && let Expr::Custom(custom, at) = &**expression
            && custom.tokens.first().is_some_and(|word| word == DEL)
        {
            let line = at.line().unwrap_or_default();
            gone.extend(custom.inputs.iter().filter_map(name_of).map(|name| (name, line)));
        }
    }
    wrong
}

/// Whether a statement returns, throws or ends the program.
fn ends(statement: &Stmt) -> bool {
    match statement {
        Stmt::Return(..) => true,
        Stmt::FnCall(call, _) => call.name == "exit",
        _ => false,
    }
}

/// The variables that a node gives values.
fn given<'a>(node: &ASTNode<'a>) -> Vec<&'a str> {
    match node {
        ASTNode::Stmt(Stmt::For(parts, _)) => {
            let counter = parts.1.iter().map(|counter| counter.as_str());
            counter.chain([parts.0.as_str()]).collect()
        }
        ASTNode::Stmt(Stmt::Var(declaration, ..)) => vec![declaration.0.as_str()],
        ASTNode::Stmt(Stmt::Assignment(assignment)) if !assignment.0.is_op_assignment() => {
            name_of(&assignment.1.lhs).into_iter().collect()
        }
        ASTNode::Stmt(Stmt::TryCatch(flow, _)) => name_of(&flow.expr).into_iter().collect(),
        ASTNode::Expr(Expr::Custom(custom, _))
            if custom.tokens.first().is_some_and(|word| GIVES.contains(&word.as_str())) =>
        {
            custom.inputs.iter().filter_map(name_of).collect()
        }
        _ => Vec::new(),
    }
}

fn name_of(expression: &Expr) -> Option<&str> {
    let Expr::Variable(variable, ..) = expression else { return None };
    Some(typed(&variable.1))
}
