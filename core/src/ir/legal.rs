//! Operations on narrow types as operations on 32 bits, before a backend lowers a kernel.
//!
//! Processors compute with 32 and 64 bits. [`legalise`] rewrites a kernel so that values of 8- and 16-bit
//! integers and of f16 are only loaded, gathered, converted, stored and scattered; everything else is done
//! in their [widened](DType::widened) type. What is left for a backend:
//! * loads and gathers of narrow elements, stores and scatters of narrow values;
//! * `cast` between a narrow type and its widened one: exact one way, wrapping integers and rounding f16
//!   the other way;
//! * `reinterpret` between f16 and u16;
//! * reductions over the widened type into a narrow buffer: the result is converted once, at the end, so
//!   f16 accumulates in f32 (S11).
//!
//! Literals are widened too, also in the parameter block ([`widened_bits`]).
//!
//! A value has up to three forms: *raw*, 32 bits of which the low ones are right (an f32 that is not
//! rounded yet); *clean*, the widened value; *narrow*. Wrapping sums and products take raw operands and
//! give raw results, so that `a * b + c` wraps once. Each form that some user wants is made where the
//! value is.

use std::borrow::Cow;

use super::kernel::{Code, Inst, Kernel, Reg};
use super::kernel_copy::Rewrite;
use super::op::Op;
use super::scalar::widened_bits;
use crate::dtype::DType;

/// The kernel without arithmetic on narrow types; the kernel itself if it has none.
pub fn legalise(kernel: &Kernel) -> Cow<'_, Kernel> {
    if kernel.insts.iter().any(|inst| inst.dtype.is_narrow()) {
        Cow::Owned(Legaliser::new(kernel).run())
    } else {
        Cow::Borrowed(kernel)
    }
}

/// A form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Raw,
    Clean,
    Narrow,
}

/// The registers of a value by [`Form`]; all the same unless it is narrow.
type Forms = [Option<Reg>; 3];

struct Legaliser<'k> {
    kernel: &'k Kernel,
    /// Which forms of each value have users.
    wanted: Vec<[bool; 3]>,
    values: Vec<Forms>,
    code: Rewrite,
}

