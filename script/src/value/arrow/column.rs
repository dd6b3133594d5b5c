//! What becomes of Arrow's arrays, batch by batch: lanes, texts, vectors, columns of structures.

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef, UInt64Array};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, TimeUnit};
use arrow_select::take::take;
use porcini_core::{Array, DType, Session};

use super::trouble::{Result, Trouble, damaged, out_of_memory, poll};
use crate::value::csv::Texts;

/// Bytes, and texts, between two looks at the interrupt flag.
const PIECE: usize = 1 << 20;
const TEXTS: usize = 1 << 14;
/// Components that vectors have.
const COMPONENTS: std::ops::RangeInclusive<i32> = 1..=4;
const DAY: i64 = 86_400;

/// Columns by name, in order.
pub(crate) type Table = Vec<(String, Column)>;

/// A whole column.
pub(crate) struct Column {
    pub(crate) values: Values,
    /// Which values are missing, if that was asked for and there are some.
    pub(crate) missing: Option<Array>,
}

/// The values of a column.
pub(crate) enum Values {
    Lanes(Array),
    Vector(Vec<Array>),
    Texts(Texts),
    Category(Texts),
}

/// What a value of Arrow is for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A lane as it is.
    Lanes(DType),
    /// Days since 1970, seconds for us.
    Days,
    /// So many in a second, seconds for us.
    Ticks(i64),
    /// An integer behind whose last digits the point stands; a float for us.
    Decimal(i8),
    Text,
    Category,
    /// Nothing but missing values.
    Nothing,
}

impl Kind {
    fn of(data_type: &DataType) -> Option<Self> {
        let ticks = |unit: &TimeUnit| {
            Self::Ticks(match unit {
                TimeUnit::Second => 1,
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1_000_000,
                TimeUnit::Nanosecond => 1_000_000_000,
            })
        };
        Some(match data_type {
            DataType::Boolean => Self::Lanes(DType::Mask),
            DataType::Int8 => Self::Lanes(DType::I8),
            DataType::UInt8 => Self::Lanes(DType::U8),
            DataType::Int16 => Self::Lanes(DType::I16),
            DataType::UInt16 => Self::Lanes(DType::U16),
            DataType::Int32 => Self::Lanes(DType::I32),
            DataType::UInt32 => Self::Lanes(DType::U32),
            DataType::Int64 => Self::Lanes(DType::I64),
            DataType::UInt64 => Self::Lanes(DType::U64),
            DataType::Float16 => Self::Lanes(DType::F16),
            DataType::Float32 => Self::Lanes(DType::F32),
            DataType::Float64 => Self::Lanes(DType::F64),
            DataType::Date32 => Self::Days,
            DataType::Date64 => Self::Ticks(1_000),
            DataType::Timestamp(unit, _)
            | DataType::Time32(unit)
            | DataType::Time64(unit)
            | DataType::Duration(unit) => ticks(unit),
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => Self::Decimal(*scale),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Dictionary(_, values) => match Self::of(values)? {
                Self::Text => Self::Category,
                kind => kind,
            },
            DataType::Null => Self::Nothing,
            _ => return None,
        })
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Category)
    }

    /// The type of its lanes.
    fn dtype(self) -> DType {
        match self {
            Self::Lanes(dtype) => dtype,
            Self::Text | Self::Category => DType::U32,
            Self::Days | Self::Ticks(_) | Self::Decimal(_) | Self::Nothing => DType::F64,
        }
    }

    /// The float of a value that is none of our lanes.
    #[expect(clippy::cast_precision_loss, reason = "floats are what scripts get")]
    fn float(self, word: &[u8]) -> f64 {
        let integer = || i64::try_from(integer(word)).unwrap_or_default();
        match self {
            Self::Days => (integer() * DAY) as f64,
            Self::Ticks(ticks) => {
                let n = integer();
                // One division of two exact floats is rounded once; more digits go in two steps.
                let is_exact = n.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS;
                let whole = if is_exact { 0 } else { n / ticks };
                whole as f64 + (n - whole * ticks) as f64 / ticks as f64
            }
            Self::Decimal(scale) => decimal(word, scale),
            Self::Lanes(_) | Self::Text | Self::Category | Self::Nothing => f64::NAN,
        }
    }
}

