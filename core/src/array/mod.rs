//! The handle that Rust code and scripts hold: one external reference to a variable.

pub(crate) mod derivatives;
mod description;
mod distinct;
mod groups;
mod held;
mod horizontal;
pub(crate) mod isolation;
pub(crate) mod operand;
pub(crate) mod operators;
mod rearrange;
mod right_side;
pub(crate) mod rules;
mod slice;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::operators::{methods, operators};
use crate::backend::{FileLanes, SharedFile};
use crate::convert::exactly;
use crate::dtype::{DType, Element, Scalar};
use crate::error::{Error, Result, counted};
use crate::interrupt;
use crate::ir::bytes::quieten;
use crate::ir::display;
use crate::ir::op::{Op, ReduceOp, ScatterMode, ScatterOp, Writer};
use crate::ir::var::{Handle, Kind, MAX_OPERANDS, Serial, VarId};
use crate::memory::buffer::Buffer;
use crate::session::runtime::Device;
use crate::session::{CONVERTED, Session};
use crate::trace::Recorder;
use crate::trace::functions::{self, Function};

pub use crate::ir::bytes;
pub use description::Description;
pub use groups::Groups;
pub(crate) use groups::combining;
pub use operand::Operand;
pub use right_side::RightSide;
pub use slice::Slice;

/// Lanes of an array of which one is computed alone, if it is made of lane numbers: to store them takes longer.
const LARGE: u64 = 1 << 24;

/// An array, or real and imaginary part: few, so that they take no memory of their own.
pub type Parts = SmallVec<[Array; 2]>;

/// A one-dimensional array, evaluated or not. Cloning names the same value; values never change:
/// writing makes the handle name a new one.
#[must_use = "operations change nothing: what they return is the result"]
pub struct Array {
    session: Session,
    handle: Handle,
}

impl Array {
    /// Takes over an external reference.
    pub(crate) fn adopt(session: Session, handle: Handle) -> Self {
        Self { session, handle }
    }

    pub(crate) fn id(&self) -> VarId {
        self.handle.id
    }

    /// The session it belongs to.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Lane type.
    pub fn dtype(&self) -> DType {
        self.handle.dtype
    }

    /// Number of lanes.
    pub fn size(&self) -> u64 {
        self.handle.size
    }

    /// Bytes that all lanes take where they are in memory.
    pub fn bytes(&self) -> u64 {
        self.size().saturating_mul(self.dtype().bytes() as u64)
    }

    /// Whether there are no lanes.
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// The number that dumps show.
    pub fn serial(&self) -> Serial {
        self.session.with_table(|table| Serial(table.get(self.id()).serial))
    }

    /// Whether the contents are in memory.
    pub fn is_evaluated(&self) -> bool {
        self.session.with_table(|table| table.get(self.id()).kind == Kind::Data)
    }

    /// Whether reading waits for nothing: the contents are in memory, and the launch that writes them has run (on a GPU
    /// all that was launched).
    pub fn is_ready(&self) -> bool {
        self.session.has_run(self.id())
    }

    /// Whether lanes come of an index out of bounds in the evaluation that made them: some may be 0 for it.
    pub fn is_faulty(&self) -> bool {
        let Serial(serial) = self.serial();
        self.session.with_reports(|reports| reports.is_faulty(serial))
    }

    /// The error of its lanes, which stays to be told.
    pub(crate) fn untold_error(&self) -> Option<Error> {
        let Serial(serial) = self.serial();
        self.session.with_reports(|reports| reports.of(serial).cloned())
    }

    /// Whether this stands for a value in the body of a loop or branch: it has no lanes that can be read.
    pub fn is_recorded(&self) -> bool {
        self.session.with_table(|table| table.get(self.id()).scope != 0)
    }

    /// The number that all lanes hold, if it is known without evaluating.
    pub fn literal(&self) -> Option<Scalar> {
        self.session.with_table(|table| {
            let variable = table.get(self.id());
            variable.kind.number().map(|bits| variable.dtype.decode(bits))
        })
    }

    /// The label, if one was set.
    pub fn label(&self) -> Option<Arc<str>> {
        self.session.with_table(|table| table.get(self.id()).label().cloned())
    }

