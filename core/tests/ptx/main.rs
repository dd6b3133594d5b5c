//! The PTX lowering: every program it prints is taken by a real `ptxas`.
//!
//! What they compute is compared with `ir/scalar.rs` through a model of the PTX instructions, so the
//! tests need no device; `listings` shows the text.

mod arithmetic;
mod assemble;
mod machine;
mod meaning;
mod model;
mod primitives;
mod programs;

use std::collections::HashSet;
use std::fmt::Write as _;

use porcini_core::backend::cuda::{
    CHUNK, FOLDED, ONE_LANE, SHARED_DECLARATION, Sharing, Target, fold_of, lower, lower_entry,
    lower_fold, lower_private, lower_step, lower_trap,
};
use porcini_core::ir::kernel::{Kernel, LiteralMode};
use porcini_core::ir::verify::verify;
use programs::Random;

const TARGETS: [Target; 3] = [
    Target::SM_75,
    Target { compute_capability: 80, ptx_version: (7, 0) },
    Target { compute_capability: 90, ptx_version: (7, 8) },
];
const MODES: [LiteralMode; 2] = [LiteralMode::Embedded, LiteralMode::Parameter];

/// Whether everything is wanted, or what shows most in the time there is.
fn is_full() -> bool {
    std::env::var_os("PORCINI_FULL").is_some()
}

/// Assembles the entries for the oldest target, and for newer ones every second of those that are others there, all under
/// `PORCINI_FULL=1`; or says why not.
fn check(name: &str, entries: impl Fn(Target) -> Vec<String>) {
    let Some(ptxas) = assemble::find_ptxas() else {
        assert!(
            std::env::var_os("PORCINI_REQUIRE_PTXAS").is_none_or(|value| value != "1"),
            "no ptxas: set PORCINI_PTXAS, or pip install nvidia-cuda-nvcc into .venv"
        );
        return say_skipped();
    };
    let mut assembled = HashSet::new();
    for target in TARGETS {
        let mut entries = entries(target);
        let is_oldest = assembled.is_empty();
        let mut others = 0;
        entries.retain(|entry| {
            let is_other = assembled.insert(entry.clone());
            others += u32::from(is_other);
            is_full() || is_other && (is_oldest || others % 2 == 0)
        });
        let text = target.header() + SHARED_DECLARATION + &entries.concat();
        if let Err(error) = assemble::run(&ptxas, target.compute_capability, name, &text) {
            panic!("{name} for {target:?}: {error}");
        }
    }
}

#[expect(clippy::print_stderr, reason = "what a skipped test says")]
fn say_skipped() {
    eprintln!("skipped: no ptxas");
}

fn entry(kernel: &Kernel, mode: LiteralMode, target: Target, name: &str) -> String {
    if let Err(why) = verify(kernel) {
        panic!("{name}: {why}\n{kernel}");
    }
    let entry = lower_entry(kernel, mode, target, name);
    assert_eq!(entry, lower_entry(kernel, mode, target, name), "lowering is deterministic");
    let private = lower_private(kernel, mode, target, &format!("{name}_private"));
    entry + &private.unwrap_or_default()
}

/// Entries of kernels with embedded numbers and with parameters.
fn entries(kernels: &[(String, Kernel)], target: Target) -> Vec<String> {
    let each = kernels.iter().flat_map(|(name, kernel)| {
        // Without literals they are the same.
        let modes = if kernel.literals.is_empty() { &MODES[..1] } else { &MODES[..] };
        modes.iter().map(move |&mode| entry(kernel, mode, target, &format!("{name}_{mode:?}")))
    });
    each.collect()
}

#[test]
fn every_operation_assembles() {
    let kernels = programs::operations();
    check("operations", |target| entries(&kernels, target));
}

#[test]
fn every_access_and_reduction_assembles() {
    let mut kernels = programs::accesses();
    kernels.extend(programs::reductions());
    kernels.push(("wide".into(), programs::wide()));
    let of_all = &kernels.iter().find(|(name, _)| name == "reductions").expect("all of them").1;
    let fold = fold_of(of_all);
    check("accesses", |target| {
        let mut entries = entries(&kernels, target);
        entries.push(lower_fold(&fold, target, "fold"));
        entries
    });
}

#[test]
fn every_step_of_a_primitive_assembles() {
    check("primitives", |target| {
        let mut entries = vec![lower_trap()];
        let mut steps = primitives::steps();
        if target.compute_capability == 90 {
            steps.extend(primitives::on_matrix_units());
        }
        for (number, step) in steps.into_iter().enumerate() {
            entries.push(lower_step(step, target, &format!("{}_{number}", step.name())));
        }
        entries
    });
}

