//! One operation over a block of lanes, for each lane type and instruction set.
//!
//! Every function here is a loop over `ir/scalar.rs`. Sources and destination never overlap: the
//! lowering gives a step a destination of its own, so the loops vectorise without overlap checks.
#![expect(unsafe_code, reason = "lanes are addressed by raw pointers into blocks and buffers")]

use crate::backend::isa::Isa;
use crate::dtype::{DType, Element};
use crate::half::F16;
use crate::ir::op::{Op, OpVisitor, Shape};
use crate::ir::scalar::{CastFrom, Lane, visible_bits, with_lane, with_word};

/// Where a step finds its lanes.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    /// First lane of the result.
    pub(super) target: *mut u8,
    /// First lane of each argument.
    pub(super) sources: [*const u8; 3],
    /// Number of lanes.
    pub(super) n: usize,
    /// Lane number of the first lane.
    pub(super) first: u64,
}

/// Computes a block of lanes.
///
/// # Safety
/// Target and sources must be valid for `n` lanes of the types the step was made for, aligned, and the
/// target must overlap no source; the processor must have the instruction set. Steps of [`broadcast`]
/// need one source lane only, and read it before they write, so it may lie in the target.
pub(super) type Step = unsafe fn(&Lanes);

impl Lanes {
    /// # Safety
    /// As for [`Step`].
    #[inline(always)]
    unsafe fn source<'a, T>(&self, i: usize) -> &'a [T] {
        // SAFETY: passed on to the caller.
        unsafe { std::slice::from_raw_parts(self.sources[i].cast(), self.n) }
    }

    /// # Safety
    /// As for [`Step`].
    #[inline(always)]
    unsafe fn target<'a, T>(&self) -> &'a mut [T] {
        // SAFETY: passed on to the caller.
        unsafe { std::slice::from_raw_parts_mut(self.target.cast(), self.n) }
    }
}

macro_rules! instruction_set {
    ($name:ident $(, $features:literal)?) => {
        mod $name {
            use super::*;

            struct Same<T>(std::marker::PhantomData<T>);
            impl<T: Lane> OpVisitor for Same<T> {
                type Output = Step;
                fn visit<const OP: u8>(&self) -> Step {
                    match const { Op::from_number(OP).arity() } {
                        1 => unary::<T, OP>,
                        2 => binary::<T, OP>,
                        _ => ternary::<T, OP>,
                    }
                }
            }

            struct Compare<T>(std::marker::PhantomData<T>);
            impl<T: Lane> OpVisitor for Compare<T> {
                type Output = Step;
                fn visit<const OP: u8>(&self) -> Step {
                    compare::<T, OP>
                }
            }

            instruction_set!(@step $($features)?; unary [T: Lane, const OP: u8] (lanes) {
                let (y, a) = (lanes.target::<T>(), lanes.source::<T>(0));
                for i in 0..y.len() {
                    y[i] = T::apply(const { Op::from_number(OP) }, a[i], a[i], a[i]);
                }
            });
            instruction_set!(@step $($features)?; binary [T: Lane, const OP: u8] (lanes) {
                let (y, a, b) = (lanes.target::<T>(), lanes.source::<T>(0), lanes.source::<T>(1));
                for i in 0..y.len() {
                    y[i] = T::apply(const { Op::from_number(OP) }, a[i], b[i], b[i]);
                }
            });
            instruction_set!(@step $($features)?; ternary [T: Lane, const OP: u8] (lanes) {
                let (y, a, b) = (lanes.target::<T>(), lanes.source::<T>(0), lanes.source::<T>(1));
                let c = lanes.source::<T>(2);
                for i in 0..y.len() {
                    y[i] = T::apply(const { Op::from_number(OP) }, a[i], b[i], c[i]);
                }
            });
            instruction_set!(@step $($features)?; compare [T: Lane, const OP: u8] (lanes) {
                let (y, a, b) = (lanes.target::<bool>(), lanes.source::<T>(0), lanes.source::<T>(1));
                for i in 0..y.len() {
                    y[i] = T::compare(const { Op::from_number(OP) }, a[i], b[i]);
                }
            });
            instruction_set!(@step $($features)?; select [T: Lane] (lanes) {
                let (y, mask) = (lanes.target::<T>(), lanes.source::<bool>(0));
                let (a, b) = (lanes.source::<T>(1), lanes.source::<T>(2));
                for i in 0..y.len() {
                    y[i] = if mask[i] { a[i] } else { b[i] };
                }
            });
            instruction_set!(@step $($features)?; cast [S: Lane, T: Lane + CastFrom<S>] (lanes) {
                let (y, a) = (lanes.target::<T>(), lanes.source::<S>(0));
                for i in 0..y.len() {
                    y[i] = T::cast_from(a[i]);
                }
            });
            instruction_set!(@step $($features)?; reinterpret [S: Lane, T: Element] (lanes) {
                let (y, a) = (lanes.target::<T>(), lanes.source::<S>(0));
                for i in 0..y.len() {
                    y[i] = T::from_bits64(visible_bits(a[i]));
                }
            });
            instruction_set!(@step $($features)?; index [T: Lane + CastFrom<u64>] (lanes) {
                let y = lanes.target::<T>();
                for i in 0..y.len() {
                    y[i] = T::cast_from(lanes.first + i as u64);
                }
            });

            pub(super) fn elementwise(op: Op, dtype: DType, operand: DType) -> Step {
                match op.info().shape {
                    Shape::Same => with_word!(dtype,
                        T => op.specialize(&Same::<T>(std::marker::PhantomData)),
                        mask => op.specialize(&Same::<bool>(std::marker::PhantomData))),
                    Shape::Compare => with_word!(operand,
                        T => op.specialize(&Compare::<T>(std::marker::PhantomData)),
                        mask => op.specialize(&Compare::<bool>(std::marker::PhantomData))),
                    Shape::Select => with_word!(dtype, T => select::<T>, mask => select::<bool>),
                    Shape::Special => match (op, operand, dtype) {
                        (Op::BoundedDiv, ..) => elementwise(Op::Div, dtype, operand),
                        (Op::Reinterpret, DType::F16, _) => reinterpret::<F16, u16>,
                        (Op::Reinterpret, DType::U16, _) => reinterpret::<u16, F16>,
                        (Op::Reinterpret | Op::BitsAnyNan, ..) => with_word!(operand,
                            S => with_word!(dtype, T => reinterpret::<S, T>, mask => copy::<u8>),
                            mask => copy::<u8>),
                        (_, DType::I8, _) => cast::<i8, i32>,
                        (_, DType::U8, _) => cast::<u8, u32>,
                        (_, DType::I16, _) => cast::<i16, i32>,
                        (_, DType::U16, _) => cast::<u16, u32>,
                        (_, DType::F16, _) => cast::<F16, f32>,
                        (_, _, DType::I8) => cast::<i32, i8>,
                        (_, _, DType::U8) => cast::<u32, u8>,
                        (_, _, DType::I16) => cast::<i32, i16>,
                        (_, _, DType::U16) => cast::<u32, u16>,
                        (_, _, DType::F16) => cast::<f32, F16>,
                        _ => with_word!(operand,
                            S => with_word!(dtype, T => cast::<S, T>, mask => copy::<u8>),
                            mask => copy::<u8>),
                    },
                }
            }

            pub(super) fn lane_number(dtype: DType) -> Step {
                with_word!(dtype, T => index::<T>, mask => copy::<u8>)
            }
        }
    };
    (@step $($features:literal)?; $name:ident [$($params:tt)*] ($lanes:ident) $body:block) => {
        /// # Safety
        /// As for [`Step`].
        $(#[target_feature(enable = $features)])?
        #[allow(clippy::multiple_unsafe_ops_per_block, clippy::needless_range_loop,
            reason = "parallel slices of one length: an index keeps the loop readable")]
        unsafe fn $name<$($params)*>($lanes: &Lanes) {
            // SAFETY: the caller keeps the contract of `Step`.
            unsafe { $body }
        }
    };
}

