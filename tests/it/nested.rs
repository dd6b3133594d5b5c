//! Random programs over nested values agree bit for bit on every device, in every way of running them, and
//! with an independent oracle; see [`programs`](super::programs).
//!
//! `PORCINI_PROGRAMS=N` runs N / 5 programs of each kind instead of the default number, as they take longer
//! than plain ones; `PORCINI_SEED=S` starts at another seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use porcini_core::ir::op::{OPS, ScatterOp, Shape};
use porcini_core::trace::functions::FUNCTIONS;
use porcini_core::trace::nested::rows;
use porcini_script::{Interpreter, Options, on_engine_thread};
use porcini_tests::data::Values;
use porcini_tests::devices::{Device, devices};
use porcini_tests::host::TestHost;
use porcini_tests::nested::generate::generate;
use porcini_tests::nested::{Program, run};

use super::programs::{first_difference, number};

/// Sizes around a packet, a block of the interpreter and a chunk of a reduction.
const SIZES: [usize; 10] = [0, 1, 15, 16, 17, 511, 513, 1025, 4097, 65_539];
const DEFAULT_COUNT: u64 = 2_000;
/// Programs that share their interpreters, and so their kernels.
const TOGETHER: u64 = 100;

fn interpreter(device: &Device) -> Interpreter {
    let options = Options { runtime: Some(device.runtime.clone()), ..Options::default() };
    Interpreter::new(Rc::new(TestHost::default()), &options).unwrap()
}

/// Interpreters for every way of running a program.
struct Ways {
    devices: Vec<Interpreter>,
    /// Without value numbering and folding.
    plain: Interpreter,
}

impl Ways {
    fn new() -> Self {
        let all = devices();
        let plain = interpreter(&all[all.len() - 1]);
        for flag in ["cse", "fold"] {
            plain.session().set_flag(flag, false).unwrap();
        }
        Self { devices: all.iter().map(interpreter).collect(), plain }
    }

    /// Runs a program in every way; what differs, if anything.
    fn compare(&mut self, program: &Program, n: usize) -> Result<(), String> {
        let want = program.evaluate(n);
        let check = |how: &str, program: &Program, interpreter: &mut Interpreter, eager| {
            let got = run(program, interpreter, n, eager).map_err(|e| format!("{how}: {e}"))?;
            if got.outputs.len() != want.len() {
                return Err(format!("{how}: {} arrays, want {}", got.outputs.len(), want.len()));
            }
            let differing = got.outputs.iter().zip(&want).enumerate().find(|(_, (a, b))| a != b);
            match differing {
                Some((i, (got, want))) => {
                    Err(format!("{how}: array {i}, {}", first_difference(got, want, 1)))
                }
                None => Ok(got.error),
            }
        };
        let mut errors = Vec::new();
        for (device, interpreter) in devices().iter().zip(&mut self.devices) {
            errors.push(check(&device.name, program, interpreter, false)?);
        }
        if errors.iter().any(|error| *error != errors[0]) {
            return Err(format!("bounds errors differ: {errors:?}"));
        }
        check("without cse and fold", program, &mut self.plain, false)?;
        if let Some(last) = self.devices.last_mut() {
            check("eager", program, last, true)?;
            run(&program.with_other_numbers(), last, n, false)?;
            check("literals as parameters", program, last, false)?;
        }
        Ok(())
    }

    /// [`Self::compare`] that takes a panic for a difference.
    fn failure(&mut self, program: &Program, n: usize) -> Option<String> {
        catch_unwind(AssertUnwindSafe(|| self.compare(program, n)))
            .unwrap_or_else(|_| Err("panicked".into()))
            .err()
    }
}

fn check_many(values: Values, first_seed: u64) {
    let count = number("PORCINI_PROGRAMS").map_or(DEFAULT_COUNT, |count| count / 5);
    let first = number("PORCINI_SEED").unwrap_or(first_seed);
    on_engine_thread(|| {
        let mut ways = Ways::new();
        for seed in first..first + count {
            if seed % TOGETHER == 0 {
                ways = Ways::new();
            }
            // The largest size takes as long as all others.
            let sizes = if seed % 80 < 72 { &SIZES[..9] } else { &SIZES[..] };
            let n = sizes[usize::try_from(seed).unwrap() % sizes.len()];
            let program = generate(seed, values);
            if let Some(what) = ways.failure(&program, n) {
                let small = program.shrink(|smaller| Ways::new().failure(smaller, n).is_some());
                let still = Ways::new().failure(&small, n).unwrap_or_default();
                panic!("seed {seed}, {values:?}, n = {n}: {what}\nshrunk: {still}\n{small}");
            }
        }
    });
}

#[test]
fn nested_programs_of_bounded_values_agree() {
    check_many(Values::Bounded, 0);
}

#[test]
fn nested_programs_of_edge_values_agree() {
    check_many(Values::Edge, 1_000_000);
}

/// Every row of the tables and every kind of step occurs, so agreement means something.
#[test]
fn nested_programs_cover_the_tables() {
    let (mut text, mut drawn) = (String::new(), Vec::new());
    for seed in 0..3000 {
        let program = generate(seed, Values::Bounded);
        text += &program.script(17, false);
        let values = program.values(1);
        for (step, value) in program.steps.iter().zip(&values) {
            if value.is_some() {
                drawn.extend(step.nested_function(&values).map(|row| (row.name, row.parameters)));
            }
        }
    }
    for row in rows() {
        assert!(drawn.contains(&(row.name, row.parameters)), "{} {:?}", row.name, row.parameters);
    }
    let operators = OPS.iter().filter(|info| info.shape != Shape::Special);
    for name in operators.map(|info| info.op.spelling()).chain(FUNCTIONS.iter().map(|f| f.name)) {
        let is_operator = !name.starts_with(char::is_alphabetic);
        let call = if is_operator { format!(" {name} ") } else { format!("{name}(") };
        assert!(text.contains(&call), "{name}");
    }
    for op in ScatterOp::ALL {
        assert!(text.contains(&format!("{}(t, ", op.name())), "{}", op.name());
    }
    let constructors =
        (1..=4).flat_map(|n| ["f", "d", "i", "u", "m", ""].map(|t| format!("Vector{n}{t}C(")));
    let numbers = ["Complex2", "Quaternion4", "Matrix2", "Matrix3", "Matrix4"];
    let numbers = numbers.iter().flat_map(|name| ["f", "d", ""].map(|t| format!("{name}{t}C(")));
    let others = [
        "hsum(",
        "hprod(",
        "hmin(",
        "hmax(",
        "hmean(",
        "psum(",
        "any(",
        "all(",
        "none(",
        "count(",
        "hsum_nested(",
        "hprod_nested(",
        "hmin_nested(",
        "hmax_nested(",
        "hmean_nested(",
        "sh_eval(",
        "morton_encode(",
        "morton_decode(",
        ".shuffle(",
        "concat(",
        ".head(",
        ".tail(",
        ".row(",
        "[[",
        "[0] = ",
        ".zx",
        ".xy = ",
        "gather(",
        "while_loop(",
        "if_then(",
        "dispatch(",
        "(-v",
    ];
    for part in constructors.chain(numbers).chain(others.map(String::from)) {
        assert!(text.contains(&part), "{part}");
    }
}
