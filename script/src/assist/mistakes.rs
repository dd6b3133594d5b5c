//! What would fail, found without running: calls of functions that nobody has, or with numbers of arguments that they do
//! not take, and variables that nothing declares.

use std::collections::{BTreeSet, HashMap, HashSet};

use porcini_core::catalogue::MAKERS;
use rhai::{AST, ASTNode, Expr, FnCallExpr, Position, Stmt, Token};

use crate::bind::doc::FunctionDoc;
use crate::diagnose::error::Error;
use crate::fault::{fault_with_hint, parse_fault};
use crate::interpreter::Interpreter;
use crate::language::called::Scopes;
use crate::language::cell::Cell;
use crate::language::lexer::Lexeme;
use crate::language::semicolons::{end_statement, is_stand_in};
use crate::language::tokens::typed;
use crate::language::unpack;

/// What Rhai itself makes of calls.
const SPECIAL: [&str; 10] = [
    "Fn",
    "call",
    "curry",
    "eval",
    "type_of",
    "is_def_fn",
    "is_def_var",
    "is_shared",
    "print",
    "debug",
];

/// Mistakes that are named: for each, names that are alike are looked for.
const MOST: usize = 100;

/// What would fail, and where.
type Wrong = (Position, rhai::EvalAltResult);

/// A call in a script.
struct Call {
    name: String,
    arguments: usize,
    is_method: bool,
    place: Position,
}

impl Interpreter {
    /// Mistakes in a script that are seen without running it: the first of syntax, else all calls that cannot be and all
    /// variables that cannot be there.
    pub fn check(&self, cell: &Cell, name: &str) -> Vec<Error> {
        let told = |error| self.told(self.diagnose(&error, cell, name));
        match cell.compile(&self.engine) {
            Err(error) => vec![told(*parse_fault(error))],
            Ok(program) => self.mistakes(&program, cell).into_iter().map(told).collect(),
        }
    }

    fn mistakes(&self, program: &AST, cell: &Cell) -> Vec<rhai::EvalAltResult> {
        let mut wrong = self.wrong_calls(program, cell);
        wrong.extend(self.unknown_variables(program, cell));
        wrong.sort_by_key(|(at, _)| (at.line(), at.position()));
        if let Some((place, _)) = wrong.get(MOST) {
            let more = format!("{} more mistakes", wrong.len() - MOST);
            let more = fault_with_hint(more, "they are named once those above are mended");
            let place = *place;
            wrong.truncate(MOST);
            wrong.push((place, *more));
        }
        let placed = |(at, mut error): (Position, rhai::EvalAltResult)| {
            error.set_position(at);
            error
        };
        wrong.into_iter().map(placed).collect()
    }

    /// Variables that nothing declares, each where it is first read. What is declared somewhere else in the text is taken
    /// for known, and so is all where code runs that nobody sees.
    fn unknown_variables(&self, program: &AST, cell: &Cell) -> Vec<Wrong> {
        let declared = declared(cell);
        let mut unknown: HashMap<String, Position> = HashMap::new();
        let mut runs_text = false;
        walk(program, |node| match node {
            ASTNode::Expr(Expr::FnCall(call, _)) | ASTNode::Stmt(Stmt::FnCall(call, _)) => {
                runs_text |= typed(&call.name) == "eval";
            }
            ASTNode::Expr(Expr::Variable(variable, _, place)) if variable.2.is_empty() => {
                let name = typed(&variable.1);
                // What stands for other letters, and `_3`.
                let is_special = is_stand_in(name) || name.starts_with('_');
                if !is_special && !declared.contains(name) && !self.has(name) {
                    unknown.entry(name.into()).or_insert(*place);
                }
            }
            _ => {}
        });
        let wrong = |(name, at)| (at, rhai::EvalAltResult::ErrorVariableNotFound(name, at));
        unknown.into_iter().filter(|_| !runs_text).map(wrong).collect()
    }

