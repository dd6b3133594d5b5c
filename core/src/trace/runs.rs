//! Lanes at even distances of lanes that are at even distances themselves: a view of a view as one.

use smallvec::SmallVec;

/// The lanes start + i s₀ + j s₁ + .. for all numbers i, j, .. below the extents, the last running fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lanes {
    pub(super) start: u64,
    /// Extents and steps.
    pub(super) runs: Vec<(u64, i64)>,
}

/// Something for each axis of a view, mostly few.
type OfAxes<T> = SmallVec<[T; 4]>;

/// A run upwards; what counts down is read from its end.
#[derive(Clone, Copy)]
struct Upward {
    extent: u64,
    step: u64,
    is_turned: bool,
}

impl Lanes {
    pub(super) fn new(start: u64, runs: &[(u64, i64)]) -> Self {
        Self { start, runs: runs.to_vec() }
    }

    /// How many there are.
    pub(super) fn size(&self) -> u64 {
        self.runs.iter().map(|(extent, _)| extent).product()
    }

    /// Whether all are one lane.
    pub(super) fn is_one(&self) -> bool {
        self.runs.iter().all(|&(extent, step)| extent == 1 || step == 0)
    }

    /// Whether they are so many lanes, all of them in their order.
    pub(super) fn is_whole(&self, size: u64) -> bool {
        self.start == 0 && self.runs == [(size, 1)]
    }

    /// Of these lanes, those that others say the numbers of; `None` if they are not at even distances.
    ///
    /// Numbers are written with a digit for each run: as long as no sum of digits carries, a step in the number is a step
    /// in each digit.
    pub(super) fn at(&self, others: &Self) -> Option<Self> {
        if self.size() == 0 || others.size() == 0 {
            return None;
        }
        let mut first = others.start;
        let mut upward: OfAxes<Upward> = SmallVec::new();
        for &(extent, step) in others.runs.iter().filter(|(extent, _)| *extent > 1) {
            let is_turned = step < 0;
            if is_turned {
                first = first.wrapping_add((extent - 1).wrapping_mul(step.cast_unsigned()));
            }
            self.cut(Upward { extent, step: step.unsigned_abs(), is_turned }, &mut upward);
        }
        if first >= self.size() {
            return None;
        }
        let mut lanes = Self { start: self.start, runs: Vec::with_capacity(upward.len()) };
        let mut room: OfAxes<u64> = SmallVec::new();
        for (&(extent, step), digit) in self.runs.iter().zip(self.digits(first)) {
            lanes.start = lanes.start.wrapping_add(digit.wrapping_mul(step.cast_unsigned()));
            room.push(extent - 1 - digit);
        }
        for Upward { extent, step, is_turned } in upward {
            let mut along = 0_i64;
            for ((&(_, own), digit), room) in self.runs.iter().zip(self.digits(step)).zip(&mut room)
            {
                *room = room.checked_sub(digit.checked_mul(extent - 1)?)?;
                along = along.wrapping_add(own.wrapping_mul(digit.cast_signed()));
            }
            if is_turned {
                let way = (extent - 1).wrapping_mul(along.cast_unsigned());
                (lanes.start, along) = (lanes.start.wrapping_add(way), along.wrapping_neg());
            }
            lanes.push(extent, along);
        }
        Some(lanes)
    }

    /// The digits of a number, one for each run; the first one has what is beyond all.
    fn digits(&self, number: u64) -> OfAxes<u64> {
        let mut left = number;
        let mut digits: OfAxes<u64> = SmallVec::from_elem(0, self.runs.len());
        for (place, &(extent, _)) in self.runs.iter().enumerate().rev() {
            digits[place] = if place == 0 { left } else { left % extent };
            left /= extent;
        }
        digits
    }

    /// A run as several ones, each of which is along one run of these where that is possible.
    fn cut(&self, run: Upward, to: &mut OfAxes<Upward>) {
        let Upward { mut extent, step, is_turned } = run;
        let mut inner = self.size();
        for &(own, _) in &self.runs {
            inner /= own;
            let n = inner.checked_div(step).unwrap_or(0);
            if n > 1 && inner.is_multiple_of(step) && extent > n && extent % n == 0 {
                to.push(Upward { extent: extent / n, step: inner, is_turned });
                extent = n;
            }
        }
        to.push(Upward { extent, step, is_turned });
    }

    /// With a run inside all others, which is one with the last where their lanes go on evenly.
    fn push(&mut self, extent: u64, step: i64) {
        match self.runs.last_mut() {
            Some((outer, outer_step)) if *outer_step == step.wrapping_mul(extent.cast_signed()) => {
                (*outer, *outer_step) = (*outer * extent, step);
            }
            _ => self.runs.push((extent, step)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(lanes: &Lanes) -> Vec<u64> {
        lanes.runs.iter().fold(vec![lanes.start], |all, &(extent, step)| {
            let along = |&first: &u64| {
                (0..extent).map(move |i| first.wrapping_add(i.wrapping_mul(step.cast_unsigned())))
            };
            all.iter().flat_map(along).collect()
        })
    }

    /// A matrix of 10 columns times a row, column by column: one number of the row each.
    #[test]
    fn a_column_of_a_stretched_row_is_one_lane() {
        let row = Lanes::new(0, &[(1000, 0), (10, 1)]);
        let column = row.at(&Lanes::new(7, &[(1000, 10)])).unwrap();
        assert_eq!(column, Lanes::new(7, &[(1000, 0)]));
        assert!(column.is_one() && !row.is_one());
        let turned = Lanes::new(0, &[(4, 1), (6, 4)]);
        assert!(turned.at(&Lanes::new(0, &[(6, 1), (4, 6)])).unwrap().is_whole(24));
        assert_eq!(turned.at(&Lanes::new(0, &[(24, 1)])), Some(turned.clone()));
        assert_eq!(turned.at(&Lanes::new(3, &[(6, 1)])), None);
        assert_eq!(turned.at(&Lanes::new(24, &[(1, 1)])), None);
    }

    #[test]
    fn lanes_of_lanes_are_those_lanes() {
        let mut state = 0x853c_49e6_748f_ea9b_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut found = 0;
        for _ in 0..4000 {
            let mut lanes = |least: i64| {
                let rank = random(4);
                let runs: Vec<(u64, i64)> =
                    (0..rank).map(|_| (1 + random(4), random(14).cast_signed() + least)).collect();
                Lanes::new(random(9), &runs)
            };
            let (own, others) = (lanes(-6), lanes(-3));
            let (all, wanted) = (numbers(&own), numbers(&others));
            let is_inside = wanted.iter().all(|&number| number < own.size());
            let Some(both) = own.at(&others).filter(|_| is_inside) else { continue };
            found += 1;
            let want: Vec<u64> =
                wanted.iter().map(|&number| all[usize::try_from(number).unwrap()]).collect();
            assert_eq!(numbers(&both), want, "{own:?} at {others:?}");
        }
        assert!(found > 400, "{found}");
    }
}
