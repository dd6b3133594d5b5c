//! Real kernels as PTX: everything that the golden sessions and the examples compile is assembled, and what
//! some random programs do.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use porcini_core::Runtime;
use porcini_core::backend::cuda::{Target, lower_entry};
use porcini_core::ir::kernel::{Kernel, LiteralMode};
use porcini_script::{Interpreter, Options, on_engine_thread};
use porcini_tests::data::Values;
use porcini_tests::extent::{every, is_full};
use porcini_tests::golden;
use porcini_tests::host::TestHost;
use porcini_tests::nested::generate::generate;
use porcini_tests::nested::run;
use porcini_tests::recording::Recording;

#[path = "../../core/tests/ptx/assemble.rs"]
mod assemble;

/// Instructions of the longest kernel that is assembled; ptxas takes long over longer ones.
const MAX_INSTRUCTIONS: usize = 2000;

fn golden_kernels() -> Vec<Kernel> {
    let device = Recording::new();
    let runtime = Runtime::on(device.clone(), Some(1 << 30));
    let examples = porcini_tests::root().join("examples/scripts");
    // Whatever they show.
    let run = |file: &PathBuf| drop(golden::check_on(file, &runtime));
    for folder in ["acceptance", "ops", "script"].map(|name| golden::sessions().join(name)) {
        golden::scripts(&folder).iter().step_by(every(2)).for_each(run);
    }
    golden::scripts(&examples).iter().step_by(every(2)).for_each(run);
    different(device.kernels())
}

fn nested_kernels() -> Vec<Kernel> {
    let device = Recording::new();
    let runtime = Runtime::on(device.clone(), Some(1 << 30));
    on_engine_thread(|| {
        let options = Options { runtime: Some(runtime), ..Options::default() };
        let mut interpreter = Interpreter::new(Rc::new(TestHost::default()), &options).unwrap();
        for seed in 0..150 {
            let program = generate(seed, Values::Edge, 17, &mut interpreter);
            run(&program, &mut interpreter, false).unwrap();
        }
    });
    different(device.kernels())
}

fn different(mut kernels: Vec<Kernel>) -> Vec<Kernel> {
    let mut seen = HashSet::new();
    kernels.retain(|kernel| seen.insert(kernel.hash) && kernel.insts.len() <= MAX_INSTRUCTIONS);
    kernels
}

/// The assembler, which may be missing unless `PORCINI_REQUIRE_PTXAS` is set.
fn ptxas() -> Option<PathBuf> {
    let found = assemble::find_ptxas();
    assert!(found.is_some() || std::env::var_os("PORCINI_REQUIRE_PTXAS").is_none(), "no ptxas");
    found
}

/// Assembles kernels for each generation of devices: for the newest every sixth with its literals in one of two ways by
/// turns, for the older ones every twenty-fourth; all of it with `PORCINI_FULL=1`.
fn assemble_all(ptxas: &Path, name: &str, kernels: &[Kernel]) {
    assert!(kernels.len() > 200, "{} kernels", kernels.len());
    for capability in [75, 80, 90] {
        let is_wanted = |i: usize, mode| {
            let is_parameter = mode == LiteralMode::Parameter;
            is_full()
                || capability == 90 && i % 12 == if is_parameter { 0 } else { 4 }
                || is_parameter && i % 24 == if capability == 80 { 2 } else { 10 }
        };
        let version = if capability == 90 { (7, 8) } else { (7, 0) };
        let target = Target { compute_capability: capability, ptx_version: version };
        let mut text = target.header();
        for (i, kernel) in kernels.iter().enumerate() {
            let modes = [LiteralMode::Embedded, LiteralMode::Parameter].into_iter();
            for mode in modes.filter(|&mode| is_wanted(i, mode)) {
                text.push_str(&lower_entry(kernel, mode, target, &format!("k{i}_{mode:?}")));
            }
        }
        if let Err(error) = assemble::run(ptxas, capability, name, &text) {
            panic!("sm_{capability}: {error}");
        }
    }
}

#[test]
fn golden_sessions_assemble() {
    let Some(ptxas) = ptxas() else {
        println!("skipped: no ptxas");
        return;
    };
    assemble_all(&ptxas, "golden", &golden_kernels());
}

#[test]
fn programs_over_nested_values_assemble() {
    let Some(ptxas) = ptxas() else {
        println!("skipped: no ptxas");
        return;
    };
    assemble_all(&ptxas, "nested", &nested_kernels());
}