    /// Names the array in dumps. If other handles share its value, this one gets a copy of the node.
    pub fn set_label(&mut self, label: &str) {
        self.handle = self.session.with_table(|table| {
            let mut id = self.id();
            // A number that others are made of is theirs, too; what was computed keeps its label where it is used.
            let variable = table.get(id);
            let is_number = variable.kind.number().is_some() && variable.internal > 0;
            if variable.external > 1 || is_number {
                let fork = table.fork(id);
                table.dec_external(id);
                id = fork;
            }
            // A labelled value must not be found by later recordings.
            table.forget_number(id);
            let cold = table.get_mut(id).cold_mut();
            (cold.label, cold.is_label_passed_on) = (Some(label.into()), false);
            table.handle(id)
        });
    }

    /// Names what was written to the array, under its label; what was there keeps that only while others hold it.
    pub(crate) fn replace(&mut self, mut written: Self) {
        if let Some(label) = self.label() {
            self.session.with_table(|table| {
                table.get_mut(self.id()).cold_mut().is_label_passed_on = true;
            });
            written.set_label(&label);
        }
        *self = written;
    }

    // ---- recording ----

    /// Records an elementwise operation with other operands (S6, S7).
    ///
    /// # Errors
    /// `SizeMismatch`, `TypeMismatch`, `UnsupportedType`, `NumberRange`, `ForeignArray`; `Argument` if there are not as many
    /// operands as it takes.
    pub fn apply(&self, op: Op, others: &[Operand<'_>]) -> Result<Self> {
        let n = 1 + others.len();
        counted(|| op.spelling(), n, op.arity())?;
        self.session.apply(op, &self.followed_by(others)[..n])
    }

    /// Records a function with further arguments (S7).
    ///
    /// # Errors
    /// As [`Array::apply`].
    pub fn call(&self, function: &Function, others: &[Operand<'_>]) -> Result<Self> {
        let n = 1 + others.len();
        counted(|| function.name, n, function.arity)?;
        self.session.call(function, &self.followed_by(others)[..n])
    }

    /// Itself and the others, on the stack: this runs for every recorded operation.
    fn followed_by<'a>(&'a self, others: &[Operand<'a>]) -> [Operand<'a>; MAX_OPERANDS] {
        let mut operands = [Operand::Array(self); MAX_OPERANDS];
        for (operand, &other) in operands[1..].iter_mut().zip(others) {
            *operand = other;
        }
        operands
    }

    pub(crate) fn check_session(&self, op: &'static str, other: &Self) -> Result<()> {
        let is_here = self.session.is(&other.session);
        if is_here { Ok(()) } else { Err(self.session.foreign(op, &other.session)) }
    }

    /// Another array where this one is; a number comes here.
    pub(crate) fn brought<'a>(&self, op: &'static str, other: &'a Self) -> Result<Cow<'a, Self>> {
        if self.session.is(&other.session) {
            return Ok(Cow::Borrowed(other));
        }
        self.session.adopt_number(op, other).map(Cow::Owned)
    }

    /// The array converted to another type (S7, S9).
    ///
    /// # Errors
    /// None at present.
    pub fn cast(&self, dtype: DType) -> Result<Self> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        self.session.record(|recorder| recorder.cast(self.id(), dtype))
    }

    /// The same bits as another type of the same width.
    ///
    /// # Errors
    /// `Argument` if the widths differ.
    pub fn reinterpret(&self, dtype: DType) -> Result<Self> {
        self.session.record(|recorder| recorder.reinterpret(self.id(), dtype))
    }

    /// All lanes combined into one lane, lazily (S11).
    ///
    /// # Errors
    /// `UnsupportedType`, `EmptyReduction`.
    pub fn reduce(&self, op: ReduceOp) -> Result<Self> {
        self.session.record(|recorder| recorder.reduce(op, self.id()))
    }

    /// The arithmetic mean, lazily; NaN for an empty array.
    ///
    /// # Errors
    /// `UnsupportedType` for masks.
    pub fn mean(&self) -> Result<Self> {
        self.session.compose("hmean", &[], &[self], |recorder, args| recorder.mean(args[0]))
    }

    /// `self[index[i]]`, 0 where `active` is false or the index out of bounds (S13).
    ///
    /// # Errors
    /// `UnsupportedType`, `SizeMismatch`, `ForeignArray`. Bounds errors come later.
    pub fn gather(&self, index: &Self, active: Option<&Self>) -> Result<Self> {
        let index = self.brought("gather", index)?;
        let active = active.map(|active| self.brought("gather", active)).transpose()?;
        // Nothing is dropped while the table is lent.
        let (index, active) = (index.id(), active.as_ref().map(|active| active.id()));
        self.session.record(|recorder| {
            recorder.check_reach("gather", self.id(), index)?;
            recorder.gather(self.id(), index, active)
        })
    }

    /// `self[index[i]]` for indices that are known to be in bounds. Of what is not evaluated and made of few operations,
    /// those lanes alone are computed.
    pub(crate) fn places(&self, index: &Self) -> Result<Self> {
        self.session.record(|recorder| recorder.places(self.id(), index.id()))
    }

    /// Writes `value[i]` at `index[i]` where `active`: the handle then names the new value (S12).
    ///
    /// # Errors
    /// `UnsupportedType`, `TypeMismatch`, `SizeMismatch`, `ForeignArray`. Bounds errors come later. With the
    /// flag `check_duplicates`, `Argument` if a plain scatter writes an element twice.
    pub fn scatter<'a>(
        &mut self,
        op: ScatterOp,
        value: impl Into<Operand<'a>>,
        index: &Self,
        active: Option<&Self>,
    ) -> Result<()> {
        self.scatter_as(op, ScatterMode::Fast, value, index, active)
    }

