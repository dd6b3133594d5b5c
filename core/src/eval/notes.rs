//! What launches note of indices out of bounds, and of what they make of them.

use super::launches::{Launch, PrimitiveLaunch};
use super::reach::Flow;
use super::{Evaluator, lock};
use crate::backend::Launched;
use crate::error::Result;

impl Evaluator<'_> {
    /// Takes note of what was out of bounds, where all members' buffers are as long as these.
    pub(super) fn report_bounds(
        &self,
        launched: Launched,
        launch: &Launch,
        buffers: &[(u64, u64)],
    ) -> Result<()> {
        let checks = !launch.kernel.accesses.is_empty();
        let fits = !checks
            || matches!(&launched, Launched::Done { failures, .. } if failures.iter().all(Option::is_none));
        if fits && !self.follows(checks) {
            return Ok(());
        }
        let flow = Flow::of(launch, &lock(self.table));
        let mut reports = lock(self.reports);
        match fits {
            true => reports.follow(flow),
            false => reports.add(launched, launch, buffers, flow),
        }
        reports.collect_done();
        // The launch is done or under way, whatever keeps its reports from being read.
        if reports.is_full() && self.backend.sync().is_ok() {
            reports.collect();
        }
        Ok(())
    }

    /// Takes note of what a primitive makes of what is out of bounds.
    pub(super) fn pass_on(&self, launch: &PrimitiveLaunch) {
        if self.follows(false) {
            let flow = Flow::of_primitive(launch, &lock(self.table));
            lock(self.reports).follow(flow);
        }
    }

    /// Whether what launches read may come of an index out of bounds; asks those under way, if wanted.
    fn follows(&self, asks: bool) -> bool {
        let mut reports = lock(self.reports);
        if asks {
            reports.collect_done();
        }
        reports.follows()
    }
}
