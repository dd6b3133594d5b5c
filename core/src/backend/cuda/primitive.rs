//! Primitives as launches, one after the other: nothing is waited for.

use std::sync::{Arc, Mutex, PoisonError};

use super::cublas::Cublas;
use super::entries::Entries;
use super::gpu::{Gpu, Grid, Turn};
use super::launch::Shared;
use super::order::Use;
use super::ptx::{
    ALONG_CHUNK, ALONG_FOLDED, ALONG_SHORT, AlongColumns, BUCKETS, COUNT_BLOCK, COUNTED, DIGIT,
    ProductCode, ProductParts, ProductSize, SCAN_CHUNK, SLOTS, STATES, Step, TURNED_SIDE,
    places_parts, raw, tile,
};
use super::toolkit::Toolkit;
use crate::backend::primitive::{MemoryArray, PrimitiveCall, Room};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::ReduceOp;
use crate::ir::primitive::{
    Along, Factor, Lines, Order, Part, Primitive, Product, Sorting, Terms, Turned,
};
use crate::memory::buffer::Buffer;

/// The deepest products, in lanes.
const MOST_DEPTH: u32 = 1 << 30;
/// Blocks of a multiprocessor that count digits.
const COUNTING_BLOCKS: u64 = 8;
/// The most blocks of a launch.
const MOST_BLOCKS: u64 = (1 << 31) - 1;

/// Runs the steps of a primitive: a GPU, or a model of one.
pub trait Work {
    /// Allocates bytes that stay until the primitive is done; their address.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn room(&mut self, bytes: u64) -> Result<u64>;

    /// Makes bytes zero, a multiple of 4, after all steps before.
    ///
    /// # Errors
    /// A failure of the device.
    fn clear(&mut self, address: u64, bytes: u64) -> Result<()>;

    /// Runs a step after all before.
    ///
    /// # Errors
    /// A failure of the device, or of its compiler.
    fn launch(&mut self, step: Step, blocks: u64, words: &[u64]) -> Result<()>;

    /// How many multiprocessors share the blocks.
    fn processors(&self) -> u64;

    /// Whether there are matrix units that add products of doubles one after the other, each by a fma.
    fn has_matrix_units(&self) -> bool;
}

/// Runs a primitive; whether there is code for it.
///
/// # Errors
/// Those of [`Work`]; the result is undefined then.
pub fn run_steps(work: &mut dyn Work, call: &PrimitiveCall) -> Result<bool> {
    let (x, result) = (call.operands[0], call.result);
    match call.primitive {
        // Of the lanes of a part; nobody asks GPUs for it.
        Primitive::ChunkTotals(_) | Primitive::Run(_) | Primitive::Merge(_) => return Ok(false),
        Primitive::CountByOwner | Primitive::ByOwner => return Ok(false),
        Primitive::Prefix(_) if call.operands.len() > 1 => return Ok(false),
        Primitive::TrueLanes if call.lane_base > 0 => return Ok(false),
        Primitive::Prefix(op) => prefix(work, op, x, result.address)?,
        Primitive::TrueLanes => true_lanes(work, x, result)?,
        // Places are counted in 32 bits.
        Primitive::Sort(_) | Primitive::SortIndex(_) if x.size > u64::from(u32::MAX) => {
            return Ok(false);
        }
        Primitive::Sort(sorting) if sorting.extent <= u64::from(SLOTS) => {
            sort_short_rows(work, sorting, x, [result.address, 0])?;
        }
        Primitive::SortIndex(sorting) if sorting.extent <= u64::from(SLOTS) => {
            sort_short_rows(work, sorting, x, [0, result.address])?;
        }
        Primitive::Sort(Sorting { order, extent }) if extent == x.size => {
            sort(work, order, x, result, Moved::Lanes)?;
        }
        Primitive::SortIndex(Sorting { order, extent }) if extent == x.size => {
            sort(work, order, x, result, Moved::Numbers)?;
        }
        Primitive::Sort(sorting) => sort_rows(work, sorting, x, result, Moved::Lanes)?,
        Primitive::SortIndex(sorting) => sort_rows(work, sorting, x, result, Moved::Numbers)?,
        Primitive::Increments if result.size.max(x.size) > u64::from(u32::MAX) => return Ok(false),
        Primitive::Increments => increments(work, call)?,
        // One lane after the other, for which a GPU is too slow.
        Primitive::Exchanges | Primitive::BlockSums(_) => return Ok(false),
        // They too are counted in 32 bits, with a sign.
        Primitive::Product(product) if product.depth > MOST_DEPTH => return Ok(false),
        Primitive::Product(product) => products(work, product, call)?,
        Primitive::Along(along) => return reduce(work, along, &call.operands, result),
        Primitive::Turned(turned) => return turn(work, turned, x, result),
        Primitive::Place(lines) => return place(work, lines, &call.operands, result),
        // Recorded on the host alone.
        Primitive::Windows(_) => return Ok(false),
    }
    Ok(true)
}

