//! Functions of arrays that are recorded once, and called with other arrays (S21).

use std::fmt;
use std::sync::{Arc, Weak};

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::composite::{Record, Recording};
use crate::ir::table::Table;
use crate::session::{Inner, Session};

/// What a function recorded of stand-ins: the same is recorded of other arrays, without calling it.
pub struct Recorded {
    session: Weak<Inner>,
    recording: Arc<Recording>,
    /// Records the same of other inputs.
    record: Arc<Record>,
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

    /// Runs `work`, a function that this thread records: it may not draw from a generator of the session.
    pub fn recording_function<R>(&self, work: impl FnOnce() -> R) -> R {
        self.meanwhile(
            |table| table.recording.functions.begin(),
            |table| table.recording.functions.end(),
            work,
        )
    }

    /// Lets the recording of a function on this thread fail, whatever the function makes of the error.
    pub fn fail_recording(&self, error: Error) {
        self.with_table(|table| table.recording.fail(error));
    }

    /// What let the recording of a function on this thread fail since this was asked.
    pub fn take_recording_failure(&self) -> Option<Error> {
        self.with_table(|table| table.recording.take_failure())
    }

    /// Whether this thread records a function.
    pub fn records_function(&self) -> bool {
        self.with_table(|table| table.recording.functions.has_own())
    }

    /// Whether a call with these arguments may be recorded as another one was: they are of this session, no derivatives are
    /// asked of them, and nothing is being recorded.
    pub fn replays(&self, arguments: &[Array]) -> bool {
        let are_plain = |table: &mut Table| {
            // A body that runs step by step has a part in what is recorded in it.
            table.open_region_mut().is_none()
                && !table.recording.functions.has_own()
                && arguments.iter().all(|array| !table.get(array.id()).tracked)
        };
        arguments.iter().all(|array| self.is(array.session()))
            && !self.is_recording()
            && !self.is_watched()
            && self.with_table(are_plain)
    }

    /// The flags, a bit each: what is recorded may depend on them.
    pub fn flag_bits(&self) -> u64 {
        self.0.common.flags.bits()
    }

    /// What was recorded from stand-ins to outputs; calls of it are shown under `name`.
    ///
    /// # Errors
    /// `Argument` for inputs that no [`Session::stand_ins`] gave; `ForeignArray`, `Interrupted`.
    pub fn recorded(
        &self,
        name: &'static str,
        stand_ins: &[&Array],
        outputs: &[&Array],
    ) -> Result<Recorded> {
        let (inputs, outputs) = (self.ids(name, stand_ins)?, self.ids(name, outputs)?);
        self.with_recorder(|mut recorder| {
            if let Some(place) = inputs.iter().position(|&input| !recorder.is_stand_in(input)) {
                let what = format!("input {place} is none of the arrays that `stand_ins` gave");
                return Err(Error::Argument { op: name, what });
            }
            let recording = Arc::new(recorder.recording(name, &inputs, &outputs)?);
            let record = recorder.recorder_of(&recording);
            Ok(Recorded { session: self.downgrade(), recording, record })
        })
    }
}

