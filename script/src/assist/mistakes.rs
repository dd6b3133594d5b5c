//! What would fail, found without running: calls of functions that nobody has, or with numbers of arguments that they do
//! not take, variables that nothing declares or that are no more, modules that are not there, and texts of kernels that
//! cannot be read.

use std::collections::{BTreeSet, HashMap, HashSet};

use porcini_core::catalogue::MAKERS;
use porcini_core::text_kernel::{Captured, Surroundings, TextKernel};
use rhai::{AST, ASTNode, Expr, FnCallExpr, ImmutableString, Position, Stmt, Token};

use super::gone;
use super::nodes::{Wrong, variable, walk, walk_paths};
use crate::bind::doc::FunctionDoc;
use crate::diagnose::diagnosis::OUTER;
use crate::diagnose::error::Error;
use crate::fault::{IntoFault, fault_with_hint, parse_fault};
use crate::interpreter::Interpreter;
use crate::language::called::Scopes;
use crate::language::cell::Cell;
use crate::language::lexer::Lexeme;
use crate::language::semicolons::end_statement;
use crate::language::tokens::typed;
use crate::language::unpack;
use crate::language::words::n_lines;
use crate::world::modules;

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
            Ok(program) => self.mistakes(&program, cell, name).into_iter().map(told).collect(),
        }
    }

    fn mistakes(&self, program: &AST, cell: &Cell, name: &str) -> Vec<rhai::EvalAltResult> {
        let names = Names::of(cell);
        let mut wrong = self.wrong_calls(program, cell);
        wrong.extend(self.unknown_variables(program, &names));
        wrong.extend(wrong_kernels(program, &names));
        wrong.extend(self.unknown_modules(program, name));
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
    fn unknown_variables(&self, program: &AST, names: &Names<'_>) -> Vec<Wrong> {
        let mut unknown: Vec<(String, Wrong)> = Vec::new();
        let mut runs_text = false;
        let of_loops = gone::of_loops(program);
        walk_paths(program, |path, node| {
            runs_text |= call(node).is_some_and(|(call, ..)| typed(&call.name) == "eval");
            if let Some((name, at)) = variable(node)
                && let Some(wrong) = names.wrong(name, at).or_else(|| {
                    let is_left = of_loops.contains(name) && !gone::is_in_loop(path, name);
                    is_left.then(|| rhai::EvalAltResult::ErrorVariableNotFound(name.into(), at))
                })
                && !self.has(name)
            {
                unknown.push((name.into(), (at, wrong)));
            }
        });
        if runs_text {
            return Vec::new();
        }
        // Functions are not in the order of the text.
        unknown.sort_by_key(|(_, (at, _))| (at.line(), at.position()));
        // Once each, but in each function that does not see it.
        let mut seen = HashSet::new();
        unknown.retain(|(name, (at, wrong))| {
            let is_nowhere = matches!(wrong, rhai::EvalAltResult::ErrorVariableNotFound(..));
            seen.insert((name.clone(), at.line().filter(|_| !is_nowhere)))
        });
        unknown.into_iter().map(|(_, wrong)| wrong).chain(gone::behind_del(program)).collect()
    }

    /// Modules that are imported by a name and are not there.
    fn unknown_modules(&self, program: &AST, importer: &str) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        walk(program, |node| {
            if let ASTNode::Stmt(Stmt::Import(import, _)) = node
                && let Expr::StringConstant(name, at) = &import.0
                && let Err(error) = modules::read(&*self.context.host, Some(importer), name)
            {
                wrong.push((*at, *modules::missing(name, &error)));
            }
        });
        wrong
    }

    fn wrong_calls(&self, program: &AST, cell: &Cell) -> Vec<Wrong> {
        let mut own: HashMap<&str, BTreeSet<usize>> = HashMap::new();
        for function in program.iter_functions() {
            own.entry(function.name).or_default().insert(function.params.len());
        }
        let keys = keys(cell);
        // Nobody sees which functions a module brings along, or a key that is computed.
        let imports = cell.lexemes().iter().any(|lexeme| lexeme.token == Token::Import);
        let has_unseen = imports || computes_keys(cell);
        let bound = self.bound();
        let is_type = |name: &str| bound.contains_key(&format!("{name}::"));
        // True where nobody knows.
        let takes = |name: &str, n| bound.get(name).is_none_or(|arities| arities.contains(&n));
        let mut wrong = Vec::new();
        for call in calls(program, is_type) {
            let (name, n, at) = (call.name.as_str(), call.arguments, call.place);
            // A map may hold a closure of that name.
            let is_of_map = call.is_method && (has_unseen || keys.contains(name));
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
                let known = known.flat_map(FunctionDoc::signatures);
                let known: Vec<String> = known.map(|known| format!("{name}{known}")).collect();
                wrong.push((at, wrong_number(name, n, &known.join(", "))));
            }
        }
        wrong
    }

    /// The numbers of arguments that each function takes which Rhai knows, those of types also as `FloatC::zero`; and the
    /// types as `FloatC::`.
    fn bound(&self) -> HashMap<String, BTreeSet<usize>> {
        let named = |function: rhai::FuncInfo<'_>| {
            let metadata = &function.metadata;
            let name = typed(&metadata.name).to_string();
            Some((function.namespace.to_string(), name, metadata.num_params))
        };
        let mut bound: HashMap<String, BTreeSet<usize>> = HashMap::new();
        for (of, name, n) in self.engine.collect_fn_metadata(None, named, true) {
            if !of.is_empty() {
                bound.entry(format!("{of}::{name}")).or_default().insert(n);
                bound.entry(format!("{of}::")).or_default();
            }
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

/// Texts of kernels that cannot be read.
fn wrong_kernels(program: &AST, names: &Names<'_>) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    walk(program, |node| {
        // What looks around is read as a syntax of something in place of the name, and the arguments.
        let ASTNode::Expr(Expr::Custom(custom, at)) = node else { return };
        let [Expr::BoolConstant(..), Expr::StringConstant(text, _)] = &custom.inputs[..] else {
            return;
        };
        let name = custom.state.read_lock::<ImmutableString>();
        if name.is_some_and(|name| *name == "kernel")
            && let Err(error) = TextKernel::new(text, names).or_fault()
        {
            wrong.push((*at, *error));
        }
    });
    wrong
}

