//! What is evaluated because somebody reads, and because much waits.

use super::{BATCH, FORBID_EVAL, Session};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::ir::table::Table;
use crate::ir::var::VarId;

/// Bytes up to which results are computed that nobody asked for.
const MOST_BYTES: u64 = 1 << 30;

impl Session {
    /// [`Session::eval`], because `what` looks at the contents.
    ///
    /// # Errors
    /// As there; `EvaluationForbidden`.
    pub(crate) fn eval_for(&self, what: &'static str, arrays: &[&Array]) -> Result<()> {
        let is_pending =
            |array: &&Array| array.session().with_table(|table| table.is_pending(array.id()));
        if self.common().flags.get(FORBID_EVAL) && arrays.iter().any(is_pending) {
            return Err(Error::EvaluationForbidden { what });
        }
        self.eval(arrays)
    }

    /// Evaluates because `what` looks at contents: where many small values wait that are alike, all of them, as one batch;
    /// with a number what was detached from it.
    pub(crate) fn evaluate_for(&self, what: &'static str, id: VarId) -> Result<()> {
        let flags = &self.common().flags;
        if flags.get(FORBID_EVAL) && self.with_table(|table| table.is_pending(id)) {
            return Err(Error::EvaluationForbidden { what });
        }
        let is_batched = flags.get(BATCH);
        let (n, others) = self.with_table(|table| {
            let mut others = if is_batched { table.waiting_alike(id) } else { Vec::new() };
            let n = others.len();
            others.extend(table.hold_detached(id));
            (n, others)
        });
        if others.is_empty() {
            return self.evaluate_then(&[id], true, |_| Ok(()));
        }
        if n > 0 {
            self.common()
                .log
                .line(1, || format!("reading one of {n} alike that wait: evaluating all"));
        }
        let ids: Vec<VarId> = [id].into_iter().chain(others.iter().copied()).collect();
        let result = self.evaluate_then(&ids, true, |_| Ok(()));
        self.with_table(|table| others.iter().for_each(|&id| table.dec_external(id)));
        match result {
            // What is wrong with the others is told to who asks for them.
            Err(error) if !matches!(error, Error::Interrupted) => {
                self.evaluate_then(&[id], true, |_| Ok(()))
            }
            result => result,
        }
    }

    /// Writes a line of a log level, made only if it is wanted: whoever begins what nobody asked for says so.
    pub fn log(&self, level: u8, text: impl FnOnce() -> String) {
        self.common().log.line(level, text);
    }

    /// Evaluates what is held, if there are a million variables: so a script that reads nothing takes no more and
    /// more memory. Says so at log level 1. To be called now and then between operations, where nothing is recorded on this
    /// thread; it does nothing where the flag `forbid_eval` is set, to what derivatives may be asked of, and where the
    /// results would take more than a gigabyte.
    ///
    /// # Errors
    /// As [`Session::eval`].
    pub fn relieve(&self) -> Result<()> {
        self.family().iter().try_for_each(Self::relieve_table)
    }

    /// Evaluates variables, but for those that are made of stand-ins: they have no lanes.
    pub(super) fn evaluate_with_lanes(&self, ids: &[VarId]) -> Result<()> {
        match self.evaluate_then(ids, false, |_| Ok(())) {
            // Planning found one; there are few, and seldom.
            Err(Error::StandIn { .. }) => {
                let with_lanes = self.with_table(|table| table.with_lanes(ids));
                self.evaluate_then(&with_lanes, false, |_| Ok(()))
            }
            result => result,
        }
    }

