//! Products of matrices (S26).

use super::rearrange::alike;
use super::reduce::FEW;
use super::{Parts, Shape, Tensor};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::ReduceOp;
use crate::ir::primitive::{Factor, Part, Product};

/// What to do with factors that do not fit.
const TURN: &str =
    "columns of the left one are as many as rows of the right one; a.T turns a matrix";
/// The same where the right one would fit if it were turned, and where it is many matrices.
const TURN_RIGHT: [&str; 2] = [
    "columns of the left one are as many as rows of the right one: write a @ b.T or a @ b.H",
    "columns of the left one are as many as rows of the right one: write a @ b.H, which turns each",
];

/// Entries of a matrix up to which a product with a vector is a launch of its own: what is computed with the next product is
/// computed again for each of its entries, and to record and plan it takes longer than to launch it.
const SMALL: u64 = 256;

impl Tensor {
    /// The product of matrices, which are the last two axes; the axes before them broadcast. A tensor of one axis is a row
    /// on the left, a column on the right, whose axis goes away; its products are added in the order of [`Array::hsum`].
    /// Recorded, not run.
    ///
    /// **Accuracy**: fma in one order on every device; f16 in f32, rounded once; integers wrap. Where the flag
    /// `tensor_cores` is set and the device is a GPU, that of cuBLAS.
    ///
    /// # Errors
    /// `Forms`, naming both shapes, if they do not fit; `UnsupportedType` for masks; `TypeMismatch`.
    pub fn matmul(&self, other: &Self) -> Result<Self> {
        if let Some(product) = self.by_plain(other)? {
            return Ok(product);
        }
        let op = "matmul";
        let ranks = [self, other].map(|factor| factor.shape().rank());
        if ranks.contains(&0) {
            let what = format!("{op}: got shapes {} and {}", self.shape(), other.shape());
            return Err(Error::Forms { what, remedy: Some("with numbers write a * b") });
        }
        for factor in [self, other] {
            if factor.dtype() == DType::Mask {
                return Err(Error::UnsupportedType { op, dtype: DType::Mask, expected: "numbers" });
            }
        }
        let depths =
            [self.shape().extents()[ranks[0] - 1], other.shape().extents()[ranks[1].max(2) - 2]];
        if depths[0] != depths[1] {
            let shapes = [self, other].map(extents);
            let what = format!(
                "{op}: inner dimensions differ: {} · {} ({} ≠ {})",
                shapes[0], shapes[1], depths[0], depths[1]
            );
            let fits_turned = ranks[1] > 1 && other.shape().extents()[ranks[1] - 1] == depths[0];
            let remedy =
                Some(if fits_turned { TURN_RIGHT[usize::from(ranks[1] > 2)] } else { TURN });
            return Err(Error::Forms { what, remedy });
        }
        let factors = alike(op, &[self, other])?;
        let [left, right] = [&*factors[0], &*factors[1]];
        if ranks.contains(&1) { left.by_vector(right) } else { left.by_matrices(right) }
    }

    /// The product of two matrices of one type that lie in memory row by row, as most do; `None` for others.
    fn by_plain(&self, other: &Self) -> Result<Option<Self>> {
        let (Some([rows, depth]), Some([other_depth, columns])) = (self.plain(), other.plain())
        else {
            return Ok(None);
        };
        let dtype = self.dtype();
        let is_alike = dtype == other.dtype() && self.parts.len() == other.parts.len();
        let [small_depth, small_columns] = [depth, columns].map(u32::try_from);
        let (Ok(small_depth), Ok(small_columns), true) = (small_depth, small_columns, is_alike)
        else {
            return Ok(None);
        };
        if depth != other_depth || dtype == DType::Mask || [rows, depth, columns].contains(&0) {
            return Ok(None);
        }
        let session = self.parts[0].session();
        let factor = Factor::new(false, true);
        let product = |part: Part| Product {
            depth: small_depth,
            columns: small_columns,
            left: factor,
            right: factor,
            part,
            on_tensor_cores: false,
        };
        let parts: &[Part] =
            if self.is_complex() { &[Part::Real, Part::Imag] } else { &[Part::Whole] };
        if parts.len() == 1 && session.uses_tensor_cores(dtype)? {
            return Ok(None);
        }
        let operands: Vec<&Array> = self.parts.iter().chain(&other.parts).collect();
        let parts = session.products(parts.iter().map(|&part| product(part)), &operands)?;
        Self::of(parts, Shape::new("matmul", [rows, columns])?).map(Some)
    }

    /// Rows and columns of a matrix that lies in memory row by row.
    fn plain(&self) -> Option<[u64; 2]> {
        let extents = <[u64; 2]>::try_from(self.shape().extents()).ok()?;
        (self.view.is_turned(self.parts[0].size()) == Some(false)).then_some(extents)
    }

    /// A product one of whose factors has one axis.
    fn by_vector(&self, other: &Self) -> Result<Self> {
        if let Some(product) = self.by_lying_vector(other)? {
            return Ok(product);
        }
        let product = || self.by_entries(other);
        self.by_followed_vector(other, product)?.map_or_else(product, Ok)
    }