fn wrong_number(name: &str, n: usize, known: &str) -> rhai::EvalAltResult {
    let arguments = if n == 1 { "1 argument".into() } else { format!("{n} arguments") };
    *fault_with_hint(format!("`{name}` does not take {arguments}"), format!("it takes {known}"))
}

/// The call that a node is, its place, and whether it is one of a method.
fn call<'a>(node: &ASTNode<'a>) -> Option<(&'a FnCallExpr, Position, bool)> {
    match node {
        ASTNode::Expr(Expr::FnCall(call, at)) | ASTNode::Stmt(Stmt::FnCall(call, at)) => {
            Some((call, *at, false))
        }
        ASTNode::Expr(Expr::MethodCall(call, at)) => Some((call, *at, true)),
        _ => None,
    }
}

/// All calls by name, those of functions of types as `FloatC::zero`, but for operators and functions of modules.
fn calls(program: &AST, is_type: impl Fn(&str) -> bool) -> Vec<Call> {
    let mut calls = Vec::new();
    walk(program, |node| {
        let Some((call, place, is_method)) = call(node) else { return };
        let name = typed(&call.name);
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let name = match call.namespace.path.first() {
            None => name.to_string(),
            Some(of) if is_type(&of.name) => format!("{}::{name}", of.name),
            Some(_) => return,
        };
        if is_name && !call.is_operator_call() {
            let arguments = call.args.len() + usize::from(is_method);
            calls.push(Call { name, arguments, is_method, place });
        }
    });
    calls
}

/// What a text says of its variables.
struct Names<'t> {
    /// All that something declares somewhere.
    declared: HashSet<&'t str>,
    /// Constants, which functions see.
    constants: HashSet<&'t str>,
    /// Names in functions that are not declared there, by line and column, and whether a value is assigned to them.
    outer: HashMap<(usize, usize), bool>,
}