impl<'k> Legaliser<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        Self {
            kernel,
            wanted: wanted_forms(kernel),
            values: Vec::with_capacity(kernel.insts.len()),
            code: Rewrite::new(),
        }
    }

    fn run(mut self) -> Kernel {
        for (i, inst) in self.kernel.insts.iter().enumerate() {
            self.code.replace(self.kernel, i);
            self.inst(i, inst);
        }
        let widen = |&(dtype, bits): &(DType, u64)| (dtype.widened(), widened_bits(dtype, bits));
        self.code.finish(self.kernel, self.kernel.literals.iter().map(widen).collect())
    }

    fn inst(&mut self, i: usize, inst: &Inst) {
        let operand = inst.args().last().map_or(inst.dtype, |arg| self.kernel.dtype(arg));
        let involved = inst.dtype.is_narrow() || inst.args().any(|arg| self.dtype(arg).is_narrow());
        let (form, reg) = match inst.code {
            Code::Op(op) if involved => self.op(op, inst, operand),
            Code::Constant(bits) if inst.dtype.is_narrow() => {
                let bits = widened_bits(inst.dtype, bits);
                (Form::Clean, self.constant(inst.dtype.widened(), bits))
            }
            Code::Load(_) | Code::Gather { .. } => (Form::Narrow, self.copy(inst, inst.dtype)),
            // A phi is clean: every iteration begins with the values at the end of the last one.
            Code::Phi if inst.dtype.is_narrow() => {
                let reg = self.copy(inst, inst.dtype.widened());
                self.values.push([Some(reg), Some(reg), None]);
                return;
            }
            Code::Store(_) | Code::Reduce { .. } | Code::Scatter { .. } => {
                (Form::Narrow, self.copy(inst, inst.dtype))
            }
            Code::Index => (Form::Raw, self.copy(inst, inst.dtype.widened())),
            Code::Literal(_)
            | Code::Constant(_)
            | Code::Op(_)
            | Code::RegionStart { .. }
            | Code::Phi
            | Code::RunningMask
            | Code::BackEdge
            | Code::RegionEnd => (Form::Clean, self.copy(inst, inst.dtype.widened())),
        };
        let forms = if inst.dtype.is_narrow() && inst.code.has_value() {
            self.forms(i, inst.dtype, form, reg)
        } else {
            [Some(reg); 3]
        };
        self.values.push(forms);
    }

    /// Makes the forms that are wanted of a value from the one that was computed.
    fn forms(&mut self, i: usize, dtype: DType, form: Form, reg: Reg) -> Forms {
        let [raw, clean, narrow] = self.wanted[i];
        let mut forms = [None; 3];
        forms[form as usize] = Some(reg);
        match form {
            Form::Clean => {
                forms[Form::Raw as usize] = Some(reg);
                forms[Form::Narrow as usize] = narrow.then(|| self.op_of(Op::Cast, dtype, &[reg]));
            }
            Form::Raw if narrow || clean => {
                let narrow = self.op_of(Op::Cast, dtype, &[reg]);
                forms[Form::Narrow as usize] = Some(narrow);
                forms[Form::Clean as usize] =
                    clean.then(|| self.op_of(Op::Cast, dtype.widened(), &[narrow]));
            }
            Form::Narrow if raw || clean => {
                let wide = self.op_of(Op::Cast, dtype.widened(), &[reg]);
                forms[Form::Raw as usize] = Some(wide);
                forms[Form::Clean as usize] = Some(wide);
            }
            Form::Raw | Form::Narrow => {}
        }
        forms
    }

    fn op(&mut self, op: Op, inst: &Inst, operand: DType) -> (Form, Reg) {
        if op == Op::Cast {
            self.cast(inst, operand)
        } else if matches!(op, Op::Reinterpret | Op::BitsAnyNan) {
            self.reinterpret(inst, operand)
        } else if operand == DType::F16 {
            self.half(op, inst)
        } else {
            self.integer(op, inst, operand)
        }
    }

    /// An operation on narrow integers in 32 bits.
    fn integer(&mut self, op: Op, inst: &Inst, operand: DType) -> (Form, Reg) {
        let wide = operand.widened();
        let bits = operand.bits();
        let args = self.args(inst);
        let result = if inst.dtype.is_narrow() { wide } else { inst.dtype };
        match op {
            Op::Popcnt | Op::Lzcnt => {
                let all = self.constant(wide, u64::from(u32::MAX >> (32 - bits)));
                let low = self.op_of(Op::And, wide, &[args[0], all]);
                let count = self.op_of(op, wide, &[low]);
                if op == Op::Popcnt {
                    return (Form::Clean, count);
                }
                let above = self.constant(wide, u64::from(32 - bits));
                (Form::Clean, self.op_of(Op::Sub, wide, &[count, above]))
            }
            Op::Tzcnt => {
                let end = self.constant(wide, 1 << bits);
                let ended = self.op_of(Op::Or, wide, &[args[0], end]);
                (Form::Clean, self.op_of(Op::Tzcnt, wide, &[ended]))
            }
            Op::Brev => {
                let reversed = self.op_of(Op::Brev, wide, &args);
                (Form::Clean, self.shift_down(wide, reversed, 32 - bits))
            }
            Op::MulHi => {
                let product = self.op_of(Op::Mul, wide, &args);
                (Form::Clean, self.shift_down(wide, product, bits))
            }
            Op::Rem | Op::Min | Op::Max | Op::Minimum | Op::Maximum | Op::Shr => {
                (Form::Clean, self.op_of(op, result, &args))
            }
            Op::Neg
            | Op::Not
            | Op::Abs
            | Op::Add
            | Op::Sub
            | Op::Mul
            | Op::IDiv
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Shl
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Fma
            | Op::Select => (Form::Raw, self.op_of(op, result, &args)),
            Op::Sqrt
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::Trunc
            | Op::Div
            | Op::BoundedDiv
            | Op::Cast
            | Op::Reinterpret
            | Op::BitsAnyNan => unreachable!("internal error: {op:?} of integers"),
        }
    }

    /// An operation on f16 in f32: all but `fma` round to f16 as if they had not rounded to f32 before.
    fn half(&mut self, op: Op, inst: &Inst) -> (Form, Reg) {
        let args = self.args(inst);
        match op {
            Op::Fma => (Form::Raw, self.half_fma(args[0], args[1], args[2])),
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Sqrt => {
                (Form::Raw, self.op_of(op, DType::F32, &args))
            }
            // What is no new number needs no rounding.
            Op::Neg
            | Op::Abs
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::Trunc
            | Op::Min
            | Op::Max
            | Op::Minimum
            | Op::Maximum
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Select => {
                let result = inst.dtype.widened();
                (Form::Clean, self.op_of(op, result, &args))
            }
            Op::Not
            | Op::Popcnt
            | Op::Lzcnt
            | Op::Tzcnt
            | Op::Brev
            | Op::IDiv
            | Op::Rem
            | Op::MulHi
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Shl
            | Op::Shr
            | Op::BoundedDiv
            | Op::Cast
            | Op::Reinterpret
            | Op::BitsAnyNan => unreachable!("internal error: {op:?} of f16"),
        }
    }

    /// The product of two f16 is exact in f32, and the sum with its error too (Knuth's TwoSum).
    fn half_fma(&mut self, a: Reg, b: Reg, c: Reg) -> Reg {
        let float = DType::F32;
        let product = self.op_of(Op::Mul, float, &[a, b]);
        let sum = self.op_of(Op::Add, float, &[product, c]);
        let second = self.op_of(Op::Sub, float, &[sum, product]);
        let first = self.op_of(Op::Sub, float, &[sum, second]);
        let lost = self.op_of(Op::Sub, float, &[product, first]);
        let also_lost = self.op_of(Op::Sub, float, &[c, second]);
        let error = self.op_of(Op::Add, float, &[lost, also_lost]);
        // Neither holds for an infinite sum, whose error is NaN.
        let zero = self.constant(float, 0);
        let signs = self.op_of(Op::Mul, float, &[sum, error]);
        let above = self.op_of(Op::Lt, DType::Mask, &[signs, zero]);
        let below = self.op_of(Op::Gt, DType::Mask, &[signs, zero]);
        let inexact = self.op_of(Op::Or, DType::Mask, &[above, below]);
        self.round_to_odd(sum, above, inexact)
    }

    /// f64 to an f32 that rounds to f16 as the f64 would.
    fn single_of_double(&mut self, x: Reg) -> Reg {
        let single = self.op_of(Op::Cast, DType::F32, &[x]);
        let back = self.op_of(Op::Cast, DType::F64, &[single]);
        let inexact = self.op_of(Op::Ne, DType::Mask, &[back, x]);
        let [back, x] = [back, x].map(|x| self.op_of(Op::Abs, DType::F64, &[x]));
        let above = self.op_of(Op::Gt, DType::Mask, &[back, x]);
        self.round_to_odd(single, above, inexact)
    }

    /// A rounded f32 as if it had been rounded to odd: where it is inexact, the neighbour towards zero
    /// (`above`: it was rounded away from zero) with its last bit set. Such a number rounds on to f16 like
    /// the exact one: never is it a tie, nor on the wrong side of one.
    fn round_to_odd(&mut self, x: Reg, above: Reg, inexact: Reg) -> Reg {
        let word = DType::U32;
        let one = self.constant(word, 1);
        let bits = self.op_of(Op::Reinterpret, word, &[x]);
        let less = self.op_of(Op::Sub, word, &[bits, one]);
        let truncated = self.op_of(Op::Select, word, &[above, less, bits]);
        let odd = self.op_of(Op::Or, word, &[truncated, one]);
        let rounded = self.op_of(Op::Select, word, &[inexact, odd, bits]);
        self.op_of(Op::Reinterpret, DType::F32, &[rounded])
    }

    fn cast(&mut self, inst: &Inst, from: DType) -> (Form, Reg) {
        let to = inst.dtype;
        let arg = self.args(inst)[0];
        let wide = to.widened();
        if to == DType::F16 {
            let single = if from == DType::F64 {
                self.single_of_double(arg)
            } else {
                // An integer that f32 rounds is infinite in f16 anyway.
                self.converted(arg, from.widened(), DType::F32)
            };
            return (Form::Raw, single);
        }
        let reg = self.converted(arg, from.widened(), wide);
        if !to.is_narrow() {
            return (Form::Clean, reg);
        }
        if from.is_float() {
            let reg = self.saturated(reg, to);
            return (Form::Clean, reg);
        }
        let fits = from.bytes() < to.bytes() && (to.is_signed() || !from.is_signed());
        (if fits { Form::Clean } else { Form::Raw }, reg)
    }

    /// A 32-bit integer limited to what a narrow type holds.
    fn saturated(&mut self, x: Reg, to: DType) -> Reg {
        let wide = to.widened();
        let bits = to.bits() - u32::from(to.is_signed());
        let most = (1_u32 << bits) - 1;
        let limit = self.constant(wide, u64::from(most));
        let x = self.op_of(Op::Min, wide, &[x, limit]);
        if !to.is_signed() {
            return x;
        }
        let limit = self.constant(wide, u64::from(!most));
        self.op_of(Op::Max, wide, &[x, limit])
    }

    fn reinterpret(&mut self, inst: &Inst, from: DType) -> (Form, Reg) {
        let to = inst.dtype;
        let arg = self.args(inst)[0];
        let word = if from == DType::F16 {
            let bits = self.op_of(Op::Reinterpret, DType::U16, &[arg]);
            self.op_of(Op::Cast, DType::U32, &[bits])
        } else {
            self.converted(arg, from.widened(), DType::U32)
        };
        if to == DType::F16 {
            let bits = self.op_of(Op::Cast, DType::U16, &[word]);
            return (Form::Narrow, self.op_of(Op::Reinterpret, to, &[bits]));
        }
        (Form::Raw, self.converted(word, DType::U32, to.widened()))
    }

    /// A value of a type that is not narrow as another such type.
    fn converted(&mut self, x: Reg, from: DType, to: DType) -> Reg {
        if from == to { x } else { self.op_of(Op::Cast, to, &[x]) }
    }

    fn shift_down(&mut self, dtype: DType, x: Reg, by: u32) -> Reg {
        let by = self.constant(dtype, u64::from(by));
        self.op_of(Op::Shr, dtype, &[x, by])
    }

    fn dtype(&self, reg: Reg) -> DType {
        self.kernel.dtype(reg)
    }

    /// The arguments in the forms that the instruction wants.
    fn args(&mut self, inst: &Inst) -> Vec<Reg> {
        let form = |(position, arg)| self.form(arg, arg_form(self.kernel, inst, position));
        inst.args().enumerate().map(form).collect()
    }

    fn form(&mut self, reg: Reg, form: Form) -> Reg {
        let [_, clean, _] = self.values[reg.index()];
        match (self.values[reg.index()][form as usize], clean) {
            (Some(reg), _) => reg,
            // Of a phi, which changes, where it is used.
            (None, Some(clean)) => self.op_of(Op::Cast, self.dtype(reg), &[clean]),
            (None, None) => unreachable!("internal error: a form nobody wanted"),
        }
    }

    /// The instruction with its arguments replaced, and another type.
    fn copy(&mut self, inst: &Inst, dtype: DType) -> Reg {
        let args = self.args(inst);
        self.code.push(inst.code, dtype, &args)
    }

    fn op_of(&mut self, op: Op, dtype: DType, args: &[Reg]) -> Reg {
        self.code.op(op, dtype, args)
    }

    fn constant(&mut self, dtype: DType, bits: u64) -> Reg {
        self.code.constant(dtype, bits)
    }
}

