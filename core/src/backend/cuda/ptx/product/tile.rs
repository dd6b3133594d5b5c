//! What code of products computes: which entries a block, and which of them a thread.

use crate::dtype::DType;

/// Bytes of shared memory that a block may declare.
const SHARED_BYTES: u32 = 48 << 10;
/// Bytes of a vector.
pub(super) const VECTOR: u32 = 16;

/// What is computed of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parts {
    /// Real ones.
    Whole,
    /// The real part of complex ones.
    Real,
    /// The imaginary part.
    Imag,
    /// Real and imaginary part.
    Both,
}

/// The code of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Type of the entries.
    pub dtype: DType,
    /// Whether the left, and the right factor lies column by column.
    pub turned: [bool; 2],
    /// Whether their imaginary parts change their signs.
    pub conjugate: [bool; 2],
    /// Whether each begins, and goes on to the next lane along the depth and to the next matrix, by whole vectors.
    pub aligned: [bool; 2],
    /// What is computed.
    pub parts: Parts,
    /// How much a block computes.
    pub size: Size,
    /// Whether the device has matrix units that add products of doubles one after the other.
    pub matrix_units: bool,
    /// Whether blocks along y are the members of a batch, whose words of parameters lie behind each other in memory.
    pub is_batch: bool,
}

/// A term of a sum: planes of the left and of the right factor, and whether it changes its sign.
type Term = (usize, usize, bool);

impl Parts {
    /// Arrays that a factor consists of.
    pub(super) const fn n_planes(self) -> u32 {
        match self {
            Self::Whole => 1,
            Self::Real | Self::Imag | Self::Both => 2,
        }
    }

    pub(super) const fn n_results(self) -> u32 {
        match self {
            Self::Whole | Self::Real | Self::Imag => 1,
            Self::Both => 2,
        }
    }
}

impl Product {
    /// Threads of a block.
    pub fn threads(self) -> u32 {
        self.tile().threads()
    }

    /// The terms of each result, in their order.
    pub(super) fn terms(self) -> Vec<Vec<Term>> {
        let [left, right] = self.conjugate;
        let real = vec![(0, 0, false), (1, 1, left == right)];
        let imag = vec![(0, 1, right), (1, 0, left)];
        match self.parts {
            Parts::Whole => vec![vec![(0, 0, false)]],
            Parts::Real => vec![real],
            Parts::Imag => vec![imag],
            Parts::Both => vec![real, imag],
        }
    }
}

/// The sides of a tile, more or less: those of wider numbers are smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// For small matrices, of which a block computes several.
    Side4,
    /// Likewise.
    Side8,
    /// Likewise.
    Side16,
    /// For matrices of middle size.
    Side32,
    /// Where larger ones do not occupy all multiprocessors.
    Side64,
    /// The largest: it reads the least memory an entry.
    Side128,
}

/// How the work on a product is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows and columns of a tile.
    pub sides: [u32; 2],
    /// Rows and columns of a thread.
    pub(super) per: [u32; 2],
    /// Lanes along the depth that are in shared memory at once, many times.
    pub(super) depth: u32,
    /// How many times.
    pub(super) stages: u32,
    /// Matrices of a block.
    pub slots: u32,
    /// Blocks that a multiprocessor runs at once, if registers are enough for as many.
    pub(super) resident: u32,
}

impl Size {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Side4, Self::Side8, Self::Side16, Self::Side32, Self::Side64, Self::Side128];

    /// What a product by it takes, relative to the best a block can do.
    const fn dearness(self) -> u64 {
        match self {
            Self::Side128 => 10,
            Self::Side64 => 11,
            Self::Side32 => 14,
            Self::Side16 => 20,
            Self::Side8 => 40,
            Self::Side4 => 60,
        }
    }
}