/// A little-endian integer with a sign, of at most 16 bytes.
fn integer(word: &[u8]) -> i128 {
    let is_negative = word.last().is_some_and(|&byte| byte >= 0x80);
    let mut bytes = [if is_negative { 0xff } else { 0 }; 16];
    bytes[..word.len()].copy_from_slice(word);
    i128::from_le_bytes(bytes)
}

/// The float nearest to an integer times 10^-scale.
#[expect(
    clippy::cast_precision_loss,
    reason = "as many bits as a float has, or more digits than that"
)]
fn decimal(word: &[u8], scale: i8) -> f64 {
    let digits = match <[u8; 32]>::try_from(word) {
        Ok(word) => match i256::from_le_bytes(word).to_i128() {
            Some(digits) => digits,
            None => {
                return format!("{}e{}", i256::from_le_bytes(word), -i32::from(scale))
                    .parse()
                    .unwrap_or(f64::NAN);
            }
        },
        Err(_) => integer(word),
    };
    // One division of two exact floats is rounded once.
    if digits.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS && (0..=22).contains(&scale) {
        return digits as f64 / 10_f64.powi(scale.into());
    }
    format!("{digits}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN)
}

/// A column, or the columns of a structure, in the making.
pub(super) enum Builder {
    Leaf(Leaf),
    /// The components of lists of one length.
    Vector(Vec<Leaf>),
    Structure(Vec<(String, Self)>),
}

impl Builder {
    /// An empty column for values of a type; `None` if arrays have none such.
    pub(super) fn new(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::FixedSizeList(item, n) if COMPONENTS.contains(n) => {
                let kind = Kind::of(item.data_type()).filter(|kind| !kind.is_text())?;
                Some(Self::Vector((0..*n).map(|_| Leaf::new(kind)).collect()))
            }
            DataType::Struct(fields) => {
                let part = |field: &arrow_schema::FieldRef| {
                    Some((field.name().clone(), Self::new(field.data_type())?))
                };
                fields.iter().map(part).collect::<Option<_>>().map(Self::Structure)
            }
            data_type => Kind::of(data_type).map(|kind| Self::Leaf(Leaf::new(kind))),
        }
    }

    /// Bytes of a row.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Leaf(leaf) => leaf.kind.dtype().bytes() as u64,
            Self::Vector(leaves) => {
                leaves.iter().map(|leaf| leaf.kind.dtype().bytes() as u64).sum()
            }
            Self::Structure(parts) => parts.iter().map(|(_, part)| part.bytes()).sum(),
        }
    }

    /// Makes room for so many rows; whether there is some.
    pub(super) fn make_room(&mut self, n: usize) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.make_room(n),
            Self::Vector(leaves) => leaves.iter_mut().all(|leaf| leaf.make_room(n)),
            Self::Structure(parts) => parts.iter_mut().all(|(_, part)| part.make_room(n)),
        }
    }

    /// Adds the rows of an array of the type; `outer` are those that are missing with all around them.
    pub(super) fn add(&mut self, array: &ArrayRef, outer: Option<&NullBuffer>) -> Result<()> {
        match self {
            Self::Leaf(leaf) => leaf.add(array, outer),
            Self::Vector(leaves) => {
                let lists = array.as_fixed_size_list_opt().ok_or_else(unlike)?;
                let missing = NullBuffer::union(outer, lists.nulls());
                let step = leaves.len();
                for (i, leaf) in leaves.iter_mut().enumerate() {
                    let places = (i..lists.len() * step).step_by(step).map(|place| place as u64);
                    let places: UInt64Array = places.collect();
                    leaf.add(&take(lists.values(), &places, None)?, missing.as_ref())?;
                }
                Ok(())
            }
            Self::Structure(parts) => {
                let structure = array.as_struct_opt().ok_or_else(unlike)?;
                let missing = NullBuffer::union(outer, structure.nulls());
                for ((_, part), array) in parts.iter_mut().zip(structure.columns()) {
                    part.add(array, missing.as_ref())?;
                }
                Ok(())
            }
        }
    }

    /// Adds the finished columns to a table.
    pub(super) fn finish(
        self,
        session: &Session,
        name: &str,
        masks: bool,
        table: &mut Table,
    ) -> Result<()> {
        let column = match self {
            Self::Leaf(mut leaf) => {
                let missing = leaf.take_missing(masks);
                let missing = missing.map(|missing| session.array(&missing)).transpose()?;
                Column { values: leaf.finish(session)?, missing }
            }
            Self::Vector(mut leaves) => {
                let mut missing = Vec::new();
                for part in leaves.iter_mut().filter_map(|leaf| leaf.take_missing(masks)) {
                    missing.resize(part.len(), false);
                    missing.iter_mut().zip(part).for_each(|(all, part)| *all |= part);
                }
                let missing = Some(missing).filter(|missing| !missing.is_empty());
                let missing = missing.map(|missing| session.array(&missing)).transpose()?;
                let component = |leaf: Leaf| match leaf.finish(session)? {
                    Values::Lanes(lanes) => Ok(lanes),
                    Values::Vector(_) | Values::Texts(_) | Values::Category(_) => Err(unlike()),
                };
                let components = leaves.into_iter().map(component).collect::<Result<_>>()?;
                Column { values: Values::Vector(components), missing }
            }
            Self::Structure(parts) => {
                for (part, builder) in parts {
                    builder.finish(session, &format!("{name}.{part}"), masks, table)?;
                }
                return Ok(());
            }
        };
        table.push((name.into(), column));
        Ok(())
    }
}