/// The form in which an instruction wants an argument.
fn arg_form(kernel: &Kernel, inst: &Inst, position: usize) -> Form {
    let Some(arg) = inst.args[position] else { return Form::Clean };
    if position == 0 && matches!(inst.code, Code::Store(_) | Code::Scatter { .. }) {
        return Form::Narrow;
    }
    let (from, Code::Op(op)) = (kernel.dtype(arg), inst.code) else { return Form::Clean };
    match op {
        Op::Reinterpret if from == DType::F16 => Form::Narrow,
        _ if from.is_float() => Form::Clean,
        Op::Cast if inst.dtype.is_int() && inst.dtype.bytes() <= from.bytes() => Form::Raw,
        Op::Shl if position == 0 => Form::Raw,
        Op::Neg
        | Op::Not
        | Op::Popcnt
        | Op::Lzcnt
        | Op::Tzcnt
        | Op::Brev
        | Op::Reinterpret
        | Op::BitsAnyNan
        | Op::Add
        | Op::Sub
        | Op::Mul
        | Op::And
        | Op::Or
        | Op::Xor
        | Op::Fma
        | Op::Select => Form::Raw,
        Op::Abs
        | Op::Sqrt
        | Op::Floor
        | Op::Ceil
        | Op::Round
        | Op::Trunc
        | Op::Cast
        | Op::BoundedDiv
        | Op::Div
        | Op::IDiv
        | Op::Rem
        | Op::MulHi
        | Op::Min
        | Op::Max
        | Op::Minimum
        | Op::Maximum
        | Op::Shl
        | Op::Shr
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge => Form::Clean,
    }
}