    /// The same by all its products.
    fn by_entries(&self, other: &Self) -> Result<Self> {
        let op = "matmul";
        let right =
            if other.shape().rank() == 1 { other.clone() } else { other.matrix_transpose()? };
        let shape = self.shape().broadcast(op, right.shape())?;
        let [left, right] =
            [self.broadcast(op, &shape)?.entries()?, right.broadcast(op, &shape)?.entries()?];
        Self::of(products(&left, &right)?, shape)?.reduce(ReduceOp::Sum, Some(&[-1]), false)
    }

    /// The product of lanes of 32 or 64 bits where the matrices lie in memory, row by row or column by column: each is read
    /// once, where it lies. `None` of others, and of few products for each of many sums, which are computed with what is
    /// around.
    fn by_lying_vector(&self, other: &Self) -> Result<Option<Self>> {
        let is_left = other.shape().rank() == 1;
        let (matrix, vector) = if is_left { (self, other) } else { (other, self) };
        let [lanes] = &matrix.parts[..] else { return Ok(None) };
        let rank = matrix.shape().rank();
        // Narrow ones are added in wider types.
        let dtype = lanes.dtype();
        let is_wide = dtype.widened() == dtype && dtype != DType::Mask;
        let is_vector = vector.shape().rank() == 1;
        let is_worth = vector.shape().n_entries() > FEW
            || matrix.shape().n_entries() <= SMALL
            || is_left && rank > 1 && matrix.has_lines_in_memory(rank - 1);
        let is_inside = lanes.is_recorded() || vector.parts[0].is_recorded();
        if !is_vector || !is_worth || rank < 2 || !is_wide || lanes.size() == 0 || is_inside {
            return Ok(None);
        }
        // The axis that goes away, and the other one of the matrices.
        let (axis, other) = if is_left { (rank - 1, rank - 2) } else { (rank - 2, rank - 1) };
        let Some(is_turned) = matrix.view.is_turned(lanes.size()) else {
            return matrix.windows_by(axis, &vector.entries()?[0]);
        };
        let mut extents = matrix.shape().extents().to_vec();
        let beside = extents[other];
        extents.remove(axis);
        let inner = if is_left != is_turned { 1 } else { beside };
        let session = lanes.session();
        let factors = vector.entries()?;
        let ids = session.ids("matmul", &[lanes, &factors[0]])?;
        let sums = session.record(|recorder| recorder.weighted_sums(ids[0], ids[1], inner))?;
        Self::of([sums], Shape::new("matmul", extents)?).map(Some)
    }

    /// The products of windows along an axis with a vector, if they are windows that are read where they lie.
    fn windows_by(&self, axis: usize, vector: &Array) -> Result<Option<Self>> {
        if vector.is_followed() {
            return Ok(None);
        }
        let Some((lying, starts)) = self.windows_in_memory("matmul", axis)? else {
            return Ok(None);
        };
        lying.along_windows(ReduceOp::Sum, axis, &starts, Some(vector))?.squeezed(axis).map(Some)
    }

    fn by_matrices(&self, other: &Self) -> Result<Self> {
        let op = "matmul";
        let of = |tensor: &Self| {
            let (before, matrix) = tensor.shape().extents().split_at(tensor.shape().rank() - 2);
            (before.to_vec(), [matrix[0], matrix[1]])
        };
        let ((left_before, [rows, depth]), (right_before, [_, columns])) = (of(self), of(other));
        let whole = [self.shape(), other.shape()];
        let right_before = Shape::new(op, right_before)?;
        let before = Shape::new(op, left_before)?.broadcast_in_front(op, &right_before, whole)?;
        let with = |matrix: [u64; 2]| Shape::new(op, [before.extents(), &matrix].concat());
        let shape = with([rows, columns])?;
        let dtype = self.dtype();
        let session = self.parts[0].session();
        if shape.n_entries() == 0 || depth == 0 {
            let zero =
                session.zeros(dtype, 1)?.of_nothing(&self.parts)?.of_nothing(&other.parts)?;
            return Self::of(vec![zero; self.parts.len()], shape);
        }
        let [small_depth, small_columns] = [depth, columns].map(u32::try_from);
        let (Ok(small_depth), Ok(small_columns)) = (small_depth, small_columns) else {
            let what = format!(
                "{op}: {rows}x{depth} · {depth}x{columns} has too long an axis (at most 2^32 - 1)"
            );
            return Err(Error::forms(what));
        };
        let mut left = Lying::new(self, &before, &with([rows, depth])?)?;
        let right = Lying::new(other, &before, &with([depth, columns])?)?;
        let on_tensor_cores = !self.is_complex() && session.uses_tensor_cores(dtype)?;
        // Rows of many matrices by one are rows of one matrix.
        if right.is_shared && !left.is_shared {
            if let Some(product) = left.turned_times_one(&right, small_depth, rows) {
                let product = Product { on_tensor_cores, ..product };
                let operands = [&right.lanes[0], &left.lanes[0]];
                let turned = session.products([product], &operands)?;
                return Self::of(turned, with([columns, rows])?)?.matrix_transpose();
            }
            left = left.row_by_row(self)?;
            left.is_shared = true;
        }
        let product = |part: Part| Product {
            depth: small_depth,
            columns: small_columns,
            left: left.factor(),
            right: right.factor(),
            part,
            on_tensor_cores,
        };
        let operands: Vec<&Array> = left.lanes.iter().chain(&right.lanes).collect();
        let parts: &[Part] =
            if self.is_complex() { &[Part::Real, Part::Imag] } else { &[Part::Whole] };
        let parts = session.products(parts.iter().map(|&part| product(part)), &operands)?;
        Self::of(parts, shape)
    }

