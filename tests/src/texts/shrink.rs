//! Makes a text smaller while something still holds of it.

use super::{Statement, Text};

/// Takes statements away, or puts in their place what is inside of them, while `fails` holds.
pub fn shrink(text: &Text, fails: impl Fn(&Text) -> bool) -> Text {
    let mut text = text.clone();
    let mut at = 0;
    while let Some(smaller) = without(&text, at) {
        match smaller.into_iter().find(|smaller| fails(smaller)) {
            Some(smaller) => text = smaller,
            None => at += 1,
        }
    }
    text
}

/// Texts with less in the place of the statement of this number; `None` behind the last one.
fn without(text: &Text, at: usize) -> Option<Vec<Text>> {
    let mut ways = Vec::new();
    for way in 0..WAYS {
        let mut smaller = text.clone();
        let mut left = at;
        let bodies = smaller.functions.iter_mut().map(|function| &mut function.body);
        let found = bodies.rev().any(|body| replaced(body, &mut left, way));
        if !found {
            return None;
        }
        ways.push(smaller);
    }
    Some(ways)
}

/// Nothing in its place, or one of the blocks inside of it.
const WAYS: usize = 3;

/// Replaces the statement that stands `left` behind the first one; whether it is here.
fn replaced(statements: &mut Vec<Statement>, left: &mut usize, way: usize) -> bool {
    for at in 0..statements.len() {
        if *left == 0 {
            let old = statements.remove(at);
            let inside = match (way, old) {
                (1, Statement::If(_, inside, _) | Statement::Block(inside)) => inside,
                (2, Statement::If(_, _, inside)) => inside,
                (1, Statement::For(_, _, inside) | Statement::While(_, inside)) => inside,
                (1, Statement::Do(inside, _)) => inside,
                _ => Vec::new(),
            };
            statements.splice(at..at, inside);
            return true;
        }
        *left -= 1;
        let found = match &mut statements[at] {
            Statement::If(_, then, otherwise) => {
                replaced(then, left, way) || replaced(otherwise, left, way)
            }
            Statement::For(_, _, body)
            | Statement::While(_, body)
            | Statement::Do(body, _)
            | Statement::Block(body) => replaced(body, left, way),
            Statement::Switch(_, cases) => {
                cases.iter_mut().any(|(_, body)| replaced(body, left, way))
            }
            _ => false,
        };
        if found {
            return true;
        }
    }
    false
}
