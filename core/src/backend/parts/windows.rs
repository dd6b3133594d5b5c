//! Which elements the gathers of a kernel may read for some of its lanes, from the expressions of their indices.
//!
//! A value is followed as a few intervals of numbers; one of which nothing is known may be any of its type.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use crate::dtype::DType;
use crate::ir::kernel::{Code, Inst, Kernel, Reg};
use crate::ir::op::Op;

/// Intervals of a value at most; beyond, the two that lie closest become one.
const MOST: usize = 4;

/// Intervals of integers, ends included, in order and apart; truth values are 0 and 1.
type Set = SmallVec<[(i128, i128); MOST + 1]>;

/// What integers and truth values of a kernel may be for some of its lanes.
pub(super) struct Values {
    sets: Vec<Option<Set>>,
    /// What lanes load, if that is known.
    loaded: Option<Set>,
}

impl Values {
    /// Of a launch with these literals, by their words.
    pub(super) fn of(kernel: &Kernel, words: &[u64], lanes: &Range<u64>) -> Self {
        Self::of_loaded(kernel, words, lanes, None)
    }

    /// Of lanes behind a launch: these load zeros.
    pub(super) fn of_zeros(kernel: &Kernel, words: &[u64], lanes: &Range<u64>) -> Self {
        Self::of_loaded(kernel, words, lanes, Some(smallvec![(0, 0)]))
    }

    fn of_loaded(kernel: &Kernel, words: &[u64], lanes: &Range<u64>, loaded: Option<Set>) -> Self {
        let mut values = Self { sets: Vec::with_capacity(kernel.insts.len()), loaded };
        for (position, inst) in kernel.insts.iter().enumerate() {
            let value = match inst.code {
                Code::Load(_) if position >= kernel.n_uniform => values.loaded.clone(),
                _ => values.value(kernel, words, lanes, inst),
            };
            values.sets.push(value.and_then(|set| fitted(set, inst.dtype)));
        }
        values
    }

    /// Whether an index is known to be one of some elements.
    pub(super) fn knows(&self, index: Reg) -> bool {
        self.sets[index.index()].is_some()
    }

    /// The elements below `length` that an index may name.
    pub(super) fn elements(&self, index: Reg, length: u64) -> Vec<Range<u64>> {
        let any: Set = smallvec![(0, i128::from(u64::MAX))];
        let set = self.sets[index.index()].as_ref().unwrap_or(&any);
        let clamp = |value: i128| u64::try_from(value.max(0)).unwrap_or(u64::MAX).min(length);
        let ranges = set.iter().map(|&(least, most)| clamp(least)..clamp(most.saturating_add(1)));
        ranges.filter(|range| !range.is_empty()).collect()
    }

    fn value(
        &self,
        kernel: &Kernel,
        words: &[u64],
        lanes: &Range<u64>,
        inst: &Inst,
    ) -> Option<Set> {
        let number = |dtype: DType, bits: u64| match dtype {
            DType::Mask => Some(smallvec![(i128::from(bits & 1), i128::from(bits & 1))]),
            dtype => dtype.decode(bits).integer().map(|value| smallvec![(value, value)]),
        };
        match inst.code {
            Code::Constant(bits) => number(inst.dtype, bits),
            Code::Literal(literal) => {
                number(inst.dtype, words[kernel.literal_word(literal as usize)])
            }
            Code::Index => Some(smallvec![(lanes.start.into(), i128::from(lanes.end) - 1)]),
            Code::Op(op) => self.result(op, kernel, inst),
            _ => None,
        }
    }