fn wanted_forms(kernel: &Kernel) -> Vec<[bool; 3]> {
    let mut wanted = vec![[false; 3]; kernel.insts.len()];
    for inst in &kernel.insts {
        for (position, arg) in inst.args().enumerate() {
            wanted[arg.index()][arg_form(kernel, inst, position) as usize] = true;
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{BufferIndex, BufferParam, KernelHash};
    use super::*;

    /// `a * b + c` of loads, stored.
    fn kernel(dtype: DType) -> Kernel {
        let load = |i: u32| Inst {
            code: Code::Load(BufferIndex(i)),
            dtype,
            args: [None; 3],
            serial: 10 + u64::from(i),
        };
        let op = |op, args: [u32; 2], serial| Inst {
            code: Code::Op(op),
            dtype,
            args: [Some(Reg(args[0])), Some(Reg(args[1])), None],
            serial,
        };
        let buffer = |written| BufferParam { dtype, written, length: None, anywhere: false };
        Kernel {
            insts: vec![
                load(0),
                load(1),
                load(2),
                op(Op::Mul, [0, 1], 13),
                op(Op::Add, [3, 2], 14),
                Inst {
                    code: Code::Store(BufferIndex(3)),
                    dtype,
                    args: [Some(Reg(4)), None, None],
                    serial: 14,
                },
            ],
            n_uniform: 0,
            first_write: 5,
            buffers: vec![buffer(false), buffer(false), buffer(false), buffer(true)],
            literals: Vec::new(),
            accesses: Vec::new(),
            n_ops: 2,
            fast_math: false,
            variant: 0,
            hash: KernelHash(0),
        }
    }

    fn n_casts_to(kernel: &Kernel, dtype: DType) -> usize {
        let casts = kernel.insts.iter().filter(|inst| inst.code == Code::Op(Op::Cast));
        casts.filter(|inst| inst.dtype == dtype).count()
    }

    #[test]
    fn integers_wrap_once_and_floats_round_each_time() {
        for (dtype, casts) in [(DType::I8, 1), (DType::U16, 1), (DType::F16, 2)] {
            let kernel = kernel(dtype);
            let legal = legalise(&kernel);
            assert_eq!(n_casts_to(&legal, dtype), casts, "{legal}", legal = *legal);
            for inst in &legal.insts {
                let arithmetic = inst.code.has_value() && inst.code != Code::Op(Op::Cast);
                let narrow = inst.args().any(|arg| legal.dtype(arg).is_narrow());
                assert!(!(arithmetic && narrow), "{legal}", legal = *legal);
            }
        }
    }

    #[test]
    fn other_kernels_stay_as_they_are() {
        assert!(matches!(legalise(&kernel(DType::F32)), Cow::Borrowed(_)));
    }
}