    fn wrong_calls(&self, program: &AST, cell: &Cell) -> Vec<Wrong> {
        let mut own: HashMap<&str, BTreeSet<usize>> = HashMap::new();
        for function in program.iter_functions() {
            own.entry(function.name).or_default().insert(function.params.len());
        }
        let keys = keys(cell);
        // Nobody sees which functions a module, or a key that is computed, brings along.
        let has_maps = cell
            .lexemes()
            .iter()
            .any(|lexeme| matches!(lexeme.token, Token::MapStart | Token::Import));
        let bound = self.bound();
        // True where nobody knows.
        let takes = |name: &str, n| bound.get(name).is_none_or(|arities| arities.contains(&n));
        let mut wrong = Vec::new();
        for call in calls(program) {
            let (name, n, at) = (call.name.as_str(), call.arguments, call.place);
            // A map may hold a closure of that name.
            let is_of_map = call.is_method && (has_maps || keys.contains(name));
            if is_of_map
                || SPECIAL.contains(&name)
                || bound.get(name).is_some_and(|arities| arities.contains(&n))
            {
                continue;
            }
            if let Some(arities) = own.get(name).filter(|_| !call.is_method) {
                if !(arities.contains(&n) || self.has(name) && takes(name, n)) {
                    let known = program.iter_functions().filter(|known| known.name == name);
                    let known = known.map(|known| format!("{name}({})", known.params.join(", ")));
                    wrong.push((at, wrong_number(name, n, &known.collect::<Vec<_>>().join(", "))));
                }
            } else if !self.has(name) && !own.contains_key(name) {
                wrong.push((at, rhai::EvalAltResult::ErrorFunctionNotFound(name.into(), at)));
            } else if !takes(name, n) && !own.contains_key(name) {
                let known = self.docs.iter().filter(|doc| doc.name == name);
                let known: Vec<String> = known.map(FunctionDoc::title).collect();
                wrong.push((at, wrong_number(name, n, &known.join(", "))));
            }
        }
        wrong
    }

    /// The numbers of arguments that each function takes which Rhai knows.
    fn bound(&self) -> HashMap<String, BTreeSet<usize>> {
        let pair = |function: rhai::FuncInfo<'_>| {
            let metadata = &function.metadata;
            Some((typed(&metadata.name).to_string(), metadata.num_params))
        };
        let mut bound: HashMap<String, BTreeSet<usize>> = HashMap::new();
        for (name, n) in self.engine.collect_fn_metadata(None, pair, true) {
            bound.entry(name).or_default().insert(n);
        }
        bound
    }

    fn has(&self, name: &str) -> bool {
        let is_static = |known: &str| name.rsplit_once("::").is_some_and(|(_, last)| last == known);
        self.docs.iter().any(|doc| {
            doc.name == name || doc.name.rsplit_once("::").is_some_and(|(_, last)| is_static(last))
        }) || MAKERS.iter().any(|row| is_static(row.name))
    }
}

fn wrong_number(name: &str, n: usize, known: &str) -> rhai::EvalAltResult {
    let arguments = if n == 1 { "1 argument".into() } else { format!("{n} arguments") };
    *fault_with_hint(format!("`{name}` does not take {arguments}"), format!("it takes {known}"))
}

/// Looks at all nodes but those inside of `try`: whoever tries may fail.
fn walk(program: &AST, mut look: impl FnMut(&ASTNode<'_>)) {
    program.walk(&mut |path| {
        let tries = |node: &ASTNode<'_>| matches!(node, ASTNode::Stmt(Stmt::TryCatch(..)));
        if let Some(node) = path.last().filter(|_| !path.iter().any(tries)) {
            look(node);
        }
        true
    });
}

/// All calls by name, but for operators and functions of modules.
fn calls(program: &AST) -> Vec<Call> {
    let mut calls = Vec::new();
    walk(program, |node| match node {
        ASTNode::Expr(Expr::FnCall(call, at)) | ASTNode::Stmt(Stmt::FnCall(call, at)) => {
            calls.extend(named(call, *at, false));
        }
        ASTNode::Expr(Expr::MethodCall(call, at)) => calls.extend(named(call, *at, true)),
        _ => {}
    });
    calls
}

fn named(call: &FnCallExpr, place: Position, is_method: bool) -> Option<Call> {
    let name = typed(&call.name);
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_name && !call.is_operator_call() && call.namespace.is_empty()).then(|| Call {
        name: name.into(),
        arguments: call.args.len() + usize::from(is_method),
        is_method,
        place,
    })
}

/// All names of variables that a text declares somewhere.
fn declared(cell: &Cell) -> HashSet<&str> {
    let text = cell.text();
    let mut scopes = Scopes::new(text, &|_| false);
    let mut code = cell.lexemes().iter().filter(|lexeme| !lexeme.is_comment()).peekable();
    let mut before: Option<&Lexeme> = None;
    while let Some(lexeme) = code.next() {
        let starts = before.is_none_or(|before| end_statement(text, before, lexeme));
        if let Some((_, names)) = unpack::begins(text, lexeme, code.clone()) {
            scopes.unpack(&names);
        }
        scopes.follow(lexeme, starts, code.peek().map(|next| &next.token));
        before = Some(lexeme);
    }
    scopes.into_all()
}

/// Names that stand in a text other than in front of arguments.
fn keys(cell: &Cell) -> HashSet<&str> {
    let lexemes = cell.lexemes();
    let next = lexemes.iter().skip(1).map(|next| Some(&next.token)).chain([None]);
    let is_key = |next: Option<&Token>| !matches!(next, Some(Token::LeftParen | Token::Unit));
    let pairs = lexemes.iter().zip(next).filter(|(_, next)| is_key(*next));
    pairs.map(|(lexeme, _)| cell.text()[lexeme.start..lexeme.end].trim_matches('"')).collect()
}