fn prefix(work: &mut dyn Work, op: ReduceOp, x: MemoryArray, result: u64) -> Result<()> {
    let before = before_chunks(work, Step::ChunkTotals(op, x.dtype), op, x.dtype, x)?;
    let words = [x.size, x.address, before, result];
    work.launch(Step::Prefix(op, x.dtype), x.size.div_ceil(SCAN_CHUNK), &words)
}

fn true_lanes(work: &mut dyn Work, mask: MemoryArray, result: MemoryArray) -> Result<()> {
    let before = before_chunks(work, Step::CountTrue, ReduceOp::Sum, DType::U64, mask)?;
    let words = [mask.size, mask.address, before, result.address];
    let chunks = mask.size.div_ceil(SCAN_CHUNK);
    work.launch(Step::PlaceTrue(result.dtype), chunks, &words)
}

/// The address of the prefix sums of the totals, of type `dtype`, of all chunks of `x` but the last.
fn before_chunks(
    work: &mut dyn Work,
    total: Step,
    op: ReduceOp,
    dtype: DType,
    x: MemoryArray,
) -> Result<u64> {
    let size = x.size.div_ceil(SCAN_CHUNK) - 1;
    if size == 0 {
        return Ok(0);
    }
    let bytes = size * dtype.bytes() as u64;
    let [address, before] = [work.room(bytes)?, work.room(bytes)?];
    work.launch(total, size, &[x.size, x.address, address])?;
    prefix(work, op, MemoryArray { address, size, dtype }, before)?;
    Ok(before)
}

/// The result of a sort: values or indices.
#[derive(Clone, Copy)]
enum Moved {
    Lanes,
    Numbers,
}

/// Lanes and numbers go to and fro between two arrays each, so that the last digit leads to the result.
fn sort(
    work: &mut dyn Work,
    order: Order,
    x: MemoryArray,
    result: MemoryArray,
    moved: Moved,
) -> Result<()> {
    let (size, n_digits) = (x.size, u64::from(x.dtype.bits() / DIGIT));
    let bytes = size * x.dtype.bytes() as u64;
    let (lanes, numbers) = match moved {
        Moved::Lanes => (ToAndFro::between(work, result.address, bytes, n_digits)?, None),
        Moved::Numbers => {
            // Nobody wants the lanes once the last digit is known.
            let last = if n_digits > 1 { work.room(bytes)? } else { 0 };
            let lanes = ToAndFro::between(work, last, bytes, n_digits - 1)?;
            (lanes, Some(ToAndFro::between(work, result.address, 4 * size, n_digits)?))
        }
    };
    sort_digits(work, (order, n_digits), (x, 0), &lanes, numbers.as_ref())
}

/// Rows, or the numbers of their lanes, as blocks have room for them.
fn sort_short_rows(
    work: &mut dyn Work,
    Sorting { order, extent }: Sorting,
    x: MemoryArray,
    [lanes_to, numbers_to]: [u64; 2],
) -> Result<()> {
    let filled = extent.next_power_of_two().max(2);
    let blocks = (x.size / extent).div_ceil(u64::from(SLOTS) / filled);
    let words = [x.size, extent, u64::from(filled.ilog2()), x.address, lanes_to, numbers_to];
    work.launch(Step::SortRows(x.dtype, order), blocks, &words)
}