instruction_set!(baseline);
#[cfg(target_arch = "x86_64")]
instruction_set!(avx2, "avx2,fma,bmi1,bmi2,lzcnt,popcnt");
#[cfg(target_arch = "x86_64")]
instruction_set!(
    avx512,
    "avx2,fma,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512dq,avx512vl,avx512bw,avx512cd"
);

/// The step that computes `op` with result type `dtype` from (last) operand type `operand`.
pub(super) fn elementwise(isa: Isa, op: Op, dtype: DType, operand: DType) -> Step {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::elementwise(op, dtype, operand),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::elementwise(op, dtype, operand),
        _ => baseline::elementwise(op, dtype, operand),
    }
}

/// The step that numbers the lanes.
pub(super) fn lane_number(isa: Isa, dtype: DType) -> Step {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::lane_number(dtype),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::lane_number(dtype),
        _ => baseline::lane_number(dtype),
    }
}

/// The step that repeats element 0 of the source in every lane.
pub(super) fn broadcast(dtype: DType) -> Step {
    match dtype.bytes() {
        1 => repeat::<u8>,
        2 => repeat::<u16>,
        4 => repeat::<u32>,
        _ => repeat::<u64>,
    }
}

/// The step that copies lanes.
pub(super) fn copying(dtype: DType) -> Step {
    match dtype.bytes() {
        1 => copy::<u8>,
        2 => copy::<u16>,
        4 => copy::<u32>,
        _ => copy::<u64>,
    }
}

/// # Safety
/// As for [`Step`], but one source lane is enough.
unsafe fn repeat<T: Copy>(lanes: &Lanes) {
    // SAFETY: the caller keeps the contract.
    let value = unsafe { *lanes.sources[0].cast::<T>() };
    // SAFETY: the caller keeps the contract.
    unsafe { lanes.target::<T>() }.fill(value);
}

/// # Safety
/// As for [`Step`].
unsafe fn copy<T: Copy>(lanes: &Lanes) {
    // SAFETY: the caller keeps the contract.
    let source = unsafe { lanes.source::<T>(0) };
    // SAFETY: the caller keeps the contract.
    unsafe { lanes.target::<T>() }.copy_from_slice(source);
}
