//! Functions of whole arrays in random programs: lanes in other places, statistics, counters, random numbers.
//!
//! Their results have sizes of their own. A program sees `n` lanes of each, its lanes over and over
//! (`repeated`), or its only one.

use porcini_core::catalogue;
use porcini_core::ir::op::Op;
use porcini_core::random::{Draw, Pcg32};
use porcini_core::tensor::Tensor;
use porcini_core::value::Argument;
use porcini_core::{Array, DType, Error, Operand, Result, Scalar, Session};

use crate::data::{FLOATS, INTEGERS, NUMBERS, accumulated};
use crate::random::Random;

/// Lanes of the second array of a grid, and numbers that a partition tells apart.
pub const FEW: u64 = 5;
/// Numbers that a search looks through.
pub const SEARCHED: u64 = 100;
/// The interval of histograms.
pub const INTERVAL: (f64, f64) = (-4.0, 12.0);

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named like the methods of arrays")]
pub enum Whole {
    Reverse,
    Roll(i64),
    Tile(u64),
    Repeat(u64),
    /// Each lane as often as the last three bits of another say.
    RepeatEach,
    Resize(u64),
    Concat,
    Interleave,
    Meshgrid(usize),
    Take,
    TakeInterpolated,
    SearchSorted,
    BinarySearch,
    Compress,
    TrueLanes,
    Partition,
    Cumprod,
    Cummin,
    Cummax,
    PsumExclusive,
    PsumReverse,
    BlockSum(u64),
    BlockPrefixSum(u64),
    Histogram(u64),
    Argmin,
    Argmax,
    Median,
    Var,
    Std,
    Isclose(bool),
    /// With numbers of its own in the place of what is not finite, or without.
    NanToNum(bool),
    Linspace(i64, i64),
    Hash,
    /// What each lane finds.
    ScatterInc,
    /// The counters after that.
    ScatterIncCounts,
    /// What each lane finds, or the array after that.
    ScatterExch(After),
    /// The same, or which lanes put their values.
    ScatterCas(After),
    /// The second number, where the first is drawn in active lanes only.
    Random(Draw),
    /// A number below a bound in active lanes.
    RandomBelow(Draw),
    /// The draws from a generator to one advanced by so many.
    RandomDistance,
}

/// A result of what changes an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named like the results")]
pub enum After {
    Found,
    Target,
    Swapped,
}

const DRAWS: [Draw; 7] = [
    Draw::UInt32,
    Draw::UInt64,
    Draw::Float16,
    Draw::Float32,
    Draw::Float64,
    Draw::Normal32,
    Draw::Normal64,
];

impl Whole {
    /// One of the functions, and types that it takes.
    pub fn draw(random: &mut Random) -> (Self, Vec<DType>) {
        let few = |random: &mut Random| random.below(7) as u64;
        let signed = random.below(40) as i64 - 20;
        let all = [
            Self::Reverse,
            Self::Roll(signed),
            Self::Tile(few(random)),
            Self::Repeat(few(random)),
            Self::RepeatEach,
            Self::Resize(few(random) * 9),
            Self::Concat,
            Self::Interleave,
            Self::Meshgrid(random.below(2)),
            Self::Take,
            Self::TakeInterpolated,
            Self::SearchSorted,
            Self::BinarySearch,
            Self::Compress,
            Self::TrueLanes,
            Self::Partition,
            Self::Cumprod,
            Self::Cummin,
            Self::Cummax,
            Self::PsumExclusive,
            Self::PsumReverse,
            Self::BlockSum(1 + few(random)),
            Self::BlockPrefixSum(1 + few(random) * 5),
            Self::Histogram(1 + few(random) * 5),
            Self::Argmin,
            Self::Argmax,
            Self::Median,
            Self::Var,
            Self::Std,
            Self::Isclose(random.one_in(2)),
            Self::NanToNum(random.one_in(2)),
            Self::Linspace(signed, few(random).cast_signed()),
            Self::Hash,
            Self::ScatterInc,
            Self::ScatterIncCounts,
            Self::ScatterExch(random.pick(&[After::Found, After::Target])),
            Self::ScatterCas(random.pick(&[After::Found, After::Target, After::Swapped])),
            Self::Random(random.pick(&DRAWS)),
            Self::RandomBelow(random.pick(&DRAWS[..2])),
            Self::RandomDistance,
        ];
        let whole = random.pick(&all);
        let (number, other) = (random.pick(&NUMBERS), random.pick(&NUMBERS));
        let any = random.pick(&DType::ALL);
        let types = match whole {
            Self::Reverse
            | Self::Roll(_)
            | Self::Tile(_)
            | Self::Repeat(_)
            | Self::Resize(_)
            | Self::NanToNum(_)
            | Self::Hash => vec![any],
            Self::Concat | Self::Interleave | Self::TakeInterpolated | Self::Isclose(_) => {
                vec![number, if random.one_in(3) { other } else { number }]
            }
            // What ascends as u64 does not as i64, their common type.
            Self::SearchSorted => vec![number, number],
            Self::Meshgrid(_) => vec![any, random.pick(&DType::ALL)],
            Self::Take => vec![any, random.pick(&[DType::I16, DType::I32, DType::I64, DType::U32])],
            Self::BinarySearch => vec![DType::I32],
            Self::RepeatEach => vec![any, random.pick(INTEGERS)],
            Self::Compress => vec![any, DType::Mask],
            Self::TrueLanes => vec![DType::Mask],
            Self::Partition => vec![random.pick(INTEGERS)],
            Self::Linspace(..) => vec![random.pick(FLOATS)],
            Self::ScatterInc | Self::ScatterIncCounts => {
                vec![random.pick(INTEGERS), DType::U32, DType::Mask]
            }
            Self::ScatterExch(_) => vec![any, DType::U32, DType::Mask, any],
            Self::ScatterCas(_) => vec![any, DType::U32, DType::Mask, any, any],
            Self::Random(_) => vec![DType::U64, DType::U64, DType::Mask],
            Self::RandomBelow(Draw::UInt32) => vec![DType::U64, DType::U32, DType::Mask],
            Self::RandomBelow(_) => vec![DType::U64, DType::U64, DType::Mask],
            Self::RandomDistance => vec![DType::U64, DType::U64, DType::I64],
            _ => vec![number],
        };
        (whole, types)
    }

