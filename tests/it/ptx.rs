//! Real kernels as PTX: everything that the golden sessions and the examples compile is assembled.

use std::collections::HashSet;
use std::path::Path;

use porcini_core::Runtime;
use porcini_core::backend::cuda::{Target, lower_entry};
use porcini_core::ir::kernel::{Kernel, LiteralMode};
use porcini_tests::golden;
use porcini_tests::recording::Recording;

#[path = "../../core/tests/ptx/assemble.rs"]
mod assemble;

/// Instructions of the longest kernel that is assembled; ptxas takes long over longer ones.
const MAX_INSTRUCTIONS: usize = 2000;

fn kernels() -> Vec<Kernel> {
    let device = Recording::new();
    let runtime = Runtime::on(device.clone(), Some(1 << 30));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/scripts");
    for folder in ["acceptance", "ops", "script"].map(|name| golden::sessions().join(name)) {
        golden::scripts(&folder).iter().for_each(|file| golden::run_on(file, &runtime));
    }
    golden::scripts(&examples).iter().for_each(|file| golden::run_on(file, &runtime));
    let mut seen = HashSet::new();
    let mut kernels = device.kernels();
    kernels.retain(|kernel| seen.insert(kernel.hash) && kernel.insts.len() <= MAX_INSTRUCTIONS);
    kernels
}

#[test]
fn golden_sessions_assemble() {
    let Some(ptxas) = assemble::find_ptxas() else {
        assert!(std::env::var_os("PORCINI_REQUIRE_PTXAS").is_none(), "no ptxas found");
        println!("skipped: no ptxas");
        return;
    };
    let kernels = kernels();
    assert!(kernels.len() > 200, "{} kernels", kernels.len());
    for capability in [75, 80, 90] {
        let version = if capability == 90 { (7, 8) } else { (7, 0) };
        let target = Target { compute_capability: capability, ptx_version: version };
        let mut text = target.header();
        for (i, kernel) in kernels.iter().enumerate() {
            for mode in [LiteralMode::Embedded, LiteralMode::Parameter] {
                text.push_str(&lower_entry(kernel, mode, &format!("k{i}_{mode:?}")));
            }
        }
        if let Err(error) = assemble::run(&ptxas, capability, "golden", &text) {
            panic!("sm_{capability}: {error}");
        }
    }
}