/// An array that is not of the type that the schema says.
fn unlike() -> Trouble {
    Trouble::Damaged("a column has values of another type than its header says".into())
}

/// A column of single values.
pub(super) struct Leaf {
    kind: Kind,
    /// The lanes.
    bytes: Vec<u8>,
    texts: Texts,
    /// Which rows are missing; empty while none is.
    missing: Vec<bool>,
    n_rows: usize,
    /// The dictionary of the last batch, and the numbers of its texts here.
    dictionary: Option<(ArrayRef, Vec<u32>)>,
}

impl Leaf {
    fn new(kind: Kind) -> Self {
        let texts = Texts::default();
        Self { kind, bytes: Vec::new(), texts, missing: Vec::new(), n_rows: 0, dictionary: None }
    }

    fn make_room(&mut self, n: usize) -> bool {
        if self.kind.is_text() {
            return self.texts.codes.try_reserve_exact(n).is_ok();
        }
        let bytes = n.saturating_mul(self.kind.dtype().bytes());
        self.bytes.try_reserve_exact(bytes).is_ok()
    }

    fn add(&mut self, array: &ArrayRef, outer: Option<&NullBuffer>) -> Result<()> {
        let nulls = NullBuffer::union(outer, array.logical_nulls().as_ref());
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        if self.kind.is_text() {
            self.add_texts(array, nulls.as_ref())?;
        } else if let Some(dictionary) = array.as_any_dictionary_opt() {
            self.add_lanes(&take(dictionary.values(), dictionary.keys(), None)?)?;
        } else {
            self.add_lanes(array)?;
        }
        if let Some(nulls) = nulls {
            self.mark(&nulls);
        }
        self.n_rows += array.len();
        if !self.missing.is_empty() {
            self.missing.resize(self.n_rows, false);
        }
        Ok(())
    }

    /// Marks rows of the batch that was added last as missing.
    fn mark(&mut self, nulls: &NullBuffer) {
        self.missing.resize(self.n_rows, false);
        self.missing.extend(nulls.iter().map(|is_there| !is_there));
        if self.kind.is_text() {
            return;
        }
        let dtype = self.kind.dtype();
        let blank: &[u8] = match dtype {
            DType::F16 => &0x7e00_u16.to_le_bytes(),
            DType::F32 => &f32::NAN.to_le_bytes(),
            DType::F64 => &f64::NAN.to_le_bytes(),
            dtype => &[0; 8][..dtype.bytes()],
        };
        let start = self.n_rows * dtype.bytes();
        let lanes = self.bytes[start..].chunks_exact_mut(dtype.bytes());
        for (lane, is_there) in lanes.zip(nulls.iter()) {
            if !is_there {
                lane.copy_from_slice(blank);
            }
        }
    }

