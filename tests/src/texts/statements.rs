//! Draws the statements of kernels.

use porcini_core::{DType, Op, Scalar};

use super::generate::{Maker, Variable};
use super::{Expr, Kind, Passed, Statement};
use crate::data::INTEGERS;

/// Loops in each other.
const MOST_LOOPS: usize = 2;

impl Maker {
    /// A few statements in a scope of their own.
    pub(super) fn statements(&mut self) -> Vec<Statement> {
        let n_known = self.scope.len();
        let around = std::mem::replace(&mut self.block, n_known);
        let mut statements = Vec::new();
        for _ in 0..1 + self.random.below(6) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            let is_last = self.statement(&mut statements);
            if is_last {
                break;
            }
        }
        self.scope.truncate(n_known);
        self.block = around;
        statements
    }

    /// Adds a statement, perhaps with what it needs; whether nothing can follow.
    fn statement(&mut self, statements: &mut Vec<Statement>) -> bool {
        let kind = self.random.below(24);
        match kind {
            0..5 => {
                let declared = self.declaration();
                statements.push(declared);
            }
            5..11 => statements.extend(self.assignment()),
            11..14 => {
                let condition = self.condition(2);
                let then = self.statements();
                let otherwise = if self.random.one_in(2) { self.statements() } else { Vec::new() };
                statements.push(Statement::If(condition, then, otherwise));
            }
            14 | 15 if self.n_loops < MOST_LOOPS => {
                let is_strided = self.random.one_in(5);
                let repeated = if is_strided { self.strided() } else { self.for_loop() };
                statements.push(repeated);
            }
            16 if self.n_loops < MOST_LOOPS => self.counted(statements),
            17 | 18 => {
                let chosen = self.switch();
                statements.push(chosen);
            }
            19 => {
                let inside = self.statements();
                statements.push(Statement::Block(inside));
            }
            20 if self.is_breakable => return self.leaves(statements, Statement::Break),
            21 if self.is_in_loop => return self.leaves(statements, Statement::Continue),
            22 => {
                let result = self.result.clone();
                let value = result.map(|result| self.assigned(result.dtype, 2));
                return self.leaves(statements, Statement::Return(value));
            }
            _ => statements.extend(self.call().or_else(|| self.assignment())),
        }
        false
    }

    /// Leaves, mostly under a condition; whether nothing can follow.
    fn leaves(&mut self, statements: &mut Vec<Statement>, leave: Statement) -> bool {
        // What everybody leaves needs no statements behind it.
        if self.random.one_in(6) && !self.scope.is_empty() && self.n_loops > 0 {
            statements.push(leave);
            return true;
        }
        let condition = self.condition(2);
        let mut branches = [vec![leave], Vec::new()];
        if self.random.one_in(3) {
            branches[1].extend(self.assignment());
        }
        if self.random.one_in(4) && !branches[1].is_empty() {
            branches.reverse();
        }
        let [then, otherwise] = branches;
        statements.push(Statement::If(condition, then, otherwise));
        false
    }

    fn declaration(&mut self) -> Statement {
        let dtype = self.some_type();
        let is_auto = self.random.one_in(5);
        let first = if is_auto {
            Some(self.expr(dtype, 3))
        } else {
            (!self.random.one_in(8)).then(|| self.assigned(dtype, 3))
        };
        let mut spelled = self.spelled(dtype);
        if is_auto {
            spelled.text = "auto".into();
        }
        let is_const = first.is_some() && self.random.one_in(5);
        if is_const {
            spelled.text = format!("const {}", spelled.text);
        }
        // A value that reads what the name hides would be another in C.
        let hides = matches!(first, None | Some(Expr::Number(_)));
        let variable = self.variable(dtype, !is_const, hides);
        Statement::Declare { variable, spelled, first }
    }

    /// A new variable in sight, which may hide another one of a block around.
    fn variable(&mut self, dtype: DType, is_free: bool, hides: bool) -> usize {
        let number = self.names.len();
        let mut name = format!("v{number}");
        if hides && self.random.one_in(3) {
            let (outer, own) = self.scope.split_at(self.block);
            let is_own = |name: &String| own.iter().any(|known| known.name == *name);
            let outer = outer.iter().map(|known| known.name.clone());
            // Parameters stand in the same block as what a function declares.
            let free: Vec<String> =
                outer.filter(|name| name.starts_with('v') && !is_own(name)).collect();
            if !free.is_empty() {
                name.clone_from(&free[self.random.below(free.len())]);
            }
        }
        self.names.push(name.clone());
        self.scope.push(Variable { number, name, dtype, is_free, array: None });
        number
    }

    fn assignment(&mut self) -> Option<Statement> {
        let free = self.variables(|variable| variable.is_free);
        if free.is_empty() {
            return None;
        }
        let variable = self.random.pick(&free);
        let dtype = self.type_of(variable);
        let is_number = dtype != DType::Mask;
        Some(match self.random.below(8) {
            0 if is_number => {
                let (up, before) = (self.random.one_in(2), self.random.one_in(2));
                Statement::Step { variable, up, before }
            }
            1 => {
                let other = self.random.pick(&free);
                let value = self.assigned(self.type_of(other), 2);
                Statement::Both(variable, other, value)
            }
            2..5 if is_number => {
                let (op, value) = self.compound(dtype);
                Statement::Assign(variable, Some(op), value)
            }
            2..5 => {
                let op = self.random.pick(&[Op::And, Op::Or, Op::Xor]);
                Statement::Assign(variable, Some(op), self.expr(DType::Mask, 2))
            }
            _ => Statement::Assign(variable, None, self.assigned(dtype, 3)),
        })
    }

    /// What `v += ..` adds to a number.
    fn compound(&mut self, dtype: DType) -> (Op, Expr) {
        let mut ops = vec![Op::Add, Op::Sub, Op::Mul, Op::Rem];
        if dtype.is_float() {
            ops.push(Op::Div);
        } else {
            ops.extend([Op::And, Op::Or, Op::Xor, Op::Shl, Op::Shr]);
        }
        let op = self.random.pick(&ops);
        let of_integers = matches!(op, Op::And | Op::Or | Op::Xor | Op::Shl | Op::Shr);
        if self.random.one_in(3) {
            return (op, Expr::Number(self.number(dtype)));
        }
        // The sum may have another type than the variable, which takes what is stored.
        let other = match self.random.below(3) {
            0 if of_integers => self.random.pick(INTEGERS),
            0 => self.some_type(),
            _ => dtype,
        };
        let other = if other == DType::Mask { dtype } else { other };
        (op, self.expr(other, 2))
    }

    pub(super) fn type_of(&self, variable: usize) -> DType {
        let known = self.scope.iter().find(|known| known.number == variable);
        known.map_or(DType::Mask, |known| known.dtype)
    }

    // ---- loops ----

    /// Draws the body of a loop.
    fn body(&mut self) -> Vec<Statement> {
        let before = (self.is_in_loop, self.is_breakable);
        (self.is_in_loop, self.is_breakable) = (true, true);
        self.n_loops += 1;
        let body = self.statements();
        self.n_loops -= 1;
        (self.is_in_loop, self.is_breakable) = before;
        body
    }

    /// Up or down by known numbers, to a bound that is known or differs by lane; up to 24 turns.
    fn for_loop(&mut self) -> Statement {
        let n_known = self.scope.len();
        let dtype = if self.random.one_in(3) { self.random.pick(INTEGERS) } else { DType::I32 };
        let spelled = self.spelled(dtype);
        let number = |number: usize| Scalar::Int(i64::try_from(number).unwrap_or(0));
        let most = if self.n_loops == 0 && self.random.one_in(4) { 24 } else { 5 };
        let n_turns = self.random.below(most + 1);
        let by = 1 + self.random.below(3);
        let is_down = self.random.one_in(4);
        let (first, last) = if is_down { (n_turns * by, 0) } else { (0, n_turns * by) };
        let around = std::mem::replace(&mut self.block, n_known);
        let variable = self.variable(dtype, false, true);
        let start =
            Statement::Declare { variable, spelled, first: Some(Expr::Number(number(first))) };
        let (op, step) = if is_down { (Op::Gt, Op::Sub) } else { (Op::Lt, Op::Add) };
        let counter = Expr::Variable(variable);
        let mut condition = Expr::Op(op, vec![counter.clone(), Expr::Number(number(last))]);
        if self.random.one_in(4) {
            let other = self.condition(2);
            condition = Expr::Logic(false, Box::new([condition, other]));
        }
        let update = if by == 1 && self.random.one_in(2) {
            Statement::Step { variable, up: !is_down, before: self.random.one_in(2) }
        } else if self.random.one_in(2) {
            Statement::Assign(variable, Some(step), Expr::Number(number(by)))
        } else {
            let next = Expr::Op(step, vec![counter, Expr::Number(number(by))]);
            Statement::Assign(variable, None, next)
        };
        let body = self.body();
        self.scope.truncate(n_known);
        self.block = around;
        Statement::For(Box::new([start, update]), condition, body)
    }

    /// CUDA's loop over more elements than lanes: `for (int j = i; j < end; j += n)`, in its spellings.
    fn strided(&mut self) -> Statement {
        let n_known = self.scope.len();
        let dtype = self.random.pick(&[DType::I32, DType::U32, DType::I64, DType::U64]);
        let spelled = self.spelled(dtype);
        let around = std::mem::replace(&mut self.block, n_known);
        let variable = self.variable(dtype, false, true);
        let start = Statement::Declare { variable, spelled, first: Some(Expr::Lane) };
        let (op, most) = if self.random.one_in(2) { (Op::Mul, 4) } else { (Op::Add, 40) };
        let other = i64::try_from(self.random.below(most)).unwrap_or(0);
        let end = Expr::Op(op, vec![Expr::Count, Expr::Number(Scalar::Int(other))]);
        let counter = || Expr::Variable(variable);
        let condition = match self.random.below(4) {
            0 => Expr::Op(Op::Le, vec![counter(), end]),
            1 => Expr::Op(Op::Gt, vec![end, counter()]),
            _ => Expr::Op(Op::Lt, vec![counter(), end]),
        };
        let update = match self.random.below(3) {
            0 => Statement::Assign(variable, None, Expr::Op(Op::Add, vec![counter(), Expr::Count])),
            _ => Statement::Assign(variable, Some(Op::Add), Expr::Count),
        };
        let body = self.body();
        self.scope.truncate(n_known);
        self.block = around;
        Statement::For(Box::new([start, update]), condition, body)
    }

    /// `while` or `do` with a counter, which ends it.
    fn counted(&mut self, statements: &mut Vec<Statement>) {
        let dtype = self.random.pick(INTEGERS);
        let spelled = self.spelled(dtype);
        let variable = self.variable(dtype, false, true);
        let zero = Expr::Number(Scalar::Int(0));
        statements.push(Statement::Declare { variable, spelled, first: Some(zero) });
        let n_turns = i64::try_from(self.random.below(7)).unwrap_or(0);
        let bound = Expr::Number(Scalar::Int(n_turns));
        let is_less = Expr::Op(Op::Lt, vec![Expr::Variable(variable), bound]);
        let other = self.condition(2);
        let condition = match self.random.below(3) {
            0 => is_less,
            1 => Expr::Logic(false, Box::new([is_less, other])),
            _ => Expr::Logic(false, Box::new([other, is_less])),
        };
        let count = Statement::Step { variable, up: true, before: true };
        let mut body = vec![count];
        body.extend(self.body());
        statements.push(match self.random.below(3) {
            0 => Statement::Do(body, condition),
            _ => Statement::While(condition, body),
        });
    }

    // ---- switch ----

    fn switch(&mut self) -> Statement {
        let dtype = self.random.pick(INTEGERS);
        let few = || Expr::Number(Scalar::Int(3));
        let selector = match self.random.below(3) {
            0 => self.expr(dtype, 2),
            1 => Expr::Op(Op::Rem, vec![self.expr(dtype, 2), few()]),
            _ => Expr::Op(Op::And, vec![self.expr(dtype, 2), few()]),
        };
        let before = self.is_breakable;
        self.is_breakable = true;
        let mut labels: Vec<Option<i64>> = (0..4).map(Some).chain([None]).collect();
        let mut cases = Vec::new();
        while !labels.is_empty() && !self.random.one_in(6) {
            let place = self.random.below(labels.len());
            let mut of_case = vec![labels.remove(place)];
            if !labels.is_empty() && self.random.one_in(4) {
                of_case.push(labels.remove(0));
            }
            let mut body = self.statements();
            if self.random.one_in(2) {
                body.push(Statement::Break);
            }
            // C lets no other case jump past a declaration.
            let declares = |statement: &Statement| matches!(statement, Statement::Declare { .. });
            if body.iter().any(declares) {
                body = vec![Statement::Block(body)];
            }
            cases.push((of_case, body));
        }
        self.is_breakable = before;
        Statement::Switch(selector, cases)
    }

    // ---- calls ----

    /// A call of a function of the text for its results.
    fn call(&mut self) -> Option<Statement> {
        let functions = self.functions.clone();
        let of_outs = functions.iter().enumerate().filter(|(_, function)| {
            function.parameters.iter().any(|parameter| parameter.kind == Kind::Out)
        });
        let of_outs: Vec<usize> = of_outs.map(|(number, _)| number).collect();
        let free = self.variables(|variable| variable.is_free);
        if of_outs.is_empty() || free.is_empty() {
            return None;
        }
        let number = self.random.pick(&of_outs);
        let mut passed = Vec::new();
        for parameter in &functions[number].parameters {
            if parameter.default.is_some() && self.random.one_in(2) {
                break;
            }
            passed.push(match parameter.kind {
                Kind::Out => Passed::Place(self.random.pick(&free)),
                _ => Passed::Value(self.passed(parameter, 2)),
            });
        }
        Some(Statement::Call(number, passed))
    }
}
