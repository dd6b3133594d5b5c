//! A kernel that a rank has compiled, as its leader has it.

use std::ops::Range;
use std::sync::Arc;

use super::link::Link;
use super::message::{Code, Reply, Request};
use crate::backend::{Begun, CodeStatistics, Executable, Launched, Ran, RunsRanges};
use crate::error::Result;
use crate::ir::kernel::ParamBlock;

/// A kernel that a rank has compiled.
pub(super) struct RemoteCode {
    link: Arc<Link>,
    number: u64,
    code: Code,
}

impl RemoteCode {
    pub(super) fn new(link: &Arc<Link>, number: u64, code: Code) -> Self {
        Self { link: link.clone(), number, code }
    }
}

impl Drop for RemoteCode {
    fn drop(&mut self) {
        self.link.tell(&Request::Forget { number: self.number });
    }
}

impl Executable for RemoteCode {
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Launched> {
        self.begin(params, n)()
    }

    fn begin(&self, params: ParamBlock, n: u64) -> Begun<'_, Launched> {
        let request = Request::Launch { number: self.number, words: params.words().to_vec(), n };
        let asked = self.link.ask(&request, &[]);
        Box::new(move || match asked?.wait(&mut Vec::new())? {
            Reply::Launched(failures) => Ok(Launched::Done { failures, alone: None }),
            other => Err(self.link.unexpected(&other)),
        })
    }

    fn ranges(&self) -> Option<&dyn RunsRanges> {
        self.code.runs_ranges.then_some(self)
    }

    fn nanoseconds(&self, n: u64) -> f64 {
        n as f64 * self.code.nanoseconds
    }

    fn statistics(&self) -> CodeStatistics {
        self.code.statistics()
    }
}

impl RunsRanges for RemoteCode {
    fn run_range(&self, params: ParamBlock, lanes: Range<u64>) -> Result<Ran> {
        self.begin_range(params, lanes)()
    }

    fn begin_range(&self, params: ParamBlock, lanes: Range<u64>) -> Begun<'_, Ran> {
        let (number, words) = (self.number, params.words().to_vec());
        let asked = self.link.ask(&Request::RunRange { number, words, lanes }, &[]);
        Box::new(move || match asked?.wait(&mut Vec::new())? {
            Reply::Ran(ran) => Ok(ran),
            other => Err(self.link.unexpected(&other)),
        })
    }
}
