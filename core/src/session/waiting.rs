//! Waiting for launches under way, and hearing what went wrong in them.

use std::sync::Arc;

use super::runtime::Device;
use super::{Session, lock};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId};
use crate::memory::buffer::Buffer;

/// Errors that are taken at once.
const MOST_ERRORS: usize = 1000;

/// What errors of an array are asked for by, whoever holds it.
#[derive(Clone)]
pub struct Mark {
    session: Session,
    serial: u64,
}

/// Errors that are asked for later, by [`Session::take_errors_of`]: until this is dropped nobody else is told of them.
pub struct Owed(Vec<(Session, (u64, u64))>);

impl Owed {
    /// Whether all are known, so that nothing is waited for.
    pub fn are_known(&self) -> bool {
        !self.0.iter().any(|(session, evaluations)| session.waits_within(*evaluations))
    }
}

impl Extend<Self> for Owed {
    fn extend<I: IntoIterator<Item = Self>>(&mut self, others: I) {
        others.into_iter().for_each(|mut other| self.0.append(&mut other.0));
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.0.iter().for_each(|(session, owed)| lock(&session.0.reports).asked(*owed));
    }
}

impl Array {
    /// What its errors are asked for by, [`Session::take_errors_of`].
    pub fn mark(&self) -> Mark {
        let session = self.session().clone();
        let serial = session.with_table(|table| table.get(self.id()).serial);
        Mark { session, serial }
    }
}

impl Session {
    /// Waits for its devices, then reports the first bounds error since the last report.
    ///
    /// # Errors
    /// A pending bounds error, see [`Session::take_error`], or a failure of work launched earlier.
    pub fn sync(&self) -> Result<()> {
        let failed = self.find_in_family(|session| session.wait().err());
        failed.map_or_else(|| self.report(), Err)
    }

    /// Evaluates the given arrays and waits for them, and no others, then reports as [`Session::sync`].
    ///
    /// # Errors
    /// As [`Session::eval`] and [`Session::sync`].
    pub fn finish(&self, arrays: &[&Array]) -> Result<()> {
        self.eval(arrays)?;
        arrays.iter().try_for_each(|array| array.session().wait_for(array))?;
        self.report()
    }

    /// Fails with what [`Session::take_error`] gives, if anything; what was read has been waited for.
    pub(crate) fn report(&self) -> Result<()> {
        self.take_error().map_or(Ok(()), Err)
    }

    /// Evaluates writes into arrays that have handles: they are due though nobody looks.
    ///
    /// # Errors
    /// As [`Session::eval_all`].
    pub fn eval_writes(&self) -> Result<()> {
        self.family().iter().try_for_each(|session| session.eval_held(is_write))
    }

    /// Gets ready for a fork of the process, which has none of its threads: waits until nothing is under way, and ends the
    /// workers, who come again with the next launch. Whether the child, too, can go on with it; it cannot where a GPU or other
    /// processes work for it.
    ///
    /// No thread may record, evaluate or drop arrays between this and the fork.
    ///
    /// # Errors
    /// `Interrupted`, or a failure of work launched earlier: the child must not go on.
    pub fn before_fork(&self) -> Result<bool> {
        let devices = self.family().into_iter().filter_map(|session| session.runtime().opened());
        let can = devices.map(|device| device.backend.before_fork());
        can.reduce(|all, can| Ok(all? & can?)).unwrap_or(Ok(true))
    }

    /// Whether there is one that is due.
    pub fn has_writes(&self) -> bool {
        let in_table = |table: &mut Table| {
            table.held_unevaluated().iter().any(|&id| is_write(&table.get(id).kind))
        };
        self.family().iter().any(|session| session.with_table(in_table))
    }

    /// Whether a device is the one that contents are of, and can be asked for memory while something runs: parts of others do
    /// one thing after the other.
    pub(super) fn knows(&self, device: &Arc<Device>) -> bool {
        let home = lock(&self.0.home);
        device.backend.parts() == 1 && home.as_ref().is_some_and(|home| Arc::ptr_eq(home, device))
    }

    /// Whether all are in memory, or `numbers` if those will do, as the session knows without asking the device: that of a
    /// GPU may have been lost, which an evaluation finds out.
    pub(super) fn are_there(&self, device: &Device, ids: &[VarId], numbers: bool) -> bool {
        let is_there = |table: &Table, id| {
            let variable = table.get(id);
            // A launch that works in place commits its results before it runs.
            let is_data = variable.is_there() && !table.overwritten.contains(&id);
            is_data || numbers && variable.kind.number().is_some()
        };
        device.backend.memory().is_host()
            && self.with_table(|table| ids.iter().all(|&id| is_there(table, id)))
    }

