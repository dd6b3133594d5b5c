//! Launches in line: they wait for what they touch, lose nothing when they are interrupted or fail, and leave nothing
//! behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::backend::primitive::{PrimitiveCall, Room};
use porcini_core::backend::queue::{Queue, Worth};
use porcini_core::backend::thread_pool::Pool;
use porcini_core::backend::{Backend, CodeStatistics, Executable, Launched, Memory};
use porcini_core::ir::kernel::{Kernel, LiteralMode, ParamBlock};
use porcini_core::{Array, DType, Error, Result, Runtime, Scalar, Session};
use porcini_tests::random::Random;

/// Every launch goes through the line.
const ALL: Worth = Worth { handing_over: 0.0, sharing: 1e5 };

/// The interpreter, whose launches wait for a gate, are interrupted and fail as a test wants.
#[derive(Default)]
struct Trouble {
    is_closed: AtomicBool,
    /// One of so many launches is interrupted, and one fails; 0 for none.
    interrupts: AtomicU64,
    fails: AtomicU64,
    n_launches: AtomicU64,
    n_failed: AtomicU64,
}

struct Troubled(Interp, Arc<Trouble>);

struct Code(Arc<dyn Executable>, Arc<Trouble>);

impl Backend for Troubled {
    fn name(&self) -> String {
        "troubled".into()
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(Code(self.0.lower(kernel, mode)?, self.1.clone())))
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        self.0.run_primitive(call, room)
    }

    fn memory(&self) -> &dyn Memory {
        self.0.memory()
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

impl Executable for Code {
    fn launch(&self, params: ParamBlock, n: u64) -> Result<Launched> {
        let trouble = &*self.1;
        while trouble.is_closed.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_micros(100));
        }
        let number = trouble.n_launches.fetch_add(1, Ordering::Relaxed);
        let mut random = Random::new(number);
        let hits = |one_of: &AtomicU64, random: &mut Random| {
            let one_of = one_of.load(Ordering::Relaxed);
            one_of > 0 && random.one_in(usize::try_from(one_of).unwrap())
        };
        if hits(&trouble.interrupts, &mut random) && !params.in_place {
            return Err(Error::Interrupted);
        }
        if hits(&trouble.fails, &mut random) && !params.at_once {
            trouble.n_failed.fetch_add(1, Ordering::Relaxed);
            return Err(failure());
        }
        self.0.launch(params, n)
    }

    fn nanoseconds(&self, n: u64) -> f64 {
        self.0.nanoseconds(n)
    }

    fn statistics(&self) -> CodeStatistics {
        self.0.statistics()
    }
}

fn failure() -> Error {
    Error::DeviceFailed {
        device: "troubled".into(),
        what: "running a launch",
        reason: "a test wanted it".into(),
        lost: false,
    }
}

fn troubled(threads: usize) -> (Session, Arc<Trouble>) {
    let trouble = Arc::new(Trouble::default());
    let device = Troubled(Interp::new(Isa::Baseline, 1), trouble.clone());
    let pool = Arc::new(Pool::new(threads + 1));
    let queue = Queue::with_worth(Arc::new(device), pool, ALL);
    let runtime = Runtime::on(Arc::new(queue), None);
    (Session::builder().runtime(runtime).build().unwrap(), trouble)
}

fn lanes(session: &Session, n: u64) -> Array {
    session.arange(DType::I32, Scalar::Int(0), Scalar::UInt(n), Scalar::Int(1)).unwrap()
}

/// Who asks later for errors of what is under way waits for nothing, and nobody else is told of them.
#[test]
fn errors_that_are_owed_are_waited_for_by_who_asks() {
    let (session, trouble) = troubled(2);
    trouble.is_closed.store(true, Ordering::Release);
    let since = session.evaluations();
    let x = lanes(&session, 10).gather(&session.array(&[30_u32]).unwrap(), None).unwrap();
    session.eval(&[&x]).unwrap();
    let owed = session.owe_errors(&since);
    assert!(!owed.are_known() && !x.is_ready());
    trouble.is_closed.store(false, Ordering::Release);
    assert!(session.sync().is_ok() && owed.are_known());
    let errors = session.take_errors_of(&[x.mark()], &owed).unwrap();
    assert!(matches!(errors[0], Some((_, Error::Bounds { index: 30, .. }))));
}

#[test]
fn an_evaluation_returns_before_its_launches_have_run() {
    let (session, trouble) = troubled(2);
    trouble.is_closed.store(true, Ordering::Release);
    let x = lanes(&session, 1000) + 1;
    session.eval(&[&x]).unwrap();
    let y = &x * 2;
    session.eval(&[&y]).unwrap();
    assert!(x.is_evaluated() && !x.is_ready() && !y.is_ready());
    trouble.is_closed.store(false, Ordering::Release);
    assert_eq!(y.item(999).unwrap(), Scalar::Int(2000));
    assert!(x.is_ready() && y.is_ready());
    let history = session.history();
    assert_eq!(history.len(), 2);
    assert!(history.iter().all(|launch| launch.pending.is_none()), "{history:?}");
}

#[test]
fn reading_waits_for_its_own_cone() {
    let (session, trouble) = troubled(1);
    let x = lanes(&session, 10) + 1;
    x.eval().unwrap();
    session.sync().unwrap();
    trouble.is_closed.store(true, Ordering::Release);
    let y = &x + 1;
    y.eval().unwrap();
    assert_eq!(x.item(3).unwrap(), Scalar::Int(4), "y is not waited for");
    assert!(!y.is_ready());
    trouble.is_closed.store(false, Ordering::Release);
    session.finish(&[&y]).unwrap();
    assert!(y.is_ready());
}