impl Product {
    /// The tile of this code.
    pub fn tile(self) -> Tile {
        let (sides, per, depth, slots, resident) = match (self.size, self.weight()) {
            // Warps of 64x32, which read shared memory least, and of 32x32.
            (Size::Side128, 2) if self.is_by_matrix_units() => ([64, 64], [8, 8], 8, 1, 4),
            (Size::Side64, 2) if self.is_by_matrix_units() => ([64, 64], [4, 8], 8, 1, 3),
            (Size::Side128, _) if self.is_by_matrix_units() => ([64, 64], [4, 8], 4, 1, 2),
            (Size::Side128, 1) => ([128, 128], [8, 8], 8, 1, 2),
            // More registers a thread are better there than more threads.
            (Size::Side128 | Size::Side64, 2) => ([64, 64], [8, 4], 8, 1, 3),
            (Size::Side128, _) => ([64, 64], [4, 4], 8, 1, 2),
            (Size::Side64, 1) => ([64, 64], [8, 4], 8, 1, 4),
            (Size::Side64, _) => ([32, 64], [4, 4], 8, 1, 4),
            (Size::Side32, 1 | 2) => ([32, 32], [4, 4], 8, 1, 8),
            (Size::Side32, _) => ([32, 32], [4, 2], 8, 1, 4),
            (Size::Side16, 4) => ([16, 16], [4, 2], 8, 4, 4),
            (Size::Side16, _) => ([16, 16], [4, 4], 8, 4, 8),
            (Size::Side8, _) => ([8, 8], [2, 2], 8, 8, 4),
            (Size::Side4, _) => ([4, 4], [2, 2], 4, 16, 8),
        };
        let tile = Tile { sides, per, depth, stages: 4, slots, resident };
        let fits = slots == 1 && 4 * self.stage_bytes(tile) <= SHARED_BYTES;
        Tile { stages: if fits { 4 } else { 2 }, ..tile }
    }

    /// Whether matrix units compute the sums: of large tiles.
    pub(super) const fn is_by_matrix_units(self) -> bool {
        let is_large =
            matches!((self.size, self.parts), (Size::Side128, _) | (Size::Side64, Parts::Whole));
        self.matrix_units && matches!(self.dtype, DType::F64) && is_large
    }

    /// Whether a block has so few warps that only many blocks beside each other keep a multiprocessor busy.
    const fn has_few_warps(self) -> bool {
        self.is_by_matrix_units()
            && matches!((self.size, self.parts), (Size::Side128, Parts::Whole))
    }

    /// Words of 32 bits of an entry of a factor.
    const fn weight(self) -> u32 {
        self.dtype.bits() / 32 * self.parts.n_planes()
    }

    /// What a thread reads of a row or column at once.
    pub(super) fn vector(self, per: u32) -> u32 {
        per.min(VECTOR * 8 / self.dtype.bits())
    }

    /// Bytes from a lane along the depth to the next in shared memory: a vector more than a side, so that neither way of
    /// writing meets the same banks; two where matrix units read four such lanes at once.
    pub(super) const fn pitch(self, side: u32) -> u32 {
        let more = if self.is_by_matrix_units() { 2 * VECTOR } else { VECTOR };
        side * self.dtype.bits() / 8 + more
    }

    /// Bytes of what is in shared memory of one matrix at once.
    pub(super) const fn slot_bytes(self, tile: Tile) -> u32 {
        let [rows, columns] = tile.sides;
        self.parts.n_planes() * tile.depth * (self.pitch(rows) + self.pitch(columns))
    }

    pub(super) const fn stage_bytes(self, tile: Tile) -> u32 {
        tile.slots * self.slot_bytes(tile)
    }

    /// With the size that takes least for `n` products of so many rows and columns on a device.
    #[must_use]
    pub fn sized(self, n: u64, extents: [u64; 2], processors: u64) -> Self {
        let cost = |size: &Size| {
            let code = Self { size: *size, ..self };
            let tile = code.tile();
            let blocks = tile.blocks(n, extents).iter().product::<u64>();
            let area = u64::from(tile.slots * tile.sides[0] * tile.sides[1]);
            let is_slower = self.matrix_units && !code.is_by_matrix_units()
                || code.has_few_warps() && 2 * blocks < 3 * processors * u64::from(tile.resident);
            let dearness = size.dearness() * if is_slower { 2 } else { 1 };
            blocks.div_ceil(processors).saturating_mul(area * dearness)
        };
        let size = Size::ALL.into_iter().min_by_key(cost).unwrap_or(self.size);
        Self { size, ..self }
    }
}

impl Tile {
    /// Threads of a matrix.
    pub(super) const fn threads_of_slot(self) -> u32 {
        self.sides[0] / self.per[0] * (self.sides[1] / self.per[1])
    }

    /// Threads of a block.
    pub(super) const fn threads(self) -> u32 {
        self.slots * self.threads_of_slot()
    }

    /// Blocks for `n` products: of matrices, along rows, along columns.
    pub fn blocks(self, n: u64, extents: [u64; 2]) -> [u64; 3] {
        let [rows, columns] = [0, 1].map(|i| extents[i].div_ceil(self.sides[i].into()));
        [n.div_ceil(self.slots.into()), rows, columns]
    }
}