/// Of what kernels use nothing is known but the names.
impl Surroundings for Names<'_> {
    fn find(&self, name: &str) -> Option<Captured> {
        self.declared.contains(name).then_some(Captured::Unknown)
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.declared.iter().copied().collect();
        names.sort_unstable();
        names
    }
}

impl<'t> Names<'t> {
    fn of(cell: &'t Cell) -> Self {
        let text = cell.text();
        let mut scopes = Scopes::new(text, &|_| false);
        let (mut outer, mut constants) = (HashMap::new(), HashSet::new());
        let mut code = cell.lexemes().iter().filter(|lexeme| !lexeme.is_comment()).peekable();
        let mut before: Option<&Lexeme> = None;
        let (mut line, mut column, mut counted) = (1, 1, 0);
        while let Some(lexeme) = code.next() {
            let starts = before.is_none_or(|before| end_statement(text, before, lexeme));
            if let Some((_, names)) = unpack::begins(text, lexeme, code.clone()) {
                scopes.unpack(&names);
            }
            let next = code.peek().map(|next| &next.token);
            scopes.follow(lexeme, starts, next);
            let between = &text[counted..lexeme.start];
            if let Some(last) = between.rfind('\n') {
                line += n_lines(between);
                column = 1 + between[last + 1..].chars().count();
            } else {
                column += between.chars().count();
            }
            counted = lexeme.start;
            let is_name = matches!(lexeme.token, Token::Identifier(_) | Token::Reserved(_));
            let written = &text[lexeme.start..lexeme.end];
            let is_global = lexeme.depth == 0;
            if is_global && before.is_some_and(|before| before.token == Token::Const) {
                constants.insert(written);
            }
            if is_name && scopes.hide(written) {
                outer.insert((line, column), next == Some(&Token::Equals));
            }
            before = Some(lexeme);
        }
        Self { declared: scopes.into_all(), constants, outer }
    }

    /// What is wrong with a variable at a place, if that is seen. What is declared elsewhere is known outside of functions.
    fn wrong(&self, name: &str, at: Position) -> Option<rhai::EvalAltResult> {
        let place = (at.line()?, at.position()?);
        let is_declared = self.declared.contains(name);
        if self.constants.contains(name) {
            return None;
        }
        match self.outer.get(&place) {
            Some(false) if is_declared => {
                let missing = format!("`{name}` is not defined in the function");
                Some(*fault_with_hint(missing, OUTER))
            }
            None if is_declared => None,
            _ => Some(rhai::EvalAltResult::ErrorVariableNotFound(name.into(), at)),
        }
    }
}

/// Names that stand in a text other than in front of arguments.
fn keys(cell: &Cell) -> HashSet<&str> {
    let lexemes = cell.lexemes();
    let next = lexemes.iter().skip(1).map(|next| Some(&next.token)).chain([None]);
    let is_key = |next: Option<&Token>| !matches!(next, Some(Token::LeftParen | Token::Unit));
    let pairs = lexemes.iter().zip(next).filter(|(_, next)| is_key(*next));
    pairs
        .map(|(lexeme, _)| cell.text()[lexeme.start..lexeme.end].trim_matches(['"', '`']))
        .collect()
}

/// Whether a text with maps assigns to keys that are no plain words: `m["a" + i] = |x| x`.
fn computes_keys(cell: &Cell) -> bool {
    let code: Vec<&Lexeme> = cell.lexemes().iter().filter(|lexeme| !lexeme.is_comment()).collect();
    let is_word = |lexeme: &Lexeme| {
        let is_text = matches!(lexeme.token, Token::StringConstant(_));
        is_text && !cell.text()[lexeme.start..lexeme.end].contains("${")
    };
    let computes = |four: &[&Lexeme]| {
        let [open, key, close, equals] = four else { return false };
        let assigns = close.token == Token::RightBracket && equals.token == Token::Equals;
        assigns && !(open.token == Token::LeftBracket && is_word(key))
    };
    code.iter().any(|lexeme| lexeme.token == Token::MapStart) && code.windows(4).any(computes)
}