    fn relieve_table(&self) -> Result<()> {
        let is_crowded = |table: &mut Table| {
            table.is_crowded()
                && table.recording.functions.is_empty()
                && table.open_region_mut().is_none()
        };
        if !self.with_table(is_crowded) || self.common().flags.get(FORBID_EVAL) {
            return Ok(());
        }
        let mut bytes = 0_u64;
        let mut is_wanted = |table: &Table, id: VarId| {
            let variable = table.get(id);
            let fits = bytes.saturating_add(variable.bytes()) <= MOST_BYTES && !variable.tracked;
            bytes += if fits { variable.bytes() } else { 0 };
            fits
        };
        let mut n_recorded = 0;
        let ids = self.with_table(|table| {
            n_recorded = table.n_live();
            table.hold_unevaluated(&mut is_wanted)
        });
        if !ids.is_empty() {
            let line = || format!("{n_recorded} variables: evaluating {} arrays", ids.len());
            self.common().log.line(1, line);
        }
        let result = self.evaluate_with_lanes(&ids);
        self.with_table(|table| {
            ids.iter().for_each(|&id| table.dec_external(id));
            table.sweep();
            table.relieved();
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use crate::array::Array;
    use crate::session::Session;

    fn works(session: &Session, n: u32) -> Vec<Array> {
        let x = session.array(&[1.0_f32, 2.0]).unwrap();
        session.eval(&[&x]).unwrap();
        let work = |k: u32| x.try_mul(f64::from(k) + 0.5).unwrap().try_add(1.0).unwrap();
        (0..n).map(work).collect()
    }

    #[test]
    fn who_reads_a_number_reads_what_was_detached_from_it() {
        let session = Session::new().unwrap();
        let x = session.array(&[1.0_f32, 2.0]).unwrap().enable_grad().unwrap();
        let square = x.try_mul(&x).unwrap();
        let loss = square.hsum().unwrap();
        let (kept, lanes) = (loss.detach().unwrap(), square.detach().unwrap());
        assert_eq!(loss.to_vec::<f32>().unwrap(), [5.0]);
        assert!(kept.is_evaluated() && !kept.is_tracked());
        assert_eq!(kept.to_vec::<f32>().unwrap(), [5.0]);
        // Lanes take memory.
        assert_eq!(square.to_vec::<f32>().unwrap(), [1.0, 4.0]);
        assert!(!lanes.is_evaluated());
        let again = loss.detach().unwrap();
        assert!(again.is_evaluated());
    }

    #[test]
    fn who_reads_one_of_many_reads_all() {
        let session = Session::new().unwrap();
        let many = works(&session, 40);
        let other = many[0].try_sub(&many[1]).unwrap();
        assert_eq!(many[7].to_vec::<f32>().unwrap(), [8.5, 16.0]);
        assert!(many.iter().all(Array::is_evaluated) && !other.is_evaluated());
        let few = works(&session, 20);
        drop(many);
        few[3].to_vec::<f32>().unwrap();
        assert!(!few[4].is_evaluated());
        session.set_flag("batch", false).unwrap();
        let apart = works(&session, 40);
        apart[0].to_vec::<f32>().unwrap();
        assert!(!apart[1].is_evaluated());
    }

    /// What is read need not be one of them itself.
    #[test]
    fn what_is_made_of_one_of_many_reads_all() {
        let session = Session::new().unwrap();
        let many = works(&session, 40);
        let sum = many[5].hsum().unwrap();
        assert_eq!(sum.to_vec::<f32>().unwrap(), [18.5]);
        assert!(many.iter().all(Array::is_evaluated));
    }

    #[test]
    fn what_waits_is_evaluated_beyond_a_mark() {
        let session = Session::new().unwrap();
        let waiting = works(&session, 30);
        session.relieve().unwrap();
        assert!(!waiting[0].is_evaluated());
        session.with_table(|table| table.set_high_water(50));
        session.set_flag("forbid_eval", true).unwrap();
        session.relieve().unwrap();
        assert!(!waiting[0].is_evaluated());
        session.set_flag("forbid_eval", false).unwrap();
        session.relieve().unwrap();
        assert!(waiting.iter().all(Array::is_evaluated));
    }

    #[test]
    fn what_has_no_lanes_waits() {
        let session = Session::new().unwrap();
        let x = session.array(&[1.0_f32, 2.0]).unwrap();
        let stand_in = session.stand_ins(&[&x]).unwrap().remove(0);
        let made = stand_in.try_mul(3.0).unwrap().hsum().unwrap();
        let waiting = x.try_add(1.0).unwrap();
        session.eval_all().unwrap();
        assert!(waiting.is_evaluated() && !made.is_evaluated());
        let recorded = session.recorded("tripled", &[&stand_in], &[&made]).unwrap();
        let called = recorded.call(&[&x]).unwrap().remove(0);
        session.eval_all().unwrap();
        assert!(called.is_evaluated() && !made.is_evaluated());
        assert_eq!(called.to_vec::<f32>().unwrap(), [9.0]);
        assert!(made.to_vec::<f32>().is_err());
    }
}