/// The numbers of all lanes are sorted by lane, and then, for that is stable, by row.
fn sort_rows(
    work: &mut dyn Work,
    Sorting { order, extent }: Sorting,
    x: MemoryArray,
    result: MemoryArray,
    moved: Moved,
) -> Result<()> {
    let (n, blocks) = (x.size, x.size.div_ceil(COUNT_BLOCK.into()));
    let (dtype, bytes) = (DType::U32, 4 * n);
    let by_lane = MemoryArray { address: work.room(bytes)?, size: n, dtype };
    sort(work, order, x, by_lane, Moved::Numbers)?;
    let rows = MemoryArray { address: work.room(bytes)?, ..by_lane };
    work.launch(Step::Rows, blocks, &[n, by_lane.address, extent, rows.address])?;
    let n_digits = u64::from((n / extent - 1).checked_ilog2().map_or(1, |bit| bit / DIGIT + 1));
    let [last, numbers] = [work.room(bytes)?, work.room(bytes)?];
    let lanes_between = ToAndFro::between(work, last, bytes, n_digits - 1)?;
    let numbers_between = ToAndFro::between(work, numbers, bytes, n_digits)?;
    let by_row = (Order::Ascending, n_digits);
    sort_digits(work, by_row, (rows, by_lane.address), &lanes_between, Some(&numbers_between))?;
    match moved {
        Moved::Lanes => {
            let words = [n, numbers, x.address, result.address];
            work.launch(Step::Picked(raw(x.dtype)), blocks, &words)
        }
        Moved::Numbers => {
            work.launch(Step::WithinRows, blocks, &[n, numbers, extent, result.address])
        }
    }
}

/// Sorts by a number of digits, from the lowest up. Lanes have numbers at an address, or (0) their places.
fn sort_digits(
    work: &mut dyn Work,
    (order, n_digits): (Order, u64),
    (x, mut numbers_from): (MemoryArray, u64),
    lanes: &ToAndFro,
    numbers: Option<&ToAndFro>,
) -> Result<()> {
    let MemoryArray { size, dtype, .. } = x;
    let n_tiles = size.div_ceil(tile(dtype));
    // Counts of all digits, the number of the next tile for each, and states of tiles.
    let (per_digit, all_digits) = (4 * u64::from(BUCKETS), u64::from(dtype.bits() / DIGIT));
    let before_states = all_digits * (per_digit + 8);
    let bytes = before_states + n_tiles * STATES;
    let counts = work.room(bytes)?;
    work.clear(counts, bytes)?;
    let tickets = counts + all_digits * per_digit;
    let share = size.div_ceil(work.processors() * COUNTING_BLOCKS).next_multiple_of(COUNTED);
    let words = [size, x.address, counts, share];
    work.launch(Step::CountDigits(dtype, order), size.div_ceil(share), &words)?;
    let mut from = x.address;
    for digit in 0..n_digits {
        let to = lanes.target(digit);
        let numbers_to = numbers.map_or(0, |numbers| numbers.target(digit));
        let words = [
            size,
            from,
            digit * u64::from(DIGIT),
            counts + digit * per_digit,
            tickets + 8 * digit,
            counts + before_states,
            2 * (digit + 1),
            to,
            numbers_from,
            numbers_to,
        ];
        work.launch(Step::MoveLanes(dtype, order), n_tiles, &words)?;
        (from, numbers_from) = (to, numbers_to);
    }
    Ok(())
}

/// Operands target, index (u64) and perhaps active.
fn increments(work: &mut dyn Work, call: &PrimitiveCall) -> Result<()> {
    let (target, index, result) = (call.operands[0], call.operands[1], call.result);
    // One lane stands for all.
    let step = |array: &MemoryArray| match array.size {
        1 => 0,
        _ => array.dtype.bytes() as u64,
    };
    let (mask, mask_step) = call.operands.get(2).map_or((0, 0), |it| (it.address, step(it)));
    let (n, blocks) = (result.size, result.size.div_ceil(COUNT_BLOCK.into()));
    let [address, sorted, numbers] = [work.room(4 * n)?, work.room(4 * n)?, work.room(4 * n)?];
    let words = [n, index.address, step(&index), mask, mask_step, target.size, address];
    work.launch(Step::CountedElements, blocks, &words)?;
    let n_digits = u64::from((u64::BITS - target.size.leading_zeros()).div_ceil(DIGIT).max(1));
    let elements = MemoryArray { address, size: n, dtype: DType::U32 };
    let lanes_between = ToAndFro::between(work, sorted, 4 * n, n_digits)?;
    let numbers_between = ToAndFro::between(work, numbers, 4 * n, n_digits)?;
    let by = (Order::Ascending, n_digits);
    sort_digits(work, by, (elements, 0), &lanes_between, Some(&numbers_between))?;
    let words = [n, sorted, numbers, target.size, target.address, result.address];
    work.launch(Step::Increments(result.dtype), blocks, &words)
}

