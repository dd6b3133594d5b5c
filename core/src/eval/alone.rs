//! A warning of a kernel that took long on one thread where more could have helped: why it did, and what to do.

use std::time::Duration;

use super::Evaluator;
use super::launches::Launch;
use crate::backend::Alone;
use crate::ir::kernel::{Code, Inst, Kernel};

/// What takes no longer is not worth a warning.
const LONG: Duration = Duration::from_secs(1);

impl Evaluator<'_> {
    /// Tells of a launch that took this long on one thread, once of each kernel.
    pub(super) fn warn_of_one_thread(&mut self, launch: &Launch, why: Alone, time: Duration) {
        let Some(sink) = self.warnings.filter(|_| time > LONG) else { return };
        let kernel = &launch.kernel;
        if self.told.insert(kernel.hash) {
            let (hash, seconds) = (kernel.hash.to_string(), time.as_secs_f64());
            let [why, remedy] = explained(kernel, launch.size, why);
            sink(&format!(
                "kernel {hash:.8} ran {seconds:.1} s on one thread, because {why}; {remedy}"
            ));
        }
    }
}

/// The reason, and the remedy.
fn explained(kernel: &Kernel, n: u64, why: Alone) -> [String; 2] {
    let written = |insts: &[Inst]| {
        insts.iter().find_map(|inst| {
            if let Code::Scatter { op, .. } = inst.code { Some(op.name()) } else { None }
        })
    };
    if let (Alone::InOrder, Some(name)) = (why, written(kernel.lane_insts())) {
        return [
            format!("its loop or branch has a {name}, which keeps the order of lanes"),
            "have it give index and value as states, and scatter them behind it: then threads share \
             the loop"
                .into(),
        ];
    }
    let name = written(&kernel.insts);
    match (why, name) {
        (Alone::InOrder, Some(name)) => {
            let remedy = if kernel.has_regions() {
                "eval(..) index and value before: then threads share what computes them"
            } else {
                "where no index comes twice, a gather by the inverse index gives the same, and threads \
                 share it"
            };
            [format!("its {name} keeps the order of lanes"), remedy.into()]
        }
        _ => {
            let lanes = if n == 1 { "lane" } else { "lanes" };
            let remedy = "more lanes at once, say of several problems side by side, share threads";
            [format!("it has {n} {lanes}, too few to share"), remedy.into()]
        }
    }
}
