//! Panels: copies of a factor in which the terms of one tile of the result lie behind each other whichever way they lay
//! before. The two terms of a complex number stay side by side.

use std::ops::Range;

use super::matrices::Factor;
use crate::ir::op::Op;
use crate::ir::scalar::Lane;

/// What becomes of a term on its way: itself, or its negative.
macro_rules! signed {
    ($is_negative:expr, |$sign:ident| $body:expr) => {
        if $is_negative {
            let $sign = |value: T| T::apply(Op::Neg, value, value, value);
            $body
        } else {
            let $sign = |value: T| value;
            $body
        }
    };
}

impl<T: Lane> Factor<T> {
    /// Copies terms of rows or columns into a panel of so many; what is missing is the type's zero. Pairs stay whole.
    pub(super) fn pack(
        &self,
        panel: &mut [T],
        width: usize,
        matrix: usize,
        outer: Range<usize>,
        terms: Range<usize>,
    ) {
        if outer.len() < width {
            panel.fill(T::default());
        }
        let first = matrix * self.matrix + outer.start * self.across;
        let depth = terms.start / self.n..terms.end / self.n;
        let stride = width * self.n;
        for parity in 0..self.n {
            let to = &mut panel[parity * width..];
            let from =
                |start: usize, end: usize| self.plane(parity).slice(first + start, first + end);
            signed!(self.signs[parity].1, |sign| if self.across == 1 {
                for (to, k) in to.chunks_mut(stride).zip(depth.clone()) {
                    let from = from(k * self.along, k * self.along + outer.len());
                    to.iter_mut().zip(from).for_each(|(to, &from)| *to = sign(from));
                }
            } else {
                let row =
                    |i: usize| from(i * self.across + depth.start, i * self.across + depth.end);
                turn(to, stride, outer.len(), row, sign);
            });
        }
    }

    /// Copies terms of all columns into the same terms of panels: row after row, so that memory is read as it lies.
    pub(super) fn pack_rows(
        &self,
        panels: &mut [&mut [T]],
        width: usize,
        matrix: usize,
        columns: usize,
        terms: Range<usize>,
    ) {
        for (place, term) in terms.enumerate() {
            let parity = term % self.n;
            let start = matrix * self.matrix + term / self.n * self.along;
            let row = self.plane(parity).slice(start, start + columns);
            signed!(self.signs[parity].1, |sign| {
                for (panel, from) in panels.iter_mut().zip(row.chunks(width)) {
                    let to = &mut panel[place * width..][..width];
                    to.iter_mut().zip(from).for_each(|(to, &from)| *to = sign(from));
                    to[from.len()..].fill(T::default());
                }
            });
        }
    }
}

/// Puts the terms of `n` rows side by side, `stride` lanes from term to term: four rows at a time, whose terms are written
/// as one vector.
fn turn<'a, T: Copy + 'a>(
    to: &mut [T],
    stride: usize,
    n: usize,
    row: impl Fn(usize) -> &'a [T],
    sign: impl Fn(T) -> T,
) {
    let whole = n / 4 * 4;
    for i in (0..whole).step_by(4) {
        let (a, b, c, d) = (row(i), row(i + 1), row(i + 2), row(i + 3));
        let n_terms = a.len();
        let (b, c, d) = (&b[..n_terms], &c[..n_terms], &d[..n_terms]);
        for k in 0..n_terms {
            let place = &mut to[k * stride + i..][..4];
            place[0] = sign(a[k]);
            place[1] = sign(b[k]);
            place[2] = sign(c[k]);
            place[3] = sign(d[k]);
        }
    }
    for i in whole..n {
        let to = to[i..].iter_mut().step_by(stride);
        to.zip(row(i)).for_each(|(to, &from)| *to = sign(from));
    }
}