    fn wait_for(&self, array: &Array) -> Result<()> {
        match (self.data_there(array.id()), self.working_device()) {
            (Some(data), Some(device)) => device.backend.memory().wait(data.address()),
            _ => Ok(()),
        }
    }

    /// Whether an array is in memory, and what writes it has run.
    pub(crate) fn has_run(&self, id: VarId) -> bool {
        let there = self.data_there(id).zip(self.working_device());
        there.is_some_and(|(data, device)| device.backend.memory().is_ready(data.address()))
    }

    /// The memory of an array, unless its contents are lost.
    fn data_there(&self, id: VarId) -> Option<Arc<Buffer>> {
        self.with_table(|table| {
            let variable = table.get(id);
            variable.data.clone().filter(|_| variable.is_there())
        })
    }

    fn wait(&self) -> Result<()> {
        if let Some(device) = self.working_device() {
            device.backend.sync()?;
            lock(&self.0.reports).collect();
            lock(&self.0.common.history).settle();
        }
        Ok(())
    }

    /// Waits for its devices, so that times of launches are known; an interrupt ends that.
    pub(super) fn settle(&self) {
        for session in self.family() {
            // A device that is lost shows at its next use.
            if let Err(error @ Error::DeviceFailed { lost: false, .. }) = session.wait() {
                session.put_errors(vec![error]);
            }
        }
    }

    /// The first bounds error that was not reported yet, one of each evaluation; it is then forgotten. Waits for the
    /// device if a launch under way may have failed.
    ///
    /// Errors are the session's: who reads any array next is told of them, whatever that is and whichever thread had the
    /// other one evaluated. What is printed tells them of arrays that have such lanes, and forgets none.
    pub fn take_error(&self) -> Option<Error> {
        self.find_in_family(Self::take_error_here)
    }

    /// The first that is known already: nothing is waited for.
    pub fn take_known_error(&self) -> Option<Error> {
        self.find_in_family(|session| {
            let mut reports = lock(&session.0.reports);
            reports.collect_done();
            reports.take()
        })
    }

    /// Does work that looks at values and tells no bounds errors: they stay to be told to who reads.
    pub(crate) fn looking<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Looking(Vec<Session>);
        impl Drop for Looking {
            fn drop(&mut self) {
                self.0.iter().for_each(|session| lock(&session.0.reports).looked());
            }
        }
        let family = self.family();
        family.iter().for_each(|session| lock(&session.0.reports).look());
        let _looking = Looking(family);
        work()
    }

    /// All of them, in recording order.
    pub fn take_errors(&self) -> Vec<Error> {
        // A device that goes on failing ends it.
        std::iter::from_fn(|| self.take_error()).take(MOST_ERRORS).collect()
    }

    /// How many evaluations there were, on each device: what [`Session::owe_errors`] asks for.
    pub fn evaluations(&self) -> Vec<u64> {
        self.family().iter().map(|session| lock(&session.0.reports).evaluation()).collect()
    }

    /// The bounds errors of all evaluations since then, on each device, are asked for later: nobody else is told of them.
    pub fn owe_errors(&self, since: &[u64]) -> Owed {
        let owe = |(number, session): (usize, Self)| {
            let mut reports = lock(&session.0.reports);
            let evaluations = (since.get(number).copied().unwrap_or(0), reports.evaluation());
            reports.owe(evaluations);
            drop(reports);
            (session, evaluations)
        };
        Owed(self.family().into_iter().enumerate().map(owe).collect())
    }

    /// The bounds errors of arrays that were evaluated, each its own, and beside it the number of who recorded the access:
    /// where nobody was told, or they are of evaluations whose errors are owed. Others of these evaluations count as told.
    /// Waits for the device if a launch of those evaluations is under way that may have failed.
    ///
    /// # Errors
    /// A failure of work launched earlier.
    pub fn take_errors_of(
        &self,
        arrays: &[Mark],
        owed: &Owed,
    ) -> Result<Vec<Option<(u64, Error)>>> {
        let mut errors = vec![None; arrays.len()];
        if arrays.is_empty() {
            return Ok(errors);
        }
        let waiting =
            owed.0.iter().filter(|(session, evaluations)| session.waits_within(*evaluations));
        for (session, _) in waiting {
            session.learn()?;
        }
        for (session, evaluations) in &owed.0 {
            let is_here = |&place: &usize| session.is(&arrays[place].session);
            let here: Vec<usize> = (0..arrays.len()).filter(is_here).collect();
            let serials: Vec<u64> = here.iter().map(|&place| arrays[place].serial).collect();
            let found = lock(&session.0.reports).take_of(&serials, evaluations.0);
            let found = here.into_iter().zip(found).filter(|(_, error)| error.is_some());
            found.for_each(|(place, error)| errors[place] = error);
        }
        Ok(errors)
    }

    /// Whether launches of evaluations are under way that may have failed.
    fn waits_within(&self, evaluations: (u64, u64)) -> bool {
        let mut reports = lock(&self.0.reports);
        reports.collect_done();
        reports.waits_within(evaluations)
    }

    fn take_error_here(&self) -> Option<Error> {
        match self.learn() {
            Ok(()) => lock(&self.0.reports).take(),
            Err(error) => Some(error),
        }
    }

    /// Waits for the device if a launch under way may have failed.
    fn learn(&self) -> Result<()> {
        let waits = {
            let mut reports = lock(&self.0.reports);
            reports.collect();
            reports.waits()
        };
        if waits && let Some(device) = self.working_device() {
            // What else failed shows at the next use of the device.
            match device.backend.sync() {
                Ok(()) => lock(&self.0.reports).collect(),
                // What was launched is not known yet: nothing is told of it.
                Err(Error::Interrupted) => {}
                failed => return failed,
            }
        }
        Ok(())
    }

    /// The device if there is one to wait for: that one has failed is told once, by whoever notices. Of one in its place
    /// nothing is known yet that was in the memory of the other.
    pub(crate) fn working_device(&self) -> Option<Arc<Device>> {
        let device = self.0.runtime.opened().filter(|device| !device.is_lost())?;
        let home = lock(&self.0.home);
        home.as_ref().is_none_or(|home| Arc::ptr_eq(home, &device)).then_some(device)
    }

    /// Whether the device works, on one part, in the memory of the host, as far as it was needed yet.
    pub(crate) fn is_on_host(&self) -> bool {
        let is_host =
            |device: Arc<Device>| device.backend.parts() == 1 && device.backend.memory().is_host();
        self.working_device().is_some_and(is_host)
    }

    /// Puts errors back that [`Session::take_errors`] gave.
    pub fn put_errors(&self, errors: Vec<Error>) {
        lock(&self.0.reports).put(errors);
    }
}