    /// [`Array::scatter`] in a mode: `Exact` writes in lane order on GPUs too, which is slower there.
    ///
    /// # Errors
    /// As [`Array::scatter`].
    pub fn scatter_as<'a>(
        &mut self,
        op: ScatterOp,
        mode: ScatterMode,
        value: impl Into<Operand<'a>>,
        index: &Self,
        active: Option<&Self>,
    ) -> Result<()> {
        self.write(op, mode, Writer::Scatter, value.into(), index, active)
    }

    /// As [`Array::scatter_as`], as a part of a function, whose errors it has.
    pub(crate) fn write(
        &mut self,
        op: ScatterOp,
        mode: ScatterMode,
        writer: Writer,
        value: Operand<'_>,
        index: &Self,
        active: Option<&Self>,
    ) -> Result<()> {
        let bring = |other| self.brought(op.name(), other);
        let (index, active) = (bring(index)?, active.map(bring).transpose()?);
        let (index, active) = (&*index, active.as_deref());
        let there = match value {
            Operand::Array(value) => Some(bring(value)?),
            Operand::Number(_) => None,
        };
        let value = there.as_deref().map_or(value, Operand::Array);
        if op == ScatterOp::Set && self.session.checks_duplicates() {
            self.refuse_duplicates(index, active)?;
        }
        let written = self.session.record(|recorder| {
            recorder.check_reach(op.function(writer), self.id(), index.id())?;
            let value = self.element(recorder, op.function(writer), value)?;
            let active = active.map(|active| active.id());
            recorder.write(op, mode, writer, [self.id(), value, index.id()], active)
        })?;
        self.replace(written);
        Ok(())
    }

    /// What may be written to the array: a number as its lane type.
    pub(crate) fn element(
        &self,
        recorder: &mut Recorder<'_>,
        op: &'static str,
        value: Operand<'_>,
    ) -> Result<VarId> {
        let dtype = recorder.dtype(self.id());
        match value {
            Operand::Array(array) => Ok(array.id()),
            Operand::Number(Scalar::Bool(_)) if dtype != DType::Mask => {
                Err(Error::conversion(op, DType::Mask, dtype))
            }
            Operand::Number(number) => {
                let bits = dtype.encode(number)?;
                Ok(recorder.literal(dtype, bits, 1))
            }
        }
    }

    // ---- contents ----

    /// Evaluates the array, and only it.
    ///
    /// # Errors
    /// As [`Session::eval`].
    pub fn eval(&self) -> Result<()> {
        self.session.eval(&[self])
    }

    /// Puts a number into memory; data stays as it is.
    pub(crate) fn materialize(&self) -> Result<()> {
        if self.is_evaluated() {
            return Ok(());
        }
        self.session.with_evaluator(|evaluator| evaluator.fill(self.id()))
    }

    /// The device address of the contents, evaluating them if need be.
    ///
    /// # Errors
    /// As [`Session::eval`].
    pub fn address(&self) -> Result<u64> {
        let (buffer, device) = self.session().with_device(|| self.buffer())?;
        device.backend.memory().bring_here(buffer.address(), buffer.bytes() as u64)?;
        Ok(buffer.address())
    }

    /// All lanes; `T` must be the lane type.
    ///
    /// # Errors
    /// `UnsupportedType` for another type; what evaluation fails with; a pending bounds error, see
    /// [`Session::take_error`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let dtype = self.dtype();
        if dtype != T::DTYPE {
            let expected = T::DTYPE.script_name();
            return Err(Error::UnsupportedType { op: "to_vec", dtype, expected });
        }
        let size = self.size();
        let mut values = self.session.host_room(exactly::<usize>(size))?;
        self.read_pieces(0..size, |piece| bytes::take(piece, &mut values))?;
        Ok(values)
    }

    /// The lanes of a range as numbers; only these are read back.
    ///
    /// # Errors
    /// As [`Array::to_vec`]; `IndexOutOfRange`.
    pub fn read(&self, lanes: Range<u64>) -> Result<Vec<Scalar>> {
        let dtype = self.dtype();
        let bytes = self.read_bytes(lanes)?;
        let mut values = self.session.host_room(bytes.len() / dtype.bytes())?;
        values.extend(bytes.chunks_exact(dtype.bytes()).map(|lane| dtype.decode(word(lane))));
        Ok(values)
    }

    /// One lane; negative numbers count from the end.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn item(&self, index: i64) -> Result<Scalar> {
        let (dtype, size) = (self.dtype(), self.size());
        let lane = place(index, size)?;
        if size >= LARGE {
            let one = self.session.record(|recorder| recorder.lane_known(self.id(), lane))?;
            if one.size() == 1 {
                return one.item(0);
            }
        }
        let contents = self.evaluated(dtype)?;
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..dtype.bytes()];
        contents.read(lane, bytes)?;
        self.session.report()?;
        quieten(dtype, bytes);
        Ok(dtype.decode(word(bytes)))
    }

    /// The little-endian bytes of a range of lanes; every NaN is the quiet NaN.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_bytes(&self, lanes: Range<u64>) -> Result<Vec<u8>> {
        let n = exactly::<usize>(lanes.end.saturating_sub(lanes.start));
        let mut bytes = self.session.host_room(n.saturating_mul(self.dtype().bytes()))?;
        self.read_pieces(lanes, |piece| bytes.extend_from_slice(piece))?;
        Ok(bytes)
    }

    /// Calls `take` with the bytes of a range of lanes, piece by piece; every NaN is the quiet NaN.
    fn read_pieces(&self, lanes: Range<u64>, mut take: impl FnMut(&[u8])) -> Result<()> {
        let (dtype, size) = (self.dtype(), self.size());
        if lanes.end > size {
            let index = i64::try_from(lanes.end).unwrap_or(i64::MAX);
            return Err(Error::IndexOutOfRange { axis: None, index, size });
        }
        let contents = self.evaluated(dtype)?;
        let width = dtype.bytes();
        // Numbers may have more lanes than bytes could be counted.
        let n = lanes.end.saturating_sub(lanes.start).saturating_mul(width as u64);
        let mut piece = vec![0; exactly::<usize>(n).min(CONVERTED)];
        // The copy of the first piece waits for the work; then its errors are known.
        contents.read(lanes.start, &mut piece)?;
        self.session.report()?;
        // Pieces are whole lanes, since every width divides their length.
        for from in (0..n).step_by(CONVERTED) {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            if from > 0 {
                piece.truncate(exactly::<usize>(n - from));
                contents.read(lanes.start + from / width as u64, &mut piece)?;
            }
            quieten(dtype, &mut piece);
            take(&piece);
        }
        Ok(())
    }

    /// Writes the little-endian bytes of all lanes into a file that is as long already, from a byte on: each part of the device
    /// its own. Every NaN is the quiet NaN. `false`, and a file that nobody should read, where some part does not reach
    /// it, or there are no lanes in memory.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn save(&self, file: &SharedFile, start: u64) -> Result<bool> {
        let dtype = self.dtype();
        if start.saturating_add(self.bytes()) > file.size() {
            return Ok(false);
        }
        let Lanes::Data { data, device } = self.evaluated(dtype)?.lanes else { return Ok(false) };
        let lanes = FileLanes { file: file.clone(), dtype, start, n: self.size() };
        let is_done = device.backend.memory().save(data.address(), &lanes)?;
        self.session.report()?;
        Ok(is_done)
    }

    /// The lanes, evaluated.
    fn evaluated(&self, dtype: DType) -> Result<Contents> {
        let ((number, data), device) = self.session.with_device(|| {
            self.session.evaluate_for("reading an array", self.id())?;
            Ok(self.session.with_table(|table| {
                let variable = table.get(self.id());
                (variable.kind.number(), variable.data.clone())
            }))
        })?;
        let lanes = match number {
            Some(bits) => Lanes::Number(bits),
            None => Lanes::Data {
                data: data.expect("internal error: read before it is in memory"),
                device,
            },
        };
        Ok(Contents { width: dtype.bytes(), lanes })
    }

    /// The trace that the array depends on, in the DOT language.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn graphviz(&self) -> Result<String> {
        self.session.with_table(|table| display::graphviz(table, &[self.id()]))
    }
}

