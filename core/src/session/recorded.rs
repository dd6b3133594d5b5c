//! Functions of arrays that are recorded once, and called with other arrays (S21).

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::trace::replay::Replay;

/// What a function recorded of stand-ins: the same is recorded of other arrays, without calling it.
#[derive(Debug)]
pub struct Recorded {
    session: Session,
    replay: Replay,
}

impl Session {
    /// Arrays of the types and sizes of others that have no lanes: a function that is called with them is recorded, and one
    /// that reads them fails.
    ///
    /// # Errors
    /// `ForeignArray`.
    pub fn stand_ins(&self, of: &[&Array]) -> Result<Vec<Array>> {
        let ids = self.ids("jit", of)?;
        self.record_all(|recorder| {
            Ok(ids.iter().map(|&id| recorder.stand_in(id)).collect::<Vec<_>>())
        })
    }

    /// Runs `work`, a function that is recorded: it may not draw from a generator of the session.
    pub fn recording_function<R>(&self, work: impl FnOnce() -> R) -> R {
        self.meanwhile(
            |table| table.recorded_functions += 1,
            |table| table.recorded_functions -= 1,
            work,
        )
    }

    /// Lets the recording of a function fail, whatever the function makes of the error.
    pub fn fail_recording(&self, error: Error) {
        self.with_table(|table| table.recording_failure = Some(error));
    }

    /// What let the recording of a function fail since this was asked.
    pub fn take_recording_failure(&self) -> Option<Error> {
        self.with_table(|table| table.recording_failure.take())
    }

    /// Whether a function is being recorded.
    pub fn records_function(&self) -> bool {
        self.with_table(|table| table.recorded_functions > 0)
    }

    /// The flags, a bit each: what is recorded may depend on them.
    pub fn flag_bits(&self) -> u64 {
        self.0.common.flags.bits()
    }

    /// What was recorded from stand-ins to outputs.
    ///
    /// # Errors
    /// `ForeignArray`, `Interrupted`.
    pub fn recorded(&self, stand_ins: &[&Array], outputs: &[&Array]) -> Result<Recorded> {
        let (inputs, outputs) = (self.ids("jit", stand_ins)?, self.ids("jit", outputs)?);
        let replay = self.with_recorder(|recorder| recorder.replay(&inputs, &outputs))?;
        // Nobody outside holds them: they are never evaluated.
        self.with_table(|table| {
            let held = replay.inputs.iter().chain(&replay.outputs);
            held.for_each(|&id| table.inc_internal(id));
        });
        Ok(Recorded { session: self.clone(), replay })
    }
}

impl Recorded {
    /// The outputs for these inputs, in the place of the stand-ins.
    ///
    /// **Evaluation**: recorded, with what is around.
    ///
    /// # Errors
    /// `ForeignArray`; `SizeMismatch` or `TypeMismatch` if an input is not like its stand-in; `Interrupted`.
    pub fn call(&self, inputs: &[&Array]) -> Result<Vec<Array>> {
        let op = "jit";
        let ids = self.session.ids(op, inputs)?;
        self.session.record_all(|recorder| {
            for (&stand_in, &id) in self.replay.inputs.iter().zip(&ids) {
                let [own, other] = [stand_in, id].map(|id| (recorder.dtype(id), recorder.size(id)));
                check(op, own, other)?;
            }
            recorder.replayed(&self.replay, &ids)
        })
    }
}

fn check(op: &'static str, own: (DType, u64), other: (DType, u64)) -> Result<()> {
    if own.0 != other.0 {
        return Err(Error::TypeMismatch { op, lhs: own.0, rhs: other.0 });
    }
    if own.1 != other.1 {
        return Err(Error::SizeMismatch { op, lhs: own.1, rhs: other.1 });
    }
    Ok(())
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.session.with_table(|table| {
            let held = self.replay.inputs.iter().chain(&self.replay.outputs);
            held.for_each(|&id| table.dec_internal(id));
        });
    }
}