    fn result(&self, op: Op, kernel: &Kernel, inst: &Inst) -> Option<Set> {
        let arg = |position: usize| self.sets[inst.arg(position).index()].as_ref();
        let each = |combine: &dyn Fn((i128, i128), (i128, i128)) -> Option<Set>| {
            let mut result = Set::new();
            for &a in arg(0)? {
                for &b in arg(1)? {
                    result.extend(combine(a, b)?);
                }
            }
            Some(result)
        };
        let one = |least: i128, most: i128| -> Option<Set> { Some(smallvec![(least, most)]) };
        match op {
            Op::Cast if kernel.dtype(inst.arg(0)).is_int() && inst.dtype.is_int() => {
                arg(0).cloned()
            }
            Op::Select => {
                let mut either = arg(1)?.clone();
                either.extend(arg(2)?.iter().copied());
                Some(either)
            }
            Op::Add => each(&|a, b| one(a.0 + b.0, a.1 + b.1)),
            Op::Sub => each(&|a, b| one(a.0 - b.1, a.1 - b.0)),
            Op::Mul => each(&|a, b| {
                let ends = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
                let [mut least, mut most] = [i128::MAX, i128::MIN];
                for (a, b) in ends {
                    let product = a.checked_mul(b)?;
                    (least, most) = (least.min(product), most.max(product));
                }
                one(least, most)
            }),
            Op::Min => each(&|a, b| one(a.0.min(b.0), a.1.min(b.1))),
            Op::Max => each(&|a, b| one(a.0.max(b.0), a.1.max(b.1))),
            Op::And => each(&|a, b| {
                // No bit is set that is not in both.
                (a.0 >= 0 && b.0 >= 0).then(|| smallvec![(0, a.1.min(b.1))])
            }),
            Op::IDiv => {
                each(&|a, b| (a.0 >= 0 && b.0 > 0).then(|| smallvec![(a.0 / b.1, a.1 / b.0)]))
            }
            Op::Shr => each(&|a, b| {
                (a.0 >= 0 && b.0 == b.1 && (0..64).contains(&b.0))
                    .then(|| smallvec![(a.0 >> b.0, a.1 >> b.0)])
            }),
            Op::Rem => each(&|a, b| (a.0 >= 0 && b.0 == b.1 && b.0 > 0).then(|| wrapped(a, b.0))),
            _ => None,
        }
    }
}

/// The remainders, none negative, of an interval of numbers.
fn wrapped((least, most): (i128, i128), modulus: i128) -> Set {
    let (first, last) = (least.rem_euclid(modulus), most.rem_euclid(modulus));
    match most - least {
        width if width >= modulus - 1 => smallvec![(0, modulus - 1)],
        _ if first <= last => smallvec![(first, last)],
        _ => smallvec![(0, last), (first, modulus - 1)],
    }
}

/// A set as numbers of a type, to which those beyond its ends wrap; `None` if it may be any of them.
fn fitted(set: Set, dtype: DType) -> Option<Set> {
    if !dtype.is_int() && dtype != DType::Mask {
        return None;
    }
    let (low, high) = if dtype == DType::Mask { (0, 1) } else { dtype.limits() };
    let mut fitted = Set::new();
    for (least, most) in set {
        if (low..=high).contains(&least) && (low..=high).contains(&most) {
            fitted.push((least, most));
        } else {
            let back = |(least, most): (i128, i128)| (least + low, most + low);
            let moved = wrapped((least - low, most - low), high - low + 1);
            fitted.extend(moved.into_iter().map(back));
        }
    }
    fitted.sort_unstable();
    let mut merged = Set::new();
    for (least, most) in fitted {
        match merged.last_mut() {
            Some(last) if least <= last.1.saturating_add(1) => last.1 = last.1.max(most),
            _ => merged.push((least, most)),
        }
    }
    while merged.len() > MOST {
        let gap = |&i: &usize| merged[i + 1].0 - merged[i].1;
        let closest = (0..merged.len() - 1).min_by_key(gap)?;
        merged[closest].1 = merged[closest + 1].1;
        merged.remove(closest + 1);
    }
    (merged.as_slice() != [(low, high)]).then_some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_that_wrap_are_two_intervals() {
        let set = |pairs: &[(i128, i128)]| Set::from_slice(pairs);
        assert_eq!(wrapped((5, 7), 10), set(&[(5, 7)]));
        assert_eq!(wrapped((8, 12), 10), set(&[(0, 2), (8, 9)]));
        assert_eq!(wrapped((3, 13), 10), set(&[(0, 9)]));
        assert_eq!(wrapped((3, 11), 10), set(&[(0, 1), (3, 9)]));
    }

    #[test]
    fn what_wraps_in_its_type_lies_at_both_ends() {
        let set = |pairs: &[(i128, i128)]| Set::from_slice(pairs);
        assert_eq!(fitted(set(&[(-1, 3)]), DType::U8), Some(set(&[(0, 3), (255, 255)])));
        assert_eq!(fitted(set(&[(126, 130)]), DType::I8), Some(set(&[(-128, -126), (126, 127)])));
        assert_eq!(fitted(set(&[(0, 255)]), DType::U8), None);
        assert_eq!(fitted(set(&[(0, 1)]), DType::F32), None);
        let many: Set = (0..8).map(|i| (i * i * 10, i * i * 10 + 1)).collect();
        let few = fitted(many.clone(), DType::I32).unwrap();
        assert!(few.len() <= MOST && few[0].0 == 0 && few.last().unwrap().1 == 491);
    }
}