    fn add_lanes(&mut self, array: &ArrayRef) -> Result<()> {
        if self.kind == Kind::Nothing {
            let bytes = (self.n_rows + array.len()) * self.kind.dtype().bytes();
            self.bytes.resize(bytes, 0);
            return Ok(());
        }
        if Kind::of(array.data_type()) != Some(self.kind) {
            return Err(unlike());
        }
        if let Some(masks) = array.as_boolean_opt() {
            self.bytes.extend(masks.values().iter().map(u8::from));
            return Ok(());
        }
        let width = array.data_type().primitive_width().ok_or_else(unlike)?;
        let data = array.to_data();
        let range = data.offset() * width..(data.offset() + data.len()) * width;
        let lanes = data.buffers().first().and_then(|lanes| lanes.as_slice().get(range));
        for piece in lanes.ok_or_else(unlike)?.chunks(PIECE) {
            poll()?;
            match self.kind {
                Kind::Lanes(_) => self.bytes.extend_from_slice(piece),
                kind => {
                    let floats = piece.chunks_exact(width).map(|word| kind.float(word));
                    self.bytes.extend(floats.flat_map(f64::to_le_bytes));
                }
            }
        }
        Ok(())
    }

    /// Adds texts; one that is missing is empty.
    fn add_texts(&mut self, array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<()> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            self.learn(dictionary.values())?;
            let codes = self.dictionary.as_ref().map_or(&[][..], |(_, codes)| codes);
            if codes.is_empty() {
                return self.texts.add((0..array.len()).map(|_| ""));
            }
            let blank = if nulls.is_some() { self.texts.number("")? } else { 0 };
            for (i, place) in dictionary.normalized_keys().into_iter().enumerate() {
                let is_missing = nulls.is_some_and(|nulls| nulls.is_null(i));
                self.texts.codes.push(if is_missing { blank } else { codes[place] });
            }
            return Ok(());
        }
        let there = |i: usize| !nulls.is_some_and(|nulls| nulls.is_null(i));
        macro_rules! add {
            ($($texts:expr),*) => { $(
                if let Some(texts) = $texts {
                    let text = |i| if there(i) { texts.value(i) } else { "" };
                    return self.texts.add((0..texts.len()).map(text));
                }
            )* };
        }
        add!(
            array.as_string_view_opt(),
            array.as_string_opt::<i32>(),
            array.as_string_opt::<i64>()
        );
        Err(unlike())
    }

    /// Numbers the texts of a dictionary, unless it is that of the last batch.
    fn learn(&mut self, values: &ArrayRef) -> Result<()> {
        let is_known =
            |(known, _): &(ArrayRef, Vec<u32>)| known.to_data().ptr_eq(&values.to_data());
        if self.dictionary.as_ref().is_some_and(is_known) {
            return Ok(());
        }
        // As if each were a row.
        let rows = std::mem::take(&mut self.texts.codes);
        let done = self.add_texts(values, values.logical_nulls().as_ref());
        let codes = std::mem::replace(&mut self.texts.codes, rows);
        self.dictionary = Some((values.clone(), codes));
        done
    }

    /// Which rows are missing; with masks only that is said of them, else integers become floats.
    fn take_missing(&mut self, masks: bool) -> Option<Vec<bool>> {
        let missing = std::mem::take(&mut self.missing);
        if missing.is_empty() {
            return None;
        }
        let dtype = self.kind.dtype();
        if !masks && !self.kind.is_text() && !dtype.is_float() {
            let lanes = self.bytes.chunks_exact(dtype.bytes());
            let floats = lanes.zip(&missing).map(|(lane, &is_missing)| {
                let mut word = [0; 8];
                word[..lane.len()].copy_from_slice(lane);
                if is_missing { f64::NAN } else { dtype.decode(u64::from_le_bytes(word)).to_f64() }
            });
            self.bytes = floats.flat_map(f64::to_le_bytes).collect();
            self.kind = Kind::Lanes(DType::F64);
        }
        masks.then_some(missing)
    }

    fn finish(self, session: &Session) -> Result<Values> {
        Ok(match self.kind {
            Kind::Text => Values::Texts(self.texts),
            Kind::Category => Values::Category(self.texts),
            kind => Values::Lanes(session.from_bytes(kind.dtype(), &self.bytes)?),
        })
    }
}

impl Texts {
    fn add<'a>(&mut self, texts: impl Iterator<Item = &'a str>) -> Result<()> {
        for (i, text) in texts.enumerate() {
            if i % TEXTS == 0 {
                poll()?;
            }
            self.push(text).ok_or_else(|| out_of_memory("more than 2^32 different texts"))?;
        }
        Ok(())
    }

    /// The number of a text, which it gets if it has none.
    fn number(&mut self, text: &str) -> Result<u32> {
        let (number, _) = self.names.insert_full(text.into());
        u32::try_from(number).map_err(|error| damaged(&error))
    }
}
