//! What goes across lanes: gathers, scatters, reductions, primitives.
//!
//! Most of these are linear: tangents take the same way as values, cotangents the opposite one.

use smallvec::SmallVec;

use super::reverse::Cotangents;
use super::{Of, Recorder};
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp, ScatterOp, Writer};
use crate::ir::primitive::{Along, Primitive, Turned};
use crate::ir::var::{Kind, VarId};

/// Operands of one variable.
pub(super) type Operands = SmallVec<[VarId; 4]>;

impl Recorder<'_> {
    /// Passes the cotangent `v` of a variable to its operands.
    pub(super) fn pull_across(
        &mut self,
        cotangents: &mut Cotangents,
        id: VarId,
        v: VarId,
    ) -> Result<()> {
        let x = self.var(id).made_of();
        match self.var(id).made_by() {
            Kind::Gather { .. } => {
                if !cotangents.wants(x[0]) {
                    return Ok(());
                }
                if let Some(first) = self.first_of_run(id, &x) {
                    let part = self.laid_from(first, v, self.size(x[0]))?;
                    return self.pass(cotangents, x[0], part);
                }
                if let Some(part) = self.pull_repeated(id, &x, v)? {
                    return self.pass(cotangents, x[0], part);
                }
                // Onto what there is: in the body of a loop it is the array that collects them.
                let before = cotangents.take(x[0]);
                let before = match before {
                    Some(before) => self.fitting(before, self.size(x[0]))?,
                    None => self.zeros_like(x[0]),
                };
                let sums = self.add_at(before, v, x[1], x.get(2).copied())?;
                self.mean_access(id, sums);
                cotangents.put(x[0], sums);
                Ok(())
            }
            Kind::Scatter { op, mode, .. } => {
                let parts = match op {
                    ScatterOp::Add => [v, self.pick(v, x[2], x.get(3).copied())?],
                    ScatterOp::Set => self.pull_set(&x, mode, v)?,
                    _ => self.pull_extreme_at(id, &x, v)?,
                };
                // What came from behind is no access of this one.
                parts
                    .into_iter()
                    .filter(|part| *part != v)
                    .for_each(|part| self.mean_access(id, part));
                self.pass(cotangents, x[0], parts[0])?;
                self.pass_within(cotangents, x[1], parts[1], x.get(3).copied())
            }
            Kind::Reduce(op) => {
                let part = self.times_slope_of_reduction(op, id, x[0], v)?;
                self.pass(cotangents, x[0], part)
            }
            Kind::Primitive(Primitive::Product(product)) => {
                self.pull_product(cotangents, product, &x, v)
            }
            Kind::Primitive(Primitive::Along(along)) if along.is_weighted => {
                if cotangents.wants(x[0]) {
                    let lanes = self.spread(v, along, self.size(x[0]))?;
                    let factors = self.repeated(x[1], along, self.size(x[0]))?;
                    let part = self.same(Op::Mul, &[lanes, factors])?;
                    self.pass(cotangents, x[0], part)?;
                }
                if cotangents.wants(x[1]) {
                    let part = self.pull_factors(along, x[0], v)?;
                    self.pass(cotangents, x[1], part)?;
                }
                Ok(())
            }
            Kind::Primitive(primitive) => {
                let part = self.pull_primitive(primitive, id, x[0], v)?;
                self.pass(cotangents, x[0], part)
            }
            _ => Err(self.no_derivative(id)),
        }
    }

    /// The first lane that a gather reads, if it reads lane after lane, and half of them or more: of fewer, sums by index
    /// are less work.
    fn first_of_run(&self, id: VarId, x: &Operands) -> Option<u64> {
        let &[source, index] = &x[..] else { return None };
        let (n, size) = (self.size(id), self.size(source));
        let is_whole = self.var(id).scope == 0 && self.size(index) == n;
        let first = self.table.first_of_run(index).filter(|_| is_whole)?;
        let fits = first.checked_add(n).is_some_and(|end| end <= size);
        (fits && n > 1 && n >= size / 2).then_some(first)
    }

    /// The lanes of `v` from one place on among so many, the others 0.
    fn laid_from(&mut self, first: u64, v: VarId, size: u64) -> Result<VarId> {
        let lane = self.lane_numbers(size);
        let [first, n] = [first, self.size(v)].map(|n| self.constant(self.dtype(lane), n));
        let place = self.same(Op::Sub, &[lane, first])?;
        let is_there = self.same(Op::Lt, &[place, n])?;
        let lanes = self.pick(v, place, Some(is_there))?;
        let zero = self.constant(self.dtype(v), 0);
        self.select(is_there, lanes, zero)
    }

    fn pull_primitive(
        &mut self,
        primitive: Primitive,
        id: VarId,
        x: VarId,
        v: VarId,
    ) -> Result<VarId> {
        match primitive {
            Primitive::Prefix(ReduceOp::Sum) => self.prefix_sum_reverse(v),
            Primitive::Prefix(ReduceOp::Prod) => self.pull_prefix_product(id, x, v),
            Primitive::Sort(sorting) => {
                let places = self.sorted_places(x, sorting)?;
                let zeros = self.zeros_like(x);
                self.add_at(zeros, v, places, None)
            }
            Primitive::Turned(Turned { rows, columns }) => self.turned(v, columns, rows),
            Primitive::Along(along) => self.times_slope_along(along, id, x, v),
            Primitive::BlockSums(extent) => {
                let blocks = Along { op: ReduceOp::Sum, extent, inner: 1, is_weighted: false };
                self.times_slope_along(blocks, id, x, v)
            }
            Primitive::Prefix(_)
            | Primitive::ChunkTotals(_)
            | Primitive::SortIndex(_)
            | Primitive::Run(_)
            | Primitive::Merge(_)
            | Primitive::TrueLanes
            | Primitive::Increments
            | Primitive::Exchanges
            | Primitive::CountByOwner
            | Primitive::ByOwner
            | Primitive::Place(_)
            | Primitive::Windows(_)
            | Primitive::Product(_) => Err(self.no_derivative(id)),
        }
    }

    /// Has errors of the indices of a derivative name what is differentiated.
    fn mean_access(&mut self, of: VarId, derivative: VarId) {
        let is_access =
            |id| matches!(self.var(id).kind, Kind::Gather { .. } | Kind::Scatter { .. });
        if of != derivative && is_access(derivative) {
            let name = self.var(of).kind.name();
            self.table.mean_access(derivative, name);
        }
    }

    /// The tangent of a variable from those of its operands.
    pub(super) fn push_across(&mut self, tangents: &Of<VarId>, id: VarId) -> Result<Option<VarId>> {
        let x = self.var(id).made_of();
        let of = |operand: VarId| tangents.get(&operand).copied();
        let some_of = |recorder: &mut Self, operand: VarId| {
            of(operand).unwrap_or_else(|| recorder.zeros_like(operand))
        };
        let tangent = match self.var(id).made_by() {
            Kind::Gather { .. } => {
                let Some(tangent) = of(x[0]) else { return Ok(None) };
                self.pick(tangent, x[1], x.get(2).copied())?
            }
            Kind::Scatter { op, mode, .. } => {
                let target = some_of(self, x[0]);
                let value = some_of(self, x[1]);
                match op {
                    ScatterOp::Add | ScatterOp::Set => {
                        let operands = [target, value, x[2]];
                        self.write(op, mode, Writer::Scatter, operands, x.get(3).copied())?
                    }
                    _ => self.push_extreme_at(id, &x, [target, value])?,
                }
            }
            Kind::Reduce(op) => {
                let Some(tangent) = of(x[0]) else { return Ok(None) };
                let parts = self.times_slope_of_reduction(op, id, x[0], tangent)?;
                self.reduce(ReduceOp::Sum, parts)?
            }
            Kind::Primitive(Primitive::Product(product)) => {
                return self.push_product(tangents, product, &x);
            }
            Kind::Primitive(Primitive::Along(along)) if along.is_weighted => {
                let (lanes, factors) = (some_of(self, x[0]), some_of(self, x[1]));
                let one = self.weighted_sums(lanes, x[1], along.inner)?;
                let other = self.weighted_sums(x[0], factors, along.inner)?;
                self.same(Op::Add, &[one, other])?
            }
            Kind::Primitive(primitive) => {
                let Some(tangent) = of(x[0]) else { return Ok(None) };
                self.push_primitive(primitive, id, x[0], tangent)?
            }
            _ => return Err(self.no_derivative(id)),
        };
        Ok(Some(tangent))
    }

    fn push_primitive(
        &mut self,
        primitive: Primitive,
        id: VarId,
        x: VarId,
        t: VarId,
    ) -> Result<VarId> {
        match primitive {
            Primitive::Prefix(ReduceOp::Sum) => self.prefix_sum(t),
            Primitive::Prefix(ReduceOp::Prod) => self.push_prefix_product(x, t),
            Primitive::Sort(sorting) => {
                let places = self.sorted_places(x, sorting)?;
                self.pick(t, places, None)
            }
            Primitive::Turned(Turned { rows, columns }) => self.turned(t, rows, columns),
            Primitive::Along(along) => {
                let parts = self.times_slope_along(along, id, x, t)?;
                self.along(ReduceOp::Sum, parts, along.extent, along.inner)
            }
            Primitive::BlockSums(extent) => self.sums_of_blocks(t, extent),
            Primitive::Prefix(_)
            | Primitive::ChunkTotals(_)
            | Primitive::SortIndex(_)
            | Primitive::Run(_)
            | Primitive::Merge(_)
            | Primitive::TrueLanes
            | Primitive::Increments
            | Primitive::Exchanges
            | Primitive::CountByOwner
            | Primitive::ByOwner
            | Primitive::Place(_)
            | Primitive::Windows(_)
            | Primitive::Product(_) => Err(self.no_derivative(id)),
        }
    }
}