    /// Which argument is an index that should be in bounds most of the time.
    pub fn index(self) -> Option<usize> {
        let is_indexed = matches!(
            self,
            Self::Take
                | Self::ScatterInc
                | Self::ScatterIncCounts
                | Self::ScatterExch(_)
                | Self::ScatterCas(_)
        );
        is_indexed.then_some(1)
    }

    /// Whether the result has one lane.
    pub fn is_one(self) -> bool {
        matches!(self, Self::Argmin | Self::Argmax | Self::Median | Self::Var | Self::Std)
    }

    /// The type of the result.
    pub fn dtype(self, types: &[DType], promote: impl Fn(DType, DType) -> DType) -> DType {
        match self {
            Self::Concat | Self::Interleave => promote(types[0], types[1]),
            Self::Meshgrid(which) => types[which],
            Self::TakeInterpolated => promote(types[0].quotient(), types[1].quotient()),
            Self::SearchSorted
            | Self::BinarySearch
            | Self::TrueLanes
            | Self::Partition
            | Self::Histogram(_)
            | Self::Argmin
            | Self::Argmax => DType::U32,
            Self::Median | Self::Var | Self::Std => types[0].quotient(),
            Self::Isclose(_) | Self::ScatterCas(After::Swapped) => DType::Mask,
            Self::Random(draw) | Self::RandomBelow(draw) => match draw {
                Draw::UInt32 => DType::U32,
                Draw::UInt64 => DType::U64,
                Draw::Float16 => DType::F16,
                Draw::Float32 | Draw::Normal32 => DType::F32,
                Draw::Float64 | Draw::Normal64 => DType::F64,
            },
            Self::RandomDistance => DType::I64,
            Self::Hash => DType::U64,
            Self::Cumprod
            | Self::PsumExclusive
            | Self::PsumReverse
            | Self::BlockSum(_)
            | Self::BlockPrefixSum(_) => accumulated(types[0]),
            _ => types[0],
        }
    }

    /// Records it; `n` lanes unless it has one.
    ///
    /// # Errors
    /// What recording fails with, or an evaluation that a size depends on.
    pub fn record(self, session: &Session, args: &[&Array], n: usize) -> Result<Array> {
        let result = self.record_whole(session, args, n);
        let result = match result {
            // Of nothing there is none.
            Err(Error::EmptyReduction { .. }) => session.zeros(DType::U32, 1)?,
            result => result?,
        };
        if self.is_one() { Ok(result) } else { repeated(session, &result, n as u64) }
    }