#[test]
fn without_the_flag_launches_are_waited_for() {
    let (session, _) = troubled(2);
    session.set_flag("async", false).unwrap();
    let x = lanes(&session, 10) + 1;
    x.eval().unwrap();
    assert!(x.is_ready());
    assert_eq!(session.history()[0].worker, 0);
}

#[test]
fn a_launch_that_waited_tells_of_its_own_time() {
    let (session, trouble) = troubled(1);
    trouble.is_closed.store(true, Ordering::Release);
    let x = lanes(&session, 10) + 1;
    x.eval().unwrap();
    session.set_flag("async", false).unwrap();
    let opener = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        trouble.is_closed.store(false, Ordering::Release);
    });
    let y = &x * 2;
    y.eval().unwrap();
    opener.join().unwrap();
    let last = &session.history()[1];
    assert!(last.waited > Duration::from_millis(100) && last.run_time < last.waited, "{last:?}");
}

/// An array with what it should hold, or nothing if a launch before it may have failed.
struct Known {
    array: Array,
    lanes: Vec<i32>,
}

/// Records, evaluates, reads, drops and copies at random.
fn storm(seed: u64, rounds: usize, threads: usize, interrupts: u64, fails: u64) {
    let (session, trouble) = troubled(threads);
    trouble.interrupts.store(interrupts, Ordering::Relaxed);
    trouble.fails.store(fails, Ordering::Relaxed);
    let mut random = Random::new(seed);
    let (mut n_lost, mut n_read) = (0, 0);
    // What a launch that was not in line cannot do is asked for again.
    let insist = |mut work: Box<dyn FnMut() -> Result<()> + '_>| loop {
        match work() {
            Err(Error::Interrupted) => {}
            result => break result,
        }
    };
    let mut pool: Vec<Known> = Vec::new();
    for round in 0..rounds {
        let n = [1, 3, 64, 5000][random.below(4)];
        let same = |pool: &[Known], random: &mut Random| {
            let fitting: Vec<usize> =
                (0..pool.len()).filter(|&i| pool[i].lanes.len() == n).collect();
            (!fitting.is_empty()).then(|| fitting[random.below(fitting.len())])
        };
        let number = i32::try_from(round % 1000).unwrap();
        let known = match (same(&pool, &mut random), same(&pool, &mut random)) {
            (Some(a), Some(b)) if random.one_in(2) => {
                let pairs = pool[a].lanes.iter().zip(&pool[b].lanes);
                let lanes = pairs.map(|(a, b)| a.wrapping_mul(*b).wrapping_add(number)).collect();
                Known { array: &pool[a].array * &pool[b].array + number, lanes }
            }
            (Some(a), _) if !random.one_in(4) => {
                let lanes = pool[a].lanes.iter().map(|a| a.wrapping_sub(number)).collect();
                Known { array: &pool[a].array - number, lanes }
            }
            _ => {
                let lanes =
                    (0..i32::try_from(n).unwrap()).map(|i| i.wrapping_mul(number)).collect();
                Known { array: self::lanes(&session, n as u64) * number, lanes }
            }
        };
        let evaluated = insist(Box::new(|| session.eval(&[&known.array])));
        match evaluated {
            Ok(()) => pool.push(known),
            Err(error) => assert_eq!(error, failure(), "what a launch reads is lost"),
        }
        if pool.len() > 40 || random.one_in(3) && !pool.is_empty() {
            let Known { array, lanes } = pool.swap_remove(random.below(pool.len()));
            if random.one_in(4) {
                n_read += 1;
                let mut got = Vec::new();
                let read = insist(Box::new(|| {
                    got = array.to_vec::<i32>()?;
                    Ok(())
                }));
                match read {
                    Ok(()) => assert!(got == lanes, "round {round} of {seed}"),
                    Err(error) => {
                        assert_eq!(error, failure());
                        n_lost += 1;
                    }
                }
            }
        }
        if random.one_in(500) {
            // What is made of what is lost is lost too: there must be other arrays.
            pool.retain(|known| insist(Box::new(|| session.finish(&[&known.array]))).is_ok());
            session.malloc_trim();
        }
        if random.one_in(1000) {
            insist(Box::new(|| session.sync())).unwrap();
        }
    }
    for Known { array, lanes } in pool.drain(..) {
        let mut got = Vec::new();
        let read = insist(Box::new(|| {
            got = array.to_vec::<i32>()?;
            Ok(())
        }));
        assert!(read.is_err() || got == lanes, "of {seed}");
        n_read += 1;
        n_lost += usize::from(read.is_err());
    }
    insist(Box::new(|| session.sync())).unwrap();
    assert_eq!(session.memory_info().used, 0);
    let n_launches = trouble.n_launches.load(Ordering::Relaxed);
    assert!(n_launches > rounds as u64 / 4, "{n_launches} launches of {rounds} rounds");
    let n_failed = trouble.n_failed.load(Ordering::Relaxed);
    // How many are lost is chance, where few are.
    let is_some = n_lost > 0 || rounds < 10_000;
    assert!(if fails > 0 { n_failed > 0 && is_some && n_lost < n_read } else { n_lost == 0 });
}

#[test]
fn nothing_is_lost_in_a_storm() {
    for threads in [1, 3] {
        storm(threads as u64, 4000, threads, 0, 0);
        storm(10 + threads as u64, 4000, threads, 20, 0);
        storm(20 + threads as u64, 4000, threads, 20, 200);
    }
    storm(40, 100_000, 3, 50, 300);
}