#[test]
fn fast_programs_assemble() {
    let fast = |target| -> Vec<String> {
        let kernels = programs::operations().into_iter();
        let each = kernels.map(|(name, kernel)| {
            let kernel = Kernel { fast_math: true, ..kernel };
            entry(&kernel, LiteralMode::Embedded, target, &format!("fast_{name}"))
        });
        each.collect()
    };
    let entries = fast(Target::SM_75).concat();
    for text in ["div.full.ftz.f32", "sqrt.approx.ftz.f32", "fma.rn.ftz.f32", "div.rn.f64"] {
        assert!(entries.contains(text), "{text}");
    }
    for text in ["div.rn.f32", "sqrt.rn.f32", "fma.rn.f32", "mul.rn.f32"] {
        assert!(!entries.contains(text), "{text}");
    }
    check("fast", fast);
}

#[test]
fn random_programs_assemble() {
    check("random", |target| {
        let each = (0..300).map(|seed| {
            let mut random = Random::new(seed);
            let kernel = programs::random(&mut random);
            let mode = MODES[random.below(2)];
            entry(&kernel, mode, target, &format!("random_{seed}"))
        });
        each.collect()
    });
}

#[test]
fn operations_mean_what_scalar_says() {
    let mut random = Random::new(1000);
    for (_, kernel) in programs::operations() {
        for target in TARGETS {
            for mode in MODES {
                meaning::check(&kernel, mode, target, 299, 16, &mut random);
            }
        }
    }
    let wide = programs::wide();
    meaning::check(&wide, LiteralMode::Parameter, Target::SM_75, 40, 0, &mut random);
}

#[test]
fn random_programs_mean_what_scalar_says() {
    for seed in 0..1000 {
        let mut random = Random::new(2000 + seed);
        let kernel = programs::random_bounded(&mut random);
        let reducing = kernel.reductions().next().is_some();
        let (n, base) = match (reducing, random.below(40)) {
            (true, 0) => (2 * CHUNK + 45, CHUNK),
            (true, _) => (1 + random.below(100) as u64, 0),
            (false, _) => (1 + random.below(100) as u64, 16 * random.below(5) as u64),
        };
        let variant = if !reducing && random.below(4) == 0 { ONE_LANE } else { 0 };
        let kernel = Kernel { variant, ..kernel };
        let (mode, target) = (MODES[random.below(2)], TARGETS[random.below(3)]);
        meaning::check(&kernel, mode, target, n, base, &mut random);
    }
}

#[test]
fn few_lanes_have_a_thread_each() {
    let (name, kernel) = programs::operations().swap_remove(0);
    assert!(Sharing::of(&kernel).lanes() > 1, "{name}");
    assert_eq!(Sharing::of(&Kernel { variant: ONE_LANE, ..kernel }), Sharing::Lanes(1), "{name}");
}

#[test]
fn reductions_mean_what_scalar_says() {
    let mut random = Random::new(5000);
    for (name, kernel) in programs::reductions() {
        if name != "reductions" {
            for n in [1, 31, 33, CHUNK - 1, CHUNK, CHUNK + 70, 3 * CHUNK + 1] {
                let target = TARGETS[random.below(3)];
                meaning::check(&kernel, LiteralMode::Embedded, target, n, 0, &mut random);
            }
        }
        // The last one or two of many chunks, and the tree above.
        let deep = if name == "reductions" { FOLDED * FOLDED + 1 } else { 2 * FOLDED + 5 };
        for before in [1, 2, 7, 8, 64, FOLDED - 1, FOLDED, deep] {
            let n = [5, CHUNK + 5][random.below(2)];
            let target = TARGETS[random.below(3)];
            meaning::check(&kernel, LiteralMode::Parameter, target, n, before * CHUNK, &mut random);
        }
    }
}

#[test]
fn listings() {
    for (name, kernel, mode) in [
        ("lane", programs::lane_example(), LiteralMode::Embedded),
        ("chunk", programs::chunk_example(), LiteralMode::Parameter),
    ] {
        assert_eq!(verify(&kernel), Ok(()));
        compare_with_file(name, &lower(&kernel, mode, Target::default()));
    }
    let fold = fold_of(&programs::chunk_example());
    compare_with_file("fold", &lower_fold(&fold, Target::default(), "fold"));
}

/// Compares with the file beside this one; `UPDATE_EXPECT=1` rewrites it.
fn compare_with_file(name: &str, text: &str) {
    let path = assemble::root().join(format!("core/tests/ptx/{name}.ptx"));
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).expect("the listing can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected != text {
        let mut message = format!("{name}.ptx differs (UPDATE_EXPECT=1 rewrites it):\n");
        for (number, (old, new)) in expected.lines().zip(text.lines()).enumerate() {
            if old != new {
                let _ = write!(message, "line {}:\n-{old}\n+{new}\n", number + 1);
            }
        }
        panic!("{message}");
    }
}
