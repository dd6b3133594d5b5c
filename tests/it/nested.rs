//! Random programs over nested values agree bit for bit on every device and in every way of running them; see
//! [`programs`](super::programs). What they should give is for [`laws`](super::laws) to say.
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
use porcini_tests::programs::Outcome;

use super::programs::{first_difference, number};

/// Sizes around a packet, a block of the interpreter and a chunk of a reduction.
const SIZES: [usize; 10] = [0, 1, 15, 16, 17, 511, 513, 1025, 4097, 65_539];
const DEFAULT_COUNT: u64 = 150;
/// Programs in which everything occurs.
const COVERING: u64 = 1950;
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
    /// With the log at its most detailed.
    watched: Interpreter,
}

impl Ways {
    fn new() -> Self {
        let all = devices();
        let plain = interpreter(&all[all.len() - 1]);
        for flag in ["cse", "fold"] {
            plain.session().set_flag(flag, false).unwrap();
        }
        let mut watched = interpreter(&all[all.len() - 1]);
        watched.execute("set_log_level(4);", "log").unwrap();
        Self { devices: all.iter().map(interpreter).collect(), plain, watched }
    }

    /// Runs a program in every way; what differs, if anything.
    fn compare(&mut self, program: &Program) -> Result<(), String> {
        let mut want: Option<Outcome> = None;
        let mut check = |how: &str, program: &Program, interpreter: &mut Interpreter, eager| {
            let got = run(program, interpreter, eager).map_err(|e| format!("{how}: {e}"))?;
            let want = want.get_or_insert(got.clone());
            // Where an error is found depends on what is evaluated at once.
            if got.error != want.error && !eager {
                return Err(format!("{how}: {:?}, not {:?}", got.error, want.error));
            }
            match got.outputs.iter().zip(&want.outputs).enumerate().find(|(_, (a, b))| a != b) {
                Some((i, (got, want))) => {
                    Err(format!("{how}: array {i}, {}", first_difference(got, want, 1)))
                }
                None => Ok(()),
            }
        };
        for (device, interpreter) in devices().iter().zip(&mut self.devices) {
            check(&device.name, program, interpreter, false)?;
        }
        check("without cse and fold", program, &mut self.plain, false)?;
        check("watched", program, &mut self.watched, false)?;
        if let Some(last) = self.devices.last_mut() {
            check("eager", program, last, true)?;
            run(&program.with_other_numbers(), last, false)?;
            check("literals as parameters", program, last, false)?;
        }
        Ok(())
    }

    /// [`Self::compare`] that takes a panic for a difference.
    fn failure(&mut self, program: &Program) -> Option<String> {
        catch_unwind(AssertUnwindSafe(|| self.compare(program)))
            .unwrap_or_else(|_| Err("panicked".into()))
            .err()
    }
}

fn check_many(values: Values, first_seed: u64) {
    let count = number("PORCINI_PROGRAMS").map_or(DEFAULT_COUNT, |count| count / 5);
    let first = number("PORCINI_SEED").unwrap_or(first_seed);
    on_engine_thread(|| {
        let mut ways = Ways::new();
        let mut judge = interpreter(&devices()[0]);
        for seed in first..first + count {
            if seed % TOGETHER == 0 {
                ways = Ways::new();
            }
            // The largest size takes as long as all others.
            let sizes = if seed % 80 < 72 { &SIZES[..9] } else { &SIZES[..] };
            let n = sizes[usize::try_from(seed).unwrap() % sizes.len()];
            let program = generate(seed, values, n, &mut judge);
            if let Some(what) = ways.failure(&program) {
                let small = program.shrink(|smaller| Ways::new().failure(smaller).is_some());
                let still = Ways::new().failure(&small).unwrap_or_default();
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
    let mut text = String::new();
    on_engine_thread(|| {
        let mut judge = interpreter(&devices()[0]);
        for seed in 0..COVERING {
            text += &generate(seed, Values::Bounded, 17, &mut judge).script(false);
        }
    });
    for row in rows() {
        let name = row.name.rsplit("::").next().unwrap();
        let call = if name.starts_with(char::is_alphabetic) {
            format!("{name}(")
        } else {
            format!(" {name} ")
        };
        assert!(text.contains(&call), "{} {:?}", row.name, row.parameters);
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