    fn record_whole(self, session: &Session, args: &[&Array], n: usize) -> Result<Array> {
        let x = args[0];
        match self {
            Self::Reverse => x.reverse(),
            Self::Roll(distance) => x.roll(distance),
            Self::Tile(times) => x.tile(times),
            Self::Repeat(times) => x.repeat(times),
            Self::RepeatEach => x.repeat_each(&args[1].apply(Op::And, &[7.into()])?),
            Self::Resize(size) => x.resize(size),
            Self::Concat => session.concat(&[x, args[1], x]),
            Self::Interleave => session.interleave(&[x, args[1], x]),
            Self::Meshgrid(which) => {
                let grid = session.meshgrid(x, &args[1].resize(FEW)?)?;
                Ok(grid[which].clone())
            }
            Self::Take => x.take(args[1]),
            Self::TakeInterpolated if x.is_empty() => {
                session.zeros(self.dtype(&[x.dtype(), args[1].dtype()], joined), 0)
            }
            Self::TakeInterpolated => x.take_interpolated(args[1]),
            Self::SearchSorted => {
                x.sort(porcini_core::ir::primitive::Order::Ascending)?.search_sorted(args[1])
            }
            Self::BinarySearch => session.binary_search(0, SEARCHED, |middle| middle.lt(x)),
            Self::Compress => x.compress(args[1]),
            Self::TrueLanes => x.true_lanes(),
            Self::Partition => {
                let few = x.apply(Op::Rem, &[FEW.into()])?;
                let parts: Vec<Array> =
                    few.partition()?.into_iter().map(|(_, lanes)| lanes).collect();
                match parts.iter().collect::<Vec<_>>()[..] {
                    [] => session.zeros(DType::U32, 0),
                    ref parts => session.concat(parts),
                }
            }
            Self::Cumprod => x.cumprod(),
            Self::Cummin => Ok(Tensor::new(x, &[x.size()])?.cummin(0)?.entries()?.swap_remove(0)),
            Self::Cummax => Ok(Tensor::new(x, &[x.size()])?.cummax(0)?.entries()?.swap_remove(0)),
            Self::PsumExclusive => x.psum_exclusive(),
            Self::PsumReverse => x.psum_reverse(),
            Self::BlockSum(length) => x.block_sum(length),
            Self::BlockPrefixSum(length) => x.block_prefix_sum(length),
            Self::Histogram(bins) => x.histogram(bins, INTERVAL.0, INTERVAL.1),
            Self::Argmin => x.argmin(),
            Self::Argmax => x.argmax(),
            Self::Median => x.median(),
            Self::Var => x.var(),
            Self::Std => x.std(),
            Self::Isclose(equal_nan) => x.isclose(args[1], 0.25, 0.5, equal_nan),
            Self::NanToNum(has_numbers) => nan_to_num(session, x, has_numbers),
            Self::Hash => x.hash(),
            Self::Linspace(first, last) => session.linspace(x.dtype(), first, last, n as u64),
            Self::ScatterInc | Self::ScatterIncCounts => {
                let mut counts = x.clone();
                let found = counts.scatter_inc(args[1], Some(args[2]))?;
                Ok(if self == Self::ScatterInc { found } else { counts })
            }
            Self::ScatterExch(after) => {
                let mut target = x.clone();
                let found = target.scatter_exch(args[3], args[1], Some(args[2]))?;
                Ok(if after == After::Found { found } else { target })
            }
            Self::ScatterCas(after) => {
                let mut target = x.clone();
                let [found, swapped] =
                    target.scatter_cas(args[4], args[3], args[1], Some(args[2]))?;
                Ok(match after {
                    After::Found => found,
                    After::Target => target,
                    After::Swapped => swapped,
                })
            }
            Self::Random(draw) => {
                let mut rng = Pcg32::new(session, x.clone(), args[1].clone())?;
                drop(rng.draw(draw, Some(args[2]))?);
                rng.draw(draw, None)
            }
            Self::RandomBelow(draw) => {
                let mut rng = Pcg32::new(session, x.clone(), 7)?;
                rng.draw_below(draw, Operand::Array(args[1]), Some(args[2]))
            }
            Self::RandomDistance => {
                let start = Pcg32::new(session, x.clone(), args[1].clone())?;
                let mut end = start.clone();
                end.advance(Operand::Array(args[2]))?;
                end.distance(&start)
            }
        }
    }
}

/// Numbers that stand in the place of NaN and the infinities.
pub const FILLED: [f64; 3] = [5.0, 7.5, -9.0];

fn nan_to_num(session: &Session, x: &Array, has_numbers: bool) -> Result<Array> {
    let numbers = if has_numbers { &FILLED[..] } else { &[] };
    let args: Vec<Argument<'_>> =
        [x.into()].into_iter().chain(numbers.iter().map(|&number| number.into())).collect();
    let args: Vec<&Argument<'_>> = args.iter().collect();
    let row = catalogue::find("nan_to_num").expect("a row of the catalogue");
    row.call(session, &args)?.array()
}

fn joined(a: DType, b: DType) -> DType {
    a.promote(b).unwrap_or(a)
}

/// The lanes over and over, `n` of them; zeros if there are none.
fn repeated(session: &Session, x: &Array, n: u64) -> Result<Array> {
    match x.size() {
        size if size == n => Ok(x.clone()),
        0 => session.zeros(x.dtype(), n),
        size => {
            let lanes = session.arange(DType::U32, 0.into(), Scalar::UInt(n), 1.into())?;
            x.gather(&lanes.apply(Op::Rem, &[Scalar::UInt(size).into()])?, None)
        }
    }
}
