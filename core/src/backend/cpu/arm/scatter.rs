//! Scatters, lane by lane: lanes of equal indices act in order.
//!
//! Values lie in the frame's scratch, and indices that are wide. An f16 element is combined as f32.

use super::emitter::{Arm, ColdCode, Within};
use super::encode::{Condition, FILL, FOURTH, SCRATCH, SECOND, T0, T1, T2, THIRD, Transfer, V, X};
use super::encodings::{XTN_2S, XTN_4H};
use crate::backend::cpu::machine::Machine;
use crate::dtype::DType;
use crate::ir::op::ScatterOp;

/// Bits of a narrow mask's lane, where it is narrowed to a number.
pub(super) const LANE_BITS: u32 = 16;
/// An f64 instruction is the f32 one and this.
const DOUBLE: u32 = 0x0040_0000;

/// Where lanes are scattered, and how.
#[derive(Clone, Copy)]
pub(super) struct ScatterTo {
    pub(super) word: u32,
    pub(super) op: ScatterOp,
    pub(super) dtype: DType,
}

/// Where the indices are.
#[derive(Clone, Copy)]
pub(super) enum Lane {
    InRegister(V),
    InScratch { wide: bool },
}

impl Arm {
    /// Scatters lanes, of a narrow mask if there is one.
    pub(super) fn scatter_lanes(&mut self, to: ScatterTo, index: Lane, mask: Option<V>) {
        let ScatterTo { word, op, dtype } = to;
        if let Some(mask) = mask {
            self.bits_of_mask(mask, false);
        }
        let base = self.base(word, SECOND);
        if dtype.is_float() && matches!(op, ScatterOp::Min | ScatterOp::Max) {
            let one = if dtype.bytes() == 8 { 0x1e6e_1000 } else { 0x1e2e_1000 };
            self.code.word(one | T2.0); // fmov
        }
        for lane in 0..4 {
            let skip = mask.map(|_| self.code.jump_unless_bit(SCRATCH, LANE_BITS * lane));
            match index {
                Lane::InRegister(index) => self.code.lane(THIRD, index, lane, false),
                Lane::InScratch { wide } => {
                    let (index, bytes) =
                        if wide { (Transfer::LONG, 8) } else { (Transfer::WORD, 4) };
                    let at = self.in_scratch(0, lane, bytes);
                    self.code.load(index, THIRD.0, at, THIRD);
                }
            }
            if dtype.is_float() && op != ScatterOp::Set {
                self.combine_floats(op, dtype, base, lane);
            } else {
                self.combine_numbers(op, dtype, base, lane);
            }
            skip.into_iter().for_each(|skip| self.land(skip));
        }
    }

    /// Scatters the lanes of the launch that are in bounds and wanted. That all of them are is what is fast.
    pub(super) fn scatter_within(&mut self, to: ScatterTo, lanes: Within) {
        self.inside(T0, &lanes, true);
        self.all_of(T0);
        let entry = self.code.jump_behind_if(true, SCRATCH, false, self.segmented);
        self.scatter_lanes(to, Lane::InRegister(lanes.index), None);
        self.rarely(entry, ColdCode::ScatterSome { to, lanes });
    }

    pub(super) fn scatter_some(&mut self, to: ScatterTo, lanes: &Within, back: u64) {
        self.inside(T2, lanes, true);
        self.scatter_lanes(to, Lane::InRegister(lanes.index), Some(T2));
        self.report_outside(lanes, back);
    }

    /// The lanes of a mask as bits of the scratch register: 16 for a narrow lane, 32 for a wide one.
    pub(super) fn bits_of_mask(&mut self, mask: V, wide: bool) {
        let narrow = if wide { XTN_2S } else { XTN_4H };
        self.code.unary(narrow, T0, mask);
        self.code.registers(0x9e66_0000, SCRATCH.0, T0.0); // fmov
    }

    fn load_element(&mut self, how: Transfer, to: u32, base: X) {
        self.code.three(how.load_indexed(), X(to), base, THIRD);
    }

    fn store_element(&mut self, how: Transfer, from: u32, base: X) {
        self.code.three(how.store_indexed(), X(from), base, THIRD);
    }

    /// Replaces or combines the bits at the element.
    fn combine_numbers(&mut self, op: ScatterOp, dtype: DType, base: X, lane: u32) {
        let (bytes, signed) = (dtype.bytes(), dtype.is_int() && dtype.is_signed());
        let how = Transfer::number(bytes, signed);
        let value = self.in_scratch(2, lane, bytes);
        self.code.load(how, FOURTH.0, value, FOURTH);
        if op != ScatterOp::Set {
            self.load_element(how, FILL.0, base);
        }
        let wins = match (op, signed) {
            (ScatterOp::Min, true) => Some(Condition::Less),
            (ScatterOp::Min, false) => Some(Condition::Lower),
            (ScatterOp::Max, true) => Some(Condition::Greater),
            (ScatterOp::Max, false) => Some(Condition::Higher),
            (ScatterOp::Set | ScatterOp::Add | ScatterOp::And | ScatterOp::Or, _) => None,
        };
        if let Some(wins) = wins {
            self.code.compare(FOURTH, FILL, bytes == 8);
            self.code.select(FOURTH, FOURTH, FILL, wins);
        }
        let combine = |this: &mut Self, word| this.code.three(word, FOURTH, FOURTH, FILL);
        match op {
            ScatterOp::Add => combine(self, 0x8b00_0000), // add
            ScatterOp::And => combine(self, 0x8a00_0000), // and
            ScatterOp::Or => combine(self, 0xaa00_0000),  // orr
            ScatterOp::Set | ScatterOp::Min | ScatterOp::Max => {}
        }
        self.store_element(how, FOURTH.0, base);
    }

    fn combine_floats(&mut self, op: ScatterOp, dtype: DType, base: X, lane: u32) {
        let half = dtype.is_half();
        let wide = if dtype.bytes() == 8 { DOUBLE } else { 0 };
        let how = Transfer::vector(dtype.bytes());
        let value = self.in_scratch(2, lane, dtype.bytes().max(4));
        self.code.load(Transfer::vector(dtype.bytes().max(4)), T1.0, value, FILL);
        self.load_element(how, T0.0, base);
        if half {
            self.code.unary(0x1ee2_4000, T0, T0); // fcvt s, h
        }
        let word = match op {
            ScatterOp::Min => 0x1e20_7800, // fminnm
            ScatterOp::Max => 0x1e20_6800, // fmaxnm
            ScatterOp::Set | ScatterOp::Add | ScatterOp::And | ScatterOp::Or => 0x1e20_2800, // fadd
        };
        if op != ScatterOp::Add {
            // The extremes ignore quiet NaN only, which a product is.
            self.code.binary(0x1e20_0800 + wide, T0, T0, T2); // fmul
            self.code.binary(0x1e20_0800 + wide, T1, T1, T2);
        }
        self.code.binary(word + wide, T0, T0, T1);
        if half {
            self.code.unary(0x1e23_c000, T0, T0); // fcvt h, s
        }
        self.store_element(how, T0.0, base);
    }
}