    /// The sum of the products of entries, the second conjugated if `conjugates_second`, else the first; in the order of
    /// [`Array::hsum`].
    ///
    /// # Errors
    /// `Forms`, naming both shapes, if they are not equal.
    pub fn inner(&self, other: &Self, conjugates_second: bool) -> Result<Self> {
        let op = if conjugates_second { "inp" } else { "vdot" };
        if self.shape() != other.shape() {
            let what = format!("{op}: shapes {} and {} differ", self.shape(), other.shape());
            return Err(Error::forms(what));
        }
        let pair = if conjugates_second {
            [self.clone(), other.conjugate()?]
        } else {
            [self.conjugate()?, other.clone()]
        };
        let [left, right] = [pair[0].reshape(&[-1])?, pair[1].reshape(&[-1])?];
        left.matmul(&right)
    }
}

/// The products of entries, real or complex ones.
pub(super) fn products(left: &[Array], right: &[Array]) -> Result<Vec<Array>> {
    products_by(left, right, |a, b| a.try_mul(b))
}

/// The same where `times` multiplies real ones.
pub(super) fn products_by(
    left: &[Array],
    right: &[Array],
    times: impl Fn(&Array, &Array) -> Result<Array>,
) -> Result<Vec<Array>> {
    Ok(match (left, right) {
        ([a], [b]) => vec![times(a, b)?],
        ([ar, ai], [br, bi]) => {
            vec![times(ar, br)?.try_sub(&times(ai, bi)?)?, times(ar, bi)?.try_add(&times(ai, br)?)?]
        }
        _ => unreachable!("internal error: factors of two kinds"),
    })
}

/// The extents of a matrix, or of what has more axes, as errors name them: `2x3`, or `(3x2)ᵀ` of one that was turned.
fn extents(factor: &Tensor) -> String {
    let mut extents: Vec<String> =
        factor.shape().extents().iter().map(ToString::to_string).collect();
    let n_lanes = factor.parts[0].size();
    if extents.len() != 2 || factor.view.is_turned(n_lanes) != Some(true) {
        return extents.join("x");
    }
    extents.reverse();
    format!("({})ᵀ", extents.join("x"))
}

/// How a factor lies in memory.
struct Lying {
    lanes: Parts,
    is_turned: bool,
    is_shared: bool,
}

impl Lying {
    /// A factor where it lies, or its entries row by row where matrices do not lie behind each other; `shape` has the axes
    /// of all products in front.
    fn new(tensor: &Tensor, before: &Shape, shape: &Shape) -> Result<Self> {
        let own = tensor.shape().extents();
        let n_own: u64 = own[..own.len() - 2].iter().product();
        let is_shared = n_own == 1;
        if n_own == before.n_entries() || is_shared {
            let lanes = tensor.parts()[0].size();
            if let Some(is_turned) = tensor.view.is_turned(lanes) {
                return Ok(Self { lanes: tensor.parts.clone(), is_turned, is_shared });
            }
            return Ok(Self { lanes: tensor.entries()?, is_turned: false, is_shared });
        }
        let lanes = tensor.broadcast("matmul", shape)?.entries()?;
        Ok(Self { lanes, is_turned: false, is_shared: false })
    }

    /// With the entries of matrices row by row.
    fn row_by_row(self, tensor: &Tensor) -> Result<Self> {
        if !self.is_turned {
            return Ok(self);
        }
        Ok(Self { lanes: tensor.entries()?, is_turned: false, ..self })
    }

    /// The product of one matrix, turned, and many real ones that lie column by column, turned back, so that both are read
    /// where they lie: that of many by one, turned. Complex terms are added in an order that says which factor is the left
    /// one.
    fn turned_times_one(&self, one: &Self, depth: u32, rows: u64) -> Option<Product> {
        let is_real = self.lanes.len() == 1;
        Some(Product {
            depth,
            columns: u32::try_from(rows).ok().filter(|_| self.is_turned && is_real)?,
            left: Factor::new(!one.is_turned, true),
            right: Factor::new(false, false),
            part: Part::Whole,
            on_tensor_cores: false,
        })
    }

    fn factor(&self) -> Factor {
        Factor::new(self.is_turned, self.is_shared)
    }
}