/// An evaluated array's lanes.
struct Contents {
    /// Bytes of one.
    width: usize,
    lanes: Lanes,
}

enum Lanes {
    /// All hold this bit pattern.
    Number(u64),
    /// In memory.
    Data { data: Arc<Buffer>, device: Arc<Device> },
}

impl Contents {
    /// Copies whole lanes from `first` on.
    fn read(&self, first: u64, bytes: &mut [u8]) -> Result<()> {
        match &self.lanes {
            Lanes::Number(bits) => {
                let number = &bits.to_le_bytes()[..self.width];
                bytes.chunks_exact_mut(self.width).for_each(|lane| lane.copy_from_slice(number));
                Ok(())
            }
            Lanes::Data { data, device } => {
                let address = data.address() + first * self.width as u64;
                device.backend.memory().read(address, bytes)
            }
        }
    }
}

/// The number that the bytes of a lane are.
fn word(lane: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..lane.len()].copy_from_slice(lane);
    u64::from_le_bytes(word)
}

/// The place of an index among so many; negative ones count from the end.
///
/// # Errors
/// `IndexOutOfRange`.
pub fn place(index: i64, size: u64) -> Result<u64> {
    let place = if index < 0 { i128::from(index) + i128::from(size) } else { index.into() };
    let place = u64::try_from(place).ok().filter(|&place| place < size);
    place.ok_or(Error::IndexOutOfRange { axis: None, index, size })
}