/// Lanes `[outer, extent, inner]`: blocks reduce a chunk along the axis for some columns beside it, then chunks combine.
fn reduce(
    work: &mut dyn Work,
    along: Along,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<bool> {
    let Along { op, extent, inner, is_weighted } = along;
    let (x, factors) = (operands[0], operands.get(1).map_or(0, |factors| factors.address));
    // Truth values are bytes.
    let dtype = if x.dtype == DType::Mask { DType::U8 } else { x.dtype };
    if extent <= ALONG_SHORT {
        let words = [result.size, x.address, extent, inner, 1, result.address, factors];
        let blocks = result.size.div_ceil(COUNT_BLOCK.into());
        work.launch(Step::Short(op, dtype, is_weighted), blocks, &words)?;
        return Ok(true);
    }
    let columns = AlongColumns::of(inner);
    let (outer, mut n_chunks) = (result.size / inner, extent.div_ceil(ALONG_CHUNK));
    let (n, n_blocks) = (outer * n_chunks, inner.div_ceil(columns.number()));
    let blocks = n.div_ceil(columns.chunks()) * n_blocks;
    if blocks > MOST_BLOCKS {
        return Ok(false);
    }
    let bytes = inner * dtype.bytes() as u64;
    let target = |work: &mut dyn Work, n_chunks: u64| match n_chunks {
        1 => Ok(result.address),
        _ => work.room(outer * n_chunks * bytes),
    };
    let mut address = target(work, n_chunks)?;
    let words = [x.address, extent, inner, n_chunks, n_blocks, n, address, factors];
    work.launch(Step::Chunks(op, dtype, columns, is_weighted), blocks, &words)?;
    while n_chunks > 1 {
        let n_nodes = n_chunks.div_ceil(ALONG_FOLDED);
        let (n, to) = (outer * n_nodes * inner, target(work, n_nodes)?);
        let words = [n, address, n_chunks, inner, n_nodes, to];
        work.launch(Step::FoldChunks(op, dtype), n.div_ceil(COUNT_BLOCK.into()), &words)?;
        (address, n_chunks) = (to, n_nodes);
    }
    Ok(true)
}

/// Threads look at some entries of a line each; the least of what they find is its place.
fn place(
    work: &mut dyn Work,
    lines: Lines,
    operands: &[MemoryArray],
    result: MemoryArray,
) -> Result<bool> {
    let (x, values) = (operands[0], operands[1]);
    let (Lines { extent, inner }, is_line) = (lines, lines.inner == 1);
    let n_parts = places_parts(extent, is_line);
    let n = result.size * n_parts;
    let blocks = n.div_ceil(COUNT_BLOCK.into());
    if blocks > MOST_BLOCKS {
        return Ok(false);
    }
    let address = if n_parts == 1 { result.address } else { work.room(4 * n)? };
    let words = [n, x.address, extent, inner, values.address, n_parts, address];
    work.launch(Step::Places(raw(x.dtype), is_line), blocks, &words)?;
    if n_parts == 1 {
        return Ok(true);
    }
    let least = Along { op: ReduceOp::Min, extent: n_parts, inner, is_weighted: false };
    reduce(work, least, &[MemoryArray { address, size: n, dtype: DType::U32 }], result)
}

/// A block turns a tile.
fn turn(work: &mut dyn Work, turned: Turned, x: MemoryArray, result: MemoryArray) -> Result<bool> {
    let Turned { rows, columns } = turned;
    let [down, across] = [rows, columns].map(|n| n.div_ceil(TURNED_SIDE.into()));
    let blocks = x.size / (rows * columns) * down * across;
    if blocks > MOST_BLOCKS {
        return Ok(false);
    }
    let words = [x.address, rows, columns, down, across, result.address];
    work.launch(Step::Turned(raw(x.dtype)), blocks, &words)?;
    Ok(true)
}

fn products(work: &mut dyn Work, product: Product, call: &PrimitiveCall) -> Result<()> {
    let device = (work.processors(), work.has_matrix_units());
    let code = product_code(product, call, 1, device);
    let (blocks, words) = product_words(code, product, call);
    work.launch(Step::Product(code), blocks, &words)
}

/// The code of a product that `n_members` calls want. Operands are left and right, of complex products the real and
/// imaginary parts of each.
fn product_code(
    product: Product,
    call: &PrimitiveCall,
    n_members: u64,
    (processors, has_matrix_units): (u64, bool),
) -> ProductCode {
    let half = call.operands.len() / 2;
    let (n, rows) = product.extents(call.operands[0].size, call.operands[half].size);
    let dtype = call.result.dtype;
    let parts = match (product.part, call.imag) {
        (Part::Whole, _) => ProductParts::Whole,
        (Part::Real, None) => ProductParts::Real,
        (Part::Imag, _) => ProductParts::Imag,
        (Part::Real, Some(_)) => ProductParts::Both,
    };
    let factors = [product.left, product.right];
    let code = ProductCode {
        // Wrapping sums have the same bits signed and unsigned.
        dtype: if dtype.is_float() { dtype } else { dtype.unsigned() },
        turned: factors.map(Factor::is_turned),
        conjugate: factors.map(|factor| factor.is_conjugate() && parts != ProductParts::Whole),
        aligned: alignment(product, call),
        parts,
        size: ProductSize::Side128,
        matrix_units: has_matrix_units && dtype == DType::F64,
        is_batch: n_members > 1,
    };
    code.sized(n * n_members, [rows, product.columns.into()], processors)
}

/// Whether each factor begins, and goes on, by whole vectors.
fn alignment(product: Product, call: &PrimitiveCall) -> [bool; 2] {
    let (left, right) = call.operands.split_at(call.operands.len() / 2);
    let (_, rows) = product.extents(left[0].size, right[0].size);
    let [across, along] = product.terms(rows);
    [is_aligned(left, across), is_aligned(right, along)]
}

/// Blocks and words of parameters of a call.
fn product_words(code: ProductCode, product: Product, call: &PrimitiveCall) -> (u64, Vec<u64>) {
    let half = call.operands.len() / 2;
    let (n, rows) = product.extents(call.operands[0].size, call.operands[half].size);
    let columns = u64::from(product.columns);
    let (left, right) = call.operands.split_at(half);
    let [matrices, row_blocks, column_blocks] = code.tile().blocks(n, [rows, columns]);
    let mut words = vec![rows, columns, product.depth.into(), row_blocks, column_blocks, n];
    words.extend([call.result.address, call.imag.map_or(0, |imag| imag.address)]);
    let bytes = call.result.dtype.bytes() as u64;
    for (planes, terms) in [left, right].into_iter().zip(product.terms(rows)) {
        words.extend([planes[0], planes[half - 1]].map(|plane| plane.address));
        words.extend([terms.across, terms.along, terms.matrix].map(|lanes| lanes * bytes));
    }
    (matrices * row_blocks * column_blocks, words)
}

/// Whether the planes of a factor, and what lies along the depth or in other matrices, begin by whole vectors.
fn is_aligned(planes: &[MemoryArray], terms: Terms) -> bool {
    planes.iter().all(|plane| {
        let bytes = plane.dtype.bytes() as u64;
        let places = [plane.address, terms.along * bytes, terms.matrix * bytes];
        places.into_iter().all(|place| place.is_multiple_of(16))
    })
}

/// Two arrays that moves go between.
struct ToAndFro {
    last: u64,
    spare: u64,
    n_moves: u64,
}

impl ToAndFro {
    /// The last of `n_moves` goes to `last`; the other array is made if needed.
    fn between(work: &mut dyn Work, last: u64, bytes: u64, n_moves: u64) -> Result<Self> {
        let spare = if n_moves > 1 { work.room(bytes)? } else { 0 };
        Ok(Self { last, spare, n_moves })
    }

    /// Where a move goes, 0 if there is none.
    fn target(&self, number: u64) -> u64 {
        match self.n_moves.checked_sub(number + 1) {
            None => 0,
            Some(left) if left.is_multiple_of(2) => self.last,
            Some(_) => self.spare,
        }
    }
}

/// The steps that a GPU has compiled.
pub(super) struct Primitives {
    gpu: Arc<Gpu>,
    toolkit: Toolkit,
    steps: Arc<Entries<Step>>,
    cublas: Mutex<Option<Cublas>>,
}

impl Primitives {
    pub(super) fn new(gpu: Arc<Gpu>, steps: Arc<Entries<Step>>, toolkit: Toolkit) -> Self {
        Self { gpu, toolkit, steps, cublas: Mutex::default() }
    }

    /// Runs a primitive; whether there is code for it.
    ///
    /// # Errors
    /// `OutOfMemory`, `Compilation`, a failure of the GPU; `Tool` if cuBLAS is asked for and not there.
    pub(super) fn run(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<bool> {
        if let Primitive::Product(product) = call.primitive
            && product.on_tensor_cores
        {
            self.by_cublas(product, call)?;
            return Ok(true);
        }
        let reads = call.operands.iter().map(|array| Use::Read(array.address));
        let results = [Some(call.result), call.imag].into_iter().flatten();
        let writes = results.map(|array| Use::Write(array.address));
        let turn = self.gpu.turn(reads.chain(writes), None)?;
        run_steps(&mut OnGpu { primitives: self, room, turn, blocks: Vec::new() }, call)
    }

    /// Runs calls of one product as a batch; whether there is code for it.
    ///
    /// # Errors
    /// As [`Primitives::run`].
    pub(super) fn run_all(&self, shared: &Shared, calls: &[PrimitiveCall]) -> Result<bool> {
        let [PrimitiveCall { primitive: Primitive::Product(product), .. }, _, ..] = *calls else {
            return Ok(false);
        };
        if product.on_tensor_cores || product.depth > MOST_DEPTH {
            return Ok(false);
        }
        let device = (self.gpu.multiprocessors.into(), has_matrix_units(&self.gpu));
        let mut code = product_code(product, &calls[0], calls.len() as u64, device);
        for call in &calls[1..] {
            let aligned = alignment(product, call);
            code.aligned.iter_mut().zip(aligned).for_each(|(all, one)| *all &= one);
        }
        let (blocks, mut words) = product_words(code, product, &calls[0]);
        let (Ok(blocks), n_words) = (u32::try_from(blocks), words.len()) else {
            return Ok(false);
        };
        words.extend(calls[1..].iter().flat_map(|call| product_words(code, product, call).1));
        let step = Step::Product(code);
        let grid = Grid::of(blocks, step.threads());
        let turn = self.gpu.turn_alone()?;
        shared.launch_members(turn.stream, self.steps.step(step)?, grid, &words, n_words)?;
        Ok(true)
    }

    /// Queues products on the tensor cores, with the library that is opened when first needed.
    fn by_cublas(&self, product: Product, call: &PrimitiveCall) -> Result<()> {
        let mut cublas = self.cublas.lock().unwrap_or_else(PoisonError::into_inner);
        let cublas = match &mut *cublas {
            Some(cublas) => cublas,
            none => none.insert(Cublas::start(&self.gpu, &self.toolkit)?),
        };
        let _turn = self.gpu.turn_alone()?;
        cublas.multiply(product, call)
    }
}

/// Those of other processors may add in another order.
fn has_matrix_units(gpu: &Gpu) -> bool {
    gpu.compute_capability == 90
}

/// A primitive on its way, and its working memory.
struct OnGpu<'a> {
    primitives: &'a Primitives,
    room: Room<'a>,
    /// Ends before others may have the blocks.
    turn: Turn<'a>,
    blocks: Vec<Buffer>,
}

impl Work for OnGpu<'_> {
    fn room(&mut self, bytes: u64) -> Result<u64> {
        let block = (self.room)(bytes)?;
        let address = block.address();
        self.turn.also(Use::Write(address))?;
        self.blocks.push(block);
        Ok(address)
    }

    fn clear(&mut self, address: u64, bytes: u64) -> Result<()> {
        self.primitives.gpu.fill(self.turn.stream, address, 0, 4, exactly(bytes / 4))
    }

    fn launch(&mut self, step: Step, blocks: u64, words: &[u64]) -> Result<()> {
        let blocks = exactly::<u32>(blocks);
        let grid = Grid::of(blocks, step.threads());
        let entry = self.primitives.steps.step(step)?;
        self.primitives.gpu.launch(self.turn.stream, entry, grid, words)
    }

    fn processors(&self) -> u64 {
        self.primitives.gpu.multiprocessors.into()
    }

    fn has_matrix_units(&self) -> bool {
        has_matrix_units(&self.primitives.gpu)
    }
}
