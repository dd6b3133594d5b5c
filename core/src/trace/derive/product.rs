//! Products of matrices: of each factor the other one, turned, times the cotangent.

use smallvec::SmallVec;

use super::across_lanes::Operands;
use super::reverse::Cotangents;
use super::{Of, Recorder};
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::primitive::{Factor, Part, Product};
use crate::ir::var::VarId;

/// A product of real matrices that is a part of a product: its factors, and whether it is taken away.
struct Term {
    left: VarId,
    right: VarId,
    is_negative: bool,
}

impl Product {
    /// What the product is the sum of.
    fn sum_of(self, x: &Operands) -> SmallVec<[Term; 2]> {
        let term = |left: usize, right: usize, is_negative: bool| Term {
            left: x[left],
            right: x[right],
            is_negative,
        };
        let [left, right] = [self.left.is_conjugate(), self.right.is_conjugate()];
        match self.part {
            Part::Whole => SmallVec::from_iter([term(0, 1, false)]),
            Part::Real => SmallVec::from_iter([term(0, 2, false), term(1, 3, left == right)]),
            Part::Imag => SmallVec::from_iter([term(0, 3, right), term(1, 2, left)]),
        }
    }

    /// The product of real matrices with other factors.
    fn of(self, depth: u64, columns: u64, left: Factor, right: Factor) -> Self {
        let (depth, columns) = (exactly(depth), exactly(columns));
        Self { depth, columns, left, right, part: Part::Whole, ..self }
    }
}

impl Recorder<'_> {
    /// Passes the cotangent of a product to its factors.
    pub(super) fn pull_product(
        &mut self,
        cotangents: &mut Cotangents,
        product: Product,
        x: &Operands,
        v: VarId,
    ) -> Result<()> {
        for Term { left, right, is_negative } in product.sum_of(x) {
            let v = if is_negative { self.same(Op::Neg, &[v])? } else { v };
            if cotangents.wants(left) {
                let part = self.pull_left(product, left, right, v)?;
                self.pass(cotangents, left, part)?;
            }
            if cotangents.wants(right) {
                let part = self.pull_right(product, left, right, v)?;
                self.pass(cotangents, right, part)?;
            }
        }
        Ok(())
    }

    /// `V · Rᵀ`, or `R · Vᵀ` where left matrices lie column by column; summed over those that share one.
    fn pull_left(
        &mut self,
        product: Product,
        left: VarId,
        right: VarId,
        v: VarId,
    ) -> Result<VarId> {
        let (n, rows) = product.extents(self.size(left), self.size(right));
        let [depth, columns] = [product.depth, product.columns].map(u64::from);
        let (is_turned, is_shared) = (product.right.is_turned(), product.right.is_shared());
        let part = if product.left.is_turned() {
            let own = Factor::new(is_turned, is_shared);
            let product = product.of(columns, rows, own, Factor::new(true, false));
            self.product(product, &[right, v])?
        } else {
            let other = Factor::new(!is_turned, is_shared);
            let product = product.of(columns, depth, Factor::new(false, false), other);
            self.product(product, &[v, right])?
        };
        if product.left.is_shared() { self.sum_of_matrices(part, n) } else { Ok(part) }
    }

    /// `Lᵀ · V`, or its transpose where right matrices lie column by column.
    fn pull_right(
        &mut self,
        product: Product,
        left: VarId,
        right: VarId,
        v: VarId,
    ) -> Result<VarId> {
        let (n, rows) = product.extents(self.size(left), self.size(right));
        let [depth, columns] = [product.depth, product.columns].map(u64::from);
        let (is_turned, is_shared) = (product.left.is_turned(), product.left.is_shared());
        // One left matrix for many is no tall one where columns go first.
        if product.right.is_turned() && (n == 1 || !is_shared) {
            let other = Factor::new(is_turned, is_shared);
            let product = product.of(rows, depth, Factor::new(true, false), other);
            return self.product(product, &[v, left]);
        }
        let own = Factor::new(!is_turned, is_shared);
        let transposed = product.of(rows, columns, own, Factor::new(false, false));
        let part = self.product(transposed, &[left, v])?;
        if product.right.is_turned() { self.turned(part, depth, columns) } else { Ok(part) }
    }

    fn sum_of_matrices(&mut self, x: VarId, n: u64) -> Result<VarId> {
        if n == 1 {
            return Ok(x);
        }
        let entries = self.size(x) / n;
        self.along(ReduceOp::Sum, x, n, entries)
    }

    /// The tangent of a product: that of the left factor times the right one, and the other way round.
    pub(super) fn push_product(
        &mut self,
        tangents: &Of<VarId>,
        product: Product,
        x: &Operands,
    ) -> Result<Option<VarId>> {
        let mut sum = None;
        for (left, right) in [(true, false), (false, true)] {
            let half = x.len() / 2;
            let is_moved = |i: usize| if i < half { left } else { right };
            if !(0..x.len()).any(|i| is_moved(i) && tangents.contains_key(&x[i])) {
                continue;
            }
            let mut operands = Operands::new();
            for (i, &operand) in x.iter().enumerate() {
                operands.push(match tangents.get(&operand) {
                    _ if !is_moved(i) => operand,
                    Some(&tangent) => tangent,
                    None => self.zeros_like(operand),
                });
            }
            let part = self.product(product, &operands)?;
            sum = Some(self.added(sum, part)?);
        }
        Ok(sum)
    }
}