impl Clone for Array {
    fn clone(&self) -> Self {
        self.session.with_table(|table| table.inc_external(self.id()));
        Self { session: self.session.clone(), handle: self.handle }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        self.session.with_table(|table| {
            let Handle { id, generation, .. } = self.handle;
            let own = table.get(id).generation;
            debug_assert_eq!(own, generation, "internal error: stale handle");
            table.dec_external(id);
        });
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.serial(), self.dtype(), self.size())
    }
}

operators!(Array, Operand);

methods!(Array, Operand);

impl Array {
    fn named(&self, name: &str, others: &[Operand<'_>]) -> Result<Self> {
        self.call(functions::find(name).expect("internal error: a function without a row"), others)
    }

    /// Sine and cosine, which share the reduction of the angle.
    ///
    /// # Errors
    /// As [`Array::call`].
    pub fn sincos(&self) -> Result<(Self, Self)> {
        Ok((self.sin()?, self.cos()?))
    }

    /// Hyperbolic sine and cosine, which share the exponential function.
    ///
    /// # Errors
    /// As [`Array::call`].
    pub fn sincosh(&self) -> Result<(Self, Self)> {
        Ok((self.sinh()?, self.cosh()?))
    }

    /// Mantissa and exponent: `x = m 2^e`, 1/2 ≤ |m| < 1.
    ///
    /// # Errors
    /// As [`Array::call`].
    pub fn frexp(&self) -> Result<(Self, Self)> {
        Ok((self.mantissa()?, self.exponent()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_methods() {
        let array = Session::new().and_then(|session| session.array(&[0.5_f64])).unwrap();
        let values = [array.erf(), array.lgamma(), array.ellint_1(0.0), array.lerp(1.0, 0.5)];
        let values = values.map(|value| value.unwrap().to_vec::<f64>().unwrap()[0]);
        assert_eq!(values, [0.5204998778130465, 0.5723649429247001, 0.5, 0.75]);
    }
}