/// Whether a variable is an array that was written to.
const fn is_write(kind: &Kind) -> bool {
    matches!(kind, Kind::Scatter { .. })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::lock;
    use crate::backend::DeviceChoice;
    use crate::dtype::DType;
    use crate::session::Session;

    #[test]
    fn what_is_in_memory_waits_for_no_evaluation() {
        let session = Session::builder().device(DeviceChoice::Cpu).build().unwrap();
        let x = session.array(&[1.0_f32, 2.0]).unwrap();
        let (there, is_there) = channel();
        // As if another thread evaluated something.
        let evaluating = lock(&session.0.compiler);
        let (reader, read) = (session.clone(), x.clone());
        thread::spawn(move || {
            let number = reader.full(DType::F64, 2, 5).unwrap();
            let made = reader.array(&number.to_vec::<f64>().unwrap()[4..]).unwrap();
            let view = made.view::<f64>().unwrap();
            there.send((view.to_vec(), read.to_vec::<f32>().unwrap())).unwrap();
        });
        let lanes = is_there.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(lanes, (vec![2.0], vec![1.0, 2.0]));
        drop(evaluating);
    }

    /// Kernels of before run on, and others are compiled.
    #[test]
    fn what_is_ready_for_a_fork_goes_on() {
        for device in ["cpu", "cpu:2"] {
            let session = Session::builder().device(device.parse().unwrap()).threads(2).build();
            let session = session.unwrap();
            let x = session.array(&vec![2.0_f32; 100_000]).unwrap();
            for turn in [1_u8, 2, 3] {
                let y = &x * 3.0_f32 + f32::from(turn);
                session.eval(&[&y]).unwrap();
                assert_eq!(session.before_fork(), Ok(true));
                let z = if turn == 2 { &y - 1.0_f32 } else { &y * 2.0_f32 };
                let want = [14.0_f32, 7.0, 18.0][usize::from(turn) - 1];
                assert_eq!(z.to_vec::<f32>().unwrap()[99_999], want);
            }
        }
    }

    /// What a launch writes over its inputs counts as data before it has run.
    #[test]
    fn what_is_overwritten_is_waited_for() {
        let session = Session::builder().device(DeviceChoice::Cpu).build().unwrap();
        let ones = vec![1.0_f32; 1 << 16];
        let mut x = session.array(&ones).unwrap();
        for _ in 0..3 {
            x = x.try_add(1.0).unwrap();
            x.eval().unwrap();
        }
        let device = session.device().unwrap();
        assert!(session.are_there(&device, &[x.id()], true));
        session.with_table(|table| table.overwritten.push(x.id()));
        assert!(!session.are_there(&device, &[x.id()], true));
        assert_eq!(x.item(-1).unwrap().to_f64(), 4.0);
    }
}