impl Recorded {
    /// The outputs for these inputs, in the place of the stand-ins.
    ///
    /// **Evaluation**: recorded, with what is around. Where nothing but these outputs is evaluated, and the inputs are in
    /// memory, the second time nothing is planned.
    ///
    /// # Errors
    /// `ForeignArray`; `Argument` for another number of inputs, and where its session has ended; `SizeMismatch` or
    /// `TypeMismatch` if an input is not like its stand-in; `Interrupted`.
    pub fn call(&self, inputs: &[&Array]) -> Result<Vec<Array>> {
        let op = self.recording.name;
        let gone = || {
            let what = "the session that it was recorded in has ended".into();
            Error::Argument { op, what }
        };
        let session = Session::upgrade(&self.session).ok_or_else(gone)?;
        let ids = session.ids(op, inputs)?;
        let n = self.recording.inputs.len();
        if ids.len() != n {
            let what = format!("got {} inputs, expected {n}", ids.len());
            return Err(Error::Argument { op, what });
        }
        session.record_all(|recorder| {
            for (&stand_in, &id) in self.recording.inputs.iter().zip(&ids) {
                let [own, other] = [stand_in, id].map(|id| (recorder.dtype(id), recorder.size(id)));
                check(op, own, other)?;
            }
            recorder.recorded_call(&self.recording, &self.record, &ids)
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

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.recording.fmt(f)
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if let Some(session) = Session::upgrade(&self.session) {
            session.with_table(|table| table.dec_internal(self.recording.keeper));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::array::Array;
    use crate::dtype::DType;
    use crate::error::Error;
    use crate::ir::op::ScatterOp;
    use crate::session::Session;

    /// A call within a recording is a part of it, and of each call of that.
    #[test]
    fn recorded_calls_in_recordings() {
        let session = Session::new().unwrap();
        let [a, b] = [[1.0_f32, 2.0], [10.0, 20.0]].map(|lanes| session.array(&lanes).unwrap());
        let x = session.stand_ins(&[&a]).unwrap().remove(0);
        let outputs = [x.try_mul(2.0).unwrap(), x.try_add(1.0).unwrap()];
        let inner = session.recorded("inner", &[&x], &[&outputs[0], &outputs[1]]).unwrap();
        let y = session.stand_ins(&[&a]).unwrap().remove(0);
        let called = inner.call(&[&y]).unwrap();
        let outer = session.recorded("outer", &[&y], &[&called[0], &called[1]]).unwrap();
        let first = outer.call(&[&a]).unwrap();
        session.eval(&[&first[0], &first[1]]).unwrap();
        let second = outer.call(&[&b]).unwrap();
        drop((inner, outer));
        assert_eq!(second[1].to_vec::<f32>().unwrap(), [11.0, 21.0]);
        assert_eq!(second[0].to_vec::<f32>().unwrap(), [20.0, 40.0]);
        assert_eq!(first[0].to_vec::<f32>().unwrap(), [2.0, 4.0]);
    }

    /// What a recording writes by index is its own in each call, also where nothing is planned.
    #[test]
    fn recordings_write() {
        let session = Session::new().unwrap();
        let index = session.array(&[2_u32, 0]).unwrap();
        let x = session.stand_ins(&[&session.array(&[0.0_f32; 2]).unwrap()]).unwrap().remove(0);
        let mut target = session.zeros(DType::F32, 3).unwrap();
        target.scatter(ScatterOp::Add, &x, &index, None).unwrap();
        let doubled = target.try_mul(2.0).unwrap();
        target.scatter(ScatterOp::Set, 7, &session.array(&[1_u32]).unwrap(), None).unwrap();
        let total = x.hsum().unwrap();
        let f = session.recorded("f", &[&x], &[&target, &doubled, &total]).unwrap();
        let mut all = Vec::new();
        for k in 0..4_u8 {
            let x = session.array(&[f32::from(k), 1.0]).unwrap();
            let outputs = f.call(&[&x]).unwrap();
            assert_eq!(outputs[2].to_vec::<f32>().unwrap(), [f32::from(k) + 1.0]);
            all.push((f32::from(k), outputs));
        }
        for (k, outputs) in all {
            assert_eq!(outputs[0].to_vec::<f32>().unwrap(), [1.0, 7.0, k]);
            assert_eq!(outputs[1].to_vec::<f32>().unwrap(), [2.0, 0.0, 2.0 * k]);
        }
    }

    /// Of a small call all outputs are evaluated where one is read, of others that one.
    #[test]
    fn small_calls_are_evaluated_as_a_whole() {
        let session = Session::new().unwrap();
        for (n, is_whole) in [(10, true), (70_000, false)] {
            let a = session.full(DType::F32, 2.0, n).unwrap();
            a.eval().unwrap();
            let x = session.stand_ins(&[&a]).unwrap().remove(0);
            let outputs = [x.hsum().unwrap(), x.try_add(1.0).unwrap()];
            let f = session.recorded("f", &[&x], &[&outputs[0], &outputs[1]]).unwrap();
            for _ in 0..3 {
                let outputs = f.call(&[&a]).unwrap();
                outputs[0].eval().unwrap();
                assert_eq!(outputs[1].is_evaluated(), is_whole);
                assert_eq!(outputs[1].item(0).unwrap().to_f64(), 3.0);
            }
        }
    }

    /// An index out of bounds is told to who asks for what comes of it.
    #[test]
    fn outputs_fail_by_themselves() {
        let session = Session::new().unwrap();
        let a = session.array(&[1.0_f32, 2.0]).unwrap();
        let x = session.stand_ins(&[&a]).unwrap().remove(0);
        let index = session.array(&[5_u32]).unwrap();
        let outputs = [x.try_add(1.0).unwrap(), x.gather(&index, None).unwrap()];
        let f = session.recorded("f", &[&x], &[&outputs[0], &outputs[1]]).unwrap();
        for _ in 0..3 {
            let outputs = f.call(&[&a]).unwrap();
            assert_eq!(outputs[0].to_vec::<f32>().unwrap(), [2.0, 3.0]);
            assert!(outputs[1].to_vec::<f32>().is_err());
        }
    }

    /// While one thread records a function, what others do is no part of it.
    #[test]
    fn threads_record_by_themselves() {
        let session = Session::new().unwrap();
        let arrays = [session.array(&[1.0_f32, 2.0]).unwrap()];
        let other = || {
            assert!(!session.records_function() && session.replays(&arrays));
            session.check_draw("rand").unwrap();
            session.fail_recording(Error::Interrupted);
        };
        session.recording_function(|| {
            assert!(session.records_function() && !session.replays(&arrays));
            std::thread::scope(|scope| scope.spawn(other).join().unwrap());
        });
        assert!(session.take_recording_failure().is_none());
        assert!(!session.records_function());
    }

    /// What a function is recorded from and called with is as it was said to be.
    #[test]
    fn inputs_are_counted() {
        let session = Session::new().unwrap();
        let a = session.array(&[1.0_f32, 2.0]).unwrap();
        let x = session.stand_ins(&[&a]).unwrap().remove(0);
        let double = x.try_mul(2.0).unwrap();
        assert!(session.recorded("double", &[&double], &[&x]).is_err());
        assert!(session.recorded("double", &[&a], &[&double]).is_err());
        let recorded = session.recorded("double", &[&x], &[&double]).unwrap();
        let error = |inputs: &[&Array]| recorded.call(inputs).unwrap_err().to_string();
        assert_eq!(error(&[]), "double: got 0 inputs, expected 1");
        assert_eq!(error(&[&a, &a]), "double: got 2 inputs, expected 1");
        assert_eq!(recorded.call(&[&a]).unwrap()[0].to_vec::<f32>().unwrap(), [2.0, 4.0]);
    }
}
