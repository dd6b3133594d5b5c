//! Recording of primitives: prefix sums and the like, sorts, true lanes, counting (S11).

use super::Recorder;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Class, Op, ReduceOp, ScatterMode, ScatterOp, Writer};
use crate::ir::primitive::{
    Along, Lines, Order, Primitive, Product, Sorting, Turned, Windows, lane_number_type,
};
use crate::ir::var::{Kind, VarId, Variable};

impl Recorder<'_> {
    /// Prefix sums: lane i is the sum of lanes 0 to i, in the order of S11; f16 accumulates in f32.
    ///
    /// **Dtypes**: [`DType::accumulated`]; integers wrap. **Evaluation**: traced; a launch of its own.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn prefix_sum(&mut self, x: VarId) -> Result<VarId> {
        self.prefix(ReduceOp::Sum, x)
    }

    /// Lanes 0 to i combined, as [`Recorder::prefix_sum`]: sums, products, the least or the largest.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn prefix(&mut self, op: ReduceOp, x: VarId) -> Result<VarId> {
        let dtype = self.dtype(x).accumulated();
        let x = self.cast(x, dtype)?;
        if self.size(x) <= 1 {
            return Ok(x);
        }
        if dtype.is_half() {
            return self.in_single(x, |recorder, x| recorder.prefix(op, x));
        }
        self.primitive(Primitive::Prefix(op), dtype, self.size(x), &[x])
    }

    /// Prefix sums of the lanes before each: lane 0 is 0, lane i the inclusive sum of lane i − 1.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn prefix_sum_exclusive(&mut self, x: VarId) -> Result<VarId> {
        let (dtype, size) = (self.dtype(x).accumulated(), self.size(x));
        if size <= 1 {
            return Ok(self.literal(dtype, 0, size));
        }
        let sums = self.prefix_sum(x)?;
        let lane = self.lane_numbers(size);
        let one = self.constant(self.dtype(lane), 1);
        let before = self.same(Op::Sub, &[lane, one])?;
        let behind_first = self.same(Op::Ge, &[lane, one])?;
        self.pick(sums, before, Some(behind_first))
    }

    /// Sums of each lane and all behind it, from the last on.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn prefix_sum_reverse(&mut self, x: VarId) -> Result<VarId> {
        let turned = self.reverse(x)?;
        let sums = self.prefix_sum(turned)?;
        self.reverse(sums)
    }

    /// The lanes in order; −0 is below +0, every NaN comes last either way.
    ///
    /// **Evaluation**: traced; a launch of its own.
    ///
    /// # Errors
    /// None at present.
    pub fn sort(&mut self, x: VarId, order: Order) -> Result<VarId> {
        let extent = self.size(x);
        self.sort_rows(x, Sorting { order, extent })
    }

    /// The lane numbers that sort `x` as [`Recorder::sort`] does, those of equal lanes ascending: u32, or
    /// u64 beyond 2³² lanes.
    ///
    /// # Errors
    /// None at present.
    pub fn sort_index(&mut self, x: VarId, order: Order) -> Result<VarId> {
        let extent = self.size(x);
        self.sort_index_rows(x, Sorting { order, extent })
    }

    /// The lanes of each row in order, as [`Recorder::sort`]; `x` is whole rows.
    ///
    /// # Errors
    /// None at present.
    pub fn sort_rows(&mut self, x: VarId, sorting: Sorting) -> Result<VarId> {
        let (dtype, size) = (self.dtype(x), self.size(x));
        if size.min(sorting.extent) <= 1 || self.var(x).kind.number().is_some() {
            return Ok(x);
        }
        self.primitive(Primitive::Sort(sorting), dtype, size, &[x])
    }

    /// The numbers within its row of the lanes that sort each row, as [`Recorder::sort_index`]; `x` is whole rows.
    ///
    /// # Errors
    /// None at present.
    pub fn sort_index_rows(&mut self, x: VarId, sorting: Sorting) -> Result<VarId> {
        let size = self.size(x);
        let dtype = lane_number_type(size);
        if size.min(sorting.extent) <= 1 || self.var(x).kind.number().is_some() {
            let (lanes, extent) = (self.lane_numbers(size), sorting.extent.max(1));
            let extent = self.literal(dtype, extent, 1);
            return if size <= 1 { Ok(lanes) } else { self.same(Op::Rem, &[lanes, extent]) };
        }
        self.primitive(Primitive::SortIndex(sorting), dtype, size, &[x])
    }

    /// The lane numbers that sort each row, as [`Recorder::sort_index_rows`] but of all lanes.
    ///
    /// # Errors
    /// None at present.
    pub(super) fn sorted_places(&mut self, x: VarId, sorting: Sorting) -> Result<VarId> {
        let (within, size) = (self.sort_index_rows(x, sorting)?, self.size(x));
        if sorting.extent >= size {
            return Ok(within);
        }
        let (lanes, extent) = (self.lane_numbers(size), sorting.extent);
        let extent = self.literal(lane_number_type(size), extent, 1);
        let within_row = self.same(Op::Rem, &[lanes, extent])?;
        let first = self.same(Op::Sub, &[lanes, within_row])?;
        self.same(Op::Add, &[first, within])
    }

    /// The numbers of the true lanes of a mask, of which there are `n_true`.
    ///
    /// # Errors
    /// `UnsupportedType` if `mask` is none.
    pub fn true_lanes(&mut self, mask: VarId, n_true: u64) -> Result<VarId> {
        let dtype = self.dtype(mask);
        if dtype != DType::Mask {
            return Err(Error::UnsupportedType { op: "compress", dtype, expected: "a mask" });
        }
        let dtype = lane_number_type(self.size(mask));
        if n_true == self.size(mask) {
            return Ok(self.lane_numbers(n_true));
        }
        self.primitive(Primitive::TrueLanes, dtype, n_true, &[mask])
    }

    /// For lane i, `target[index[i]]` once each active lane before it has added 1 to its element, with
    /// equal indices consecutive numbers in lane order, 0 where inactive or out of bounds; and the target after
    /// that.
    ///
    /// # Errors
    /// `UnsupportedType` unless the target holds integers, the index too, and `active` is a mask;
    /// `SizeMismatch`; `NotState` in a body for what is no state.
    pub fn scatter_inc(
        &mut self,
        target: VarId,
        index: VarId,
        active: Option<VarId>,
    ) -> Result<[VarId; 2]> {
        let op = "scatter_inc";
        self.require(op, Class::Int, target)?;
        let limited = self.masked(active)?;
        let size = self.check_access(op, index, limited, None)?;
        self.check_target(op, target, size)?;
        let dtype = self.dtype(target);
        if !self.is_memory_of_region(target) {
            let found = self.increments(target, index, active)?;
            // An index of one lane adds once for each lane of the mask.
            let index = self.widen(index, size)?;
            let one = self.one(dtype);
            let (add, mode) = (ScatterOp::Add, ScatterMode::Fast);
            let next = self.write(add, mode, Writer::Increment, [target, one, index], active)?;
            return Ok([found, next]);
        }
        let operands = [Some(target), Some(index), limited, None];
        let found = self.add(Variable::new(Kind::Fetch, dtype, size, operands));
        // The value makes sure that the lane writes behind its look.
        let one = self.one(dtype);
        let next = self.same(Op::Add, &[found, one])?;
        let (set, mode) = (ScatterOp::Set, ScatterMode::Fast);
        Ok([found, self.write(set, mode, Writer::Increment, [target, next, index], active)?])
    }

    /// Records the result of [`Recorder::scatter_inc`] outside of regions.
    ///
    /// # Errors
    /// `SizeMismatch`; `Recording` for values of a body.
    pub fn increments(
        &mut self,
        target: VarId,
        index: VarId,
        active: Option<VarId>,
    ) -> Result<VarId> {
        let active = self.masked(active)?;
        let size = self.check_access("scatter_inc", index, active, None)?;
        // Sign extension makes negative indices huge.
        let index = self.cast(index, DType::U64)?;
        let operands: Vec<VarId> = [target, index].into_iter().chain(active).collect();
        self.primitive(Primitive::Increments, self.dtype(target), size, &operands)
    }

    /// What each lane finds at `target[index[i]]`, where each active lane before it has put its value, in lane order;
    /// 0 where inactive or out of bounds. If there is a `compare`, lanes put their values only where they find that,
    /// bit by bit, every NaN being the same; and the second result are those that did. The last result is the target
    /// after that.
    ///
    /// # Errors
    /// As [`Recorder::scatter`]; `NotState` in a body for what is no state.
    pub fn exchange(
        &mut self,
        target: VarId,
        compare: Option<VarId>,
        value: VarId,
        index: VarId,
        active: Option<VarId>,
    ) -> Result<Vec<VarId>> {
        let writer = compare.map_or(Writer::Exchange, |_| Writer::CompareExchange);
        let (set, dtype) = (ScatterOp::Set, self.dtype(target));
        let op = set.function(writer);
        let value = self.writable(op, value, dtype)?;
        let compare = compare.map(|compare| self.writable(op, compare, dtype)).transpose()?;
        let limited = self.masked(active)?;
        let size = self.check_access(op, index, limited, Some(value))?;
        let compared = compare.map_or(1, |compare| self.size(compare));
        let size = super::broadcast_size(op, size, compared)?;
        self.check_target(op, target, size)?;
        let in_region = self.is_memory_of_region(target);
        // Sign extension makes negative indices huge.
        let mut place = self.cast(index, DType::U64)?;
        if let Some(active) = limited {
            let nowhere = self.constant(DType::U64, u64::MAX);
            place = self.select(active, place, nowhere)?;
        }
        let found = if in_region {
            let operands = [Some(target), Some(index), limited, None];
            self.add(Variable::new(Kind::Fetch, dtype, size, operands))
        } else {
            let mut operands = vec![target, place, value];
            operands.extend(compare);
            if compare.is_some() {
                operands = self.all_bits(&operands)?;
            }
            let stored = self.dtype(operands[0]);
            let found = self.primitive(Primitive::Exchanges, stored, size, &operands)?;
            if stored == dtype { found } else { self.reinterpret(found, dtype)? }
        };
        let mut results = vec![found];
        let next = if let Some(compare) = compare {
            let bits = self.all_bits(&[found, compare])?;
            let differ = self.same(Op::Xor, &bits)?;
            let same = if dtype == DType::Mask {
                self.same(Op::Not, &[differ])?
            } else {
                let zero = self.constant(self.dtype(differ), 0);
                self.same(Op::Eq, &[differ, zero])?
            };
            let end = self.literal(DType::U64, self.size(target), 1);
            let inside = self.same(Op::Lt, &[place, end])?;
            let swaps = self.same(Op::And, &[same, inside])?;
            results.push(swaps);
            self.select(swaps, value, found)?
        } else if in_region {
            // The value of a choice that looks at what was found: the lane writes behind its look.
            let all = self.literal(DType::Mask, 1, 1);
            let operands = [Some(all), Some(value), Some(found), None];
            self.add(Variable::new(Kind::Op(Op::Select), dtype, size, operands))
        } else {
            value
        };
        // What a lane does not put it leaves: so the last lane tells.
        let mode = ScatterMode::Exact;
        results.push(self.write(set, mode, writer, [target, next, index], active)?);
        Ok(results)
    }

    /// Floats as their bits, every NaN being the same.
    fn all_bits(&mut self, xs: &[VarId]) -> Result<Vec<VarId>> {
        let bits = |&x: &VarId| {
            let dtype = self.dtype(x);
            if dtype.is_float() { self.reinterpret(x, dtype.unsigned()) } else { Ok(x) }
        };
        xs.iter().map(bits).collect()
    }

    /// Products of matrices, of which there are some; operands as of [`Primitive::Product`], of one type that is no mask.
    ///
    /// **Dtypes**: those of the operands; f16 in f32, rounded once, narrow integers in 32 bits. **Evaluation**: traced; a
    /// launch of its own.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn product(&mut self, mut product: Product, operands: &[VarId]) -> Result<VarId> {
        let dtype = self.dtype(operands[0]);
        let mut operands = operands.to_vec();
        if dtype.widened() != dtype && !product.on_tensor_cores {
            let wide = operands.iter().map(|&x| self.cast(x, dtype.widened()));
            let wide = wide.collect::<Result<Vec<_>>>()?;
            let wide = self.product(product, &wide)?;
            return self.cast(wide, dtype);
        }
        if let [_, left, _, right] = &mut operands[..] {
            // A conjugate is read with other signs where it lies.
            for (imag, factor) in [(left, &mut product.left), (right, &mut product.right)] {
                let variable = self.var(*imag);
                if let (Kind::Op(Op::Neg), Some(positive)) =
                    (variable.kind, variable.operands().next())
                    && !variable.is_border()
                {
                    (*imag, *factor) = (positive, factor.conjugate());
                }
            }
        }
        let operands = &operands[..];
        let right = operands[operands.len() / 2];
        let (n, rows) = product.extents(self.size(operands[0]), self.size(right));
        let size = n * rows * u64::from(product.columns);
        self.primitive(Primitive::Product(product), dtype, size, operands)
    }

    /// Lanes `[outer, extent, inner]` combined along the middle, in the order of S11; see [`Primitive::Along`] for types.
    ///
    /// **Evaluation**: traced; a launch of its own.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn along(&mut self, op: ReduceOp, x: VarId, extent: u64, inner: u64) -> Result<VarId> {
        let primitive = Primitive::Along(Along { op, extent, inner, is_weighted: false });
        self.primitive(primitive, self.dtype(x), self.size(x) / extent, &[x])
    }

    /// Lines of so many neighbours combined in the order of S11, each from a lane on that `x` has with all of them, perhaps
    /// times factors of the same type; see [`Primitive::Windows`].
    ///
    /// **Evaluation**: traced; a launch of its own, which takes no memory for lines that share lanes.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn windows(
        &mut self,
        op: ReduceOp,
        [x, starts]: [VarId; 2],
        factors: Option<VarId>,
        extent: u64,
    ) -> Result<VarId> {
        let primitive = Primitive::Windows(Windows { op, extent, is_weighted: factors.is_some() });
        let args = [x, starts, factors.unwrap_or(starts)];
        let args = &args[..2 + usize::from(factors.is_some())];
        self.primitive(primitive, self.dtype(x), self.size(starts), args)
    }

    /// Sums of lanes `[outer, extent, inner]` along the middle, each times the factor of its place there, of the same type.
    ///
    /// **Evaluation**: traced; a launch of its own.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn weighted_sums(&mut self, x: VarId, factors: VarId, inner: u64) -> Result<VarId> {
        let extent = self.size(factors);
        let along = Along { op: ReduceOp::Sum, extent, inner, is_weighted: true };
        let size = self.size(x) / extent;
        self.primitive(Primitive::Along(along), self.dtype(x), size, &[x, factors])
    }

    /// The number along an axis of the first lane with a line's value, bit for bit; see [`Primitive::Place`].
    ///
    /// **Evaluation**: traced; a launch of its own.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn first_place(&mut self, x: VarId, values: VarId, lines: Lines) -> Result<VarId> {
        self.primitive(Primitive::Place(lines), DType::U32, self.size(values), &[x, values])
    }

    /// Sums of blocks of so many lanes, which `x` has several of: of floats of 32 or 64 bits each in the order of its lanes.
    ///
    /// **Evaluation**: traced; a launch of its own.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub(super) fn sums_of_blocks(&mut self, x: VarId, extent: u64) -> Result<VarId> {
        // Whole numbers wrap: any order gives the same bits.
        if !self.dtype(x).is_float() {
            return self.along(ReduceOp::Sum, x, extent, 1);
        }
        let primitive = Primitive::BlockSums(extent);
        self.primitive(primitive, self.dtype(x), self.size(x) / extent, &[x])
    }

    /// Matrices of so many rows and columns, one behind the other, each with rows for columns.
    ///
    /// **Evaluation**: traced; a launch of its own.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn turned(&mut self, x: VarId, rows: u64, columns: u64) -> Result<VarId> {
        let primitive = Primitive::Turned(Turned { rows, columns });
        self.primitive(primitive, self.dtype(x), self.size(x), &[x])
    }

    fn primitive(
        &mut self,
        primitive: Primitive,
        dtype: DType,
        size: u64,
        args: &[VarId],
    ) -> Result<VarId> {
        let mut operands = [None; 4];
        for (operand, &arg) in operands.iter_mut().zip(args) {
            self.whole(primitive.name(), arg)?;
            *operand = Some(arg);
        }
        Ok(self.add(Variable::new(Kind::Primitive(primitive), dtype, size, operands)))
    }

    /// Refuses lane types outside a class.
    pub(super) fn require(&self, op: &'static str, class: Class, x: VarId) -> Result<()> {
        let dtype = self.dtype(x);
        if class.contains(dtype) {
            return Ok(());
        }
        Err(Error::UnsupportedType { op, dtype, expected: class.describe() })
    }

    /// The number of each of `size` lanes.
    pub(super) fn lane_numbers(&mut self, size: u64) -> VarId {
        if size == 0 {
            return self.literal(DType::U32, 0, 0);
        }
        self.lane_index(lane_number_type(size), size)
    }

    /// A gather whose indices are known to be in bounds, or whose lanes out of bounds should be 0.
    pub(crate) fn pick(
        &mut self,
        source: VarId,
        index: VarId,
        active: Option<VarId>,
    ) -> Result<VarId> {
        // A number is the same in every lane and needs no memory.
        let (dtype, number) = (self.dtype(source), self.var(source).kind.number());
        let source = number.map_or(source, |bits| self.literal(dtype, bits, 1));
        self.gather_checked(source, index, active, None)
    }
}
