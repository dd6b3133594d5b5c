//! A device with parts gives the bits of one without: random programs at sizes around chunks of reductions and
//! beyond what is whole everywhere, and what parts bring each other.
//!
//! `PORCINI_PROGRAMS=N` runs N programs of each kind, and `PORCINI_SEED=S` starts at another seed.

use std::process::Command;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use porcini_core::backend::parts::Parts;
use porcini_core::backend::ranks::{serve_leader, start};
use porcini_core::backend::{Backend, GpuBackend as _, Outside};
use porcini_core::device::{Launched, Rank, RanksOn, SharedFile, Toolkit};
use porcini_core::inspect::Rows;
use porcini_core::ir::op::{Op, ReduceOp, ScatterOp};
use porcini_core::ir::primitive::Order;
use porcini_core::tensor::Tensor;
use porcini_core::{Array, DType, DeviceChoice, Error, Result, Runtime, Scalar, Session};
use porcini_script::on_engine_thread;
use porcini_tests::data::Values;
use porcini_tests::extent::is_full;
use porcini_tests::fragile::Fragile;
use porcini_tests::generate::generate;
use porcini_tests::host::TestHost;
use porcini_tests::programs::{Mode, Program, run};
use porcini_tests::{golden, ranks};
use serde_json::Value;

use super::programs::{first_difference, number};

const PARTS: [u16; 4] = [2, 3, 7, 17];
/// Around chunks, so that the last part has few lanes, or some have none; and where borders are further apart.
const SIZES: [usize; 8] = [4095, 4097, 8192, 12_289, 28_673, 65_536, 69_635, 139_264];
const LARGE: [usize; 2] = [(1 << 21) - 1, (1 << 21) + 4097];
const DEFAULT_COUNT: u64 = 80;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A session on so many parts, where everything is split that has more lanes than a chunk.
fn session(parts: u16) -> Session {
    let runtime = Runtime::new(DeviceChoice::Parts(parts, 1), 2, None).unwrap();
    Session::builder().runtime(runtime).build().unwrap()
}

fn difference(program: &Program, n: usize, session: &dyn Fn() -> Session) -> Option<String> {
    let alone = Session::builder().device(DeviceChoice::Cpu).build().unwrap();
    let session = || {
        let session = session();
        // A GPU writes duplicates in the order of lanes where it is asked to.
        session.set_flag("lane_order", true).unwrap();
        session
    };
    let run = |session: &Session| run(program, session, n, Mode::Lazy).map_err(|e| e.to_string());
    let (want, got) = (run(&alone), run(&session()));
    let (want, got) = match (want, got) {
        (Ok(want), Ok(got)) => (want, got),
        (want, got) => {
            let (want, got) = (want.err(), got.err());
            return (want != got).then(|| format!("got {got:?}, want {want:?}"));
        }
    };
    for (i, (got, want)) in got.outputs.iter().zip(&want.outputs).enumerate() {
        if got != want {
            let bytes = program.nodes[program.outputs[i]].dtype.bytes();
            return Some(format!("output {i}, {}", first_difference(got, want, bytes)));
        }
    }
    (got.error != want.error).then(|| format!("got {:?}, want {:?}", got.error, want.error))
}

fn check_many(values: Values, first_seed: u64) {
    let count = number("PORCINI_PROGRAMS").unwrap_or(DEFAULT_COUNT);
    let first = number("PORCINI_SEED").unwrap_or(first_seed);
    for seed in first..first + count {
        let place = usize::try_from(seed).unwrap();
        let n = if seed % 40 == 39 { LARGE[place / 40 % 2] } else { SIZES[place % SIZES.len()] };
        let parts = PARTS[place / SIZES.len() % PARTS.len()];
        check(
            &generate(seed, values),
            n,
            &|| session(parts),
            &format!("seed {seed}, {parts} parts"),
        );
    }
}

fn check(program: &Program, n: usize, session: &dyn Fn() -> Session, name: &str) {
    if let Some(what) = difference(program, n, session) {
        let small = program.shrink(|smaller| difference(smaller, n, session).is_some());
        let still = difference(&small, n, session).unwrap_or_default();
        panic!("{name}, n = {n}: {what}\nshrunk: {still}\n{small}");
    }
}

/// Some programs of either kind of values, each in a session of its own on one device.
fn check_on(runtime: &Arc<Runtime>, name: &str) {
    let count = number("PORCINI_PROGRAMS").unwrap_or(DEFAULT_COUNT / 2);
    let session = || Session::builder().runtime(runtime.clone()).build().unwrap();
    let first = number("PORCINI_SEED").unwrap_or(0);
    for seed in first..first + count {
        let values = if seed.is_multiple_of(2) { Values::Bounded } else { Values::Edge };
        let n = SIZES[usize::try_from(seed / 2).unwrap() % SIZES.len()];
        check(&generate(9_000_000 + seed, values), n, &session, &format!("{name}: seed {seed}"));
    }
}

/// Parts of one GPU are opened one by one, as several GPUs are: each has streams and memory of its own.
#[test]
fn programs_agree_over_gpus() {
    if porcini_tests::gpu::open().is_none() {
        return;
    }
    for gpus in porcini_tests::gpu::several() {
        check_on_gpus(DeviceChoice::Gpus(gpus, 1));
    }
}

/// Also of long arrays, of which each GPU has memory for its lanes only.
fn check_on_gpus(choice: DeviceChoice) {
    // With the library by which GPUs of several processes send each other bytes.
    let toolkit = Toolkit::new(variable);
    let outside = Outside { rank: ranks::program(), toolkit, ..Outside::default() };
    let runtime = Runtime::with(choice, 1, None, outside).unwrap();
    check_on(&runtime, &choice.to_string());
    let session = || Session::builder().runtime(runtime.clone()).build().unwrap();
    let first = number("PORCINI_SEED").unwrap_or(0);
    for seed in first..first + number("PORCINI_PROGRAMS").unwrap_or(DEFAULT_COUNT) / 10 {
        let program = generate(9_500_000 + seed, Values::Bounded);
        check(&program, 4 * LARGE[1], &session, &format!("{choice}: seed {seed}"));
    }
}

/// A rank of other tests; nothing otherwise.
#[test]
fn a_rank() {
    if ranks::passes_for_gpu() {
        let gpu = Fragile::new();
        if ranks::fails() {
            gpu.fail().unwrap();
        }
        serve_leader(&|_, _| Ok(gpu.clone())).unwrap();
    } else if ranks::serves() {
        let own = Rank::new(1, variable).toolkit(Toolkit::new(variable));
        porcini_core::device::serve_rank(None, &own).unwrap();
    }
}

#[test]
fn programs_agree_over_ranks() {
    let outside = Outside { rank: ranks::program(), ..Outside::default() };
    for ranks in [2, 3] {
        let choice = DeviceChoice::Ranks(ranks, RanksOn::Processors, 1);
        let runtime = Runtime::with(choice, 2, None, outside.clone()).unwrap();
        check_on(&runtime, &choice.to_string());
    }
}

/// Each on a GPU of this host; where there are fewer GPUs, they share them.
#[test]
fn programs_agree_over_ranks_with_gpus() {
    if porcini_tests::gpu::open().is_none() {
        return;
    }
    for ranks in [2, 3] {
        check_on_gpus(DeviceChoice::Ranks(ranks, RanksOn::Gpus, 1));
    }
    // As users have it: what is short is at the first, and is read by what is not.
    let outside = Outside { rank: ranks::program(), ..Outside::default() };
    let choice = DeviceChoice::Ranks(2, RanksOn::Gpus, 1 << 16);
    check_on(&Runtime::with(choice, 1, None, outside).unwrap(), "of long arrays");
}

/// What ranks with GPUs are asked, where there is none: interpreters pass for them, and the first for one of this process.
#[test]
fn programs_agree_over_ranks_that_pass_for_gpus() {
    let outside = Outside { rank: ranks::program_without_gpu(), ..Outside::default() };
    for (n, whole) in [(2, 1), (3, 1), (2, 1 << 16)] {
        let mut devices: Vec<Arc<dyn Backend>> = vec![Fragile::new()];
        devices.extend(start(&outside, 1, n, RanksOn::Gpus).unwrap());
        let parts = Parts::over(&format!("ranks:{n}:cuda"), devices, whole);
        check_on(&Runtime::on(Arc::new(parts), None), &format!("{n} ranks, whole below {whole}"));
    }
}

/// A rank whose GPU fails is lost as one that ends is; what the leader's has alone stays.
#[test]
fn a_rank_whose_gpu_fails_is_lost() {
    let outside = Outside { rank: ranks::program_whose_gpu_fails(), ..Outside::default() };
    let mut devices: Vec<Arc<dyn Backend>> = vec![Fragile::new()];
    devices.extend(start(&outside, 1, 2, RanksOn::Gpus).unwrap());
    let runtime = Runtime::on(Arc::new(Parts::over("ranks:2:cuda", devices, 1 << 16)), None);
    let session = Session::builder().runtime(runtime).build().unwrap();
    let small = session.array(&[1.0_f32, 2.0]).unwrap().try_add(1.0).unwrap();
    let long = session.arange(DType::F32, 0.into(), 100_000.into(), 1.into()).unwrap() + 1.0;
    session.eval(&[&small, &long]).unwrap();
    let error = long.to_vec::<f32>().unwrap_err();
    assert!(matches!(error, Error::DeviceFailed { lost: true, .. }), "{error}");
    let told =
        "rank 1 failed while working: fragile failed while waiting: it was told to; the arrays";
    assert!(error.to_string().starts_with(told), "{error}");
    assert_eq!((&small * 2.0).to_vec::<f32>().unwrap(), [4.0, 6.0]);
    let error = long.to_vec::<f32>().unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error}");
}

#[test]
fn a_rank_without_a_gpu_says_so() {
    if porcini_tests::gpu::open().is_some() {
        return;
    }
    let outside = Outside { rank: ranks::program(), ..Outside::default() };
    let error = start(&outside, 1, 3, RanksOn::Gpus).err().unwrap().to_string();
    assert!(error.starts_with("no device \"rank 1\": it has no GPU on "), "{error}");
    assert!(error.ends_with("or leave cuda out: they compute on processors then"), "{error}");
}

/// A rank that ends is told of once, what it had is lost, and the next value finds others.
#[test]
fn a_session_outlives_its_ranks() {
    let outside = Outside { rank: ranks::program(), ..Outside::default() };
    let runtime =
        Runtime::with(DeviceChoice::Ranks(3, RanksOn::Processors, 1), 1, None, outside).unwrap();
    let session = Session::builder().runtime(runtime).build().unwrap();
    for _ in 0..5 {
        let lane = session.arange(DType::F32, 0.into(), 20_000.into(), 1.into()).unwrap();
        let (kept, data) = (&lane * 2.0, &lane + 1.0);
        data.eval().unwrap();
        let rank = first_child();
        let killed = Command::new("kill").args(["-9", &rank]).status().unwrap();
        assert!(killed.success());
        let error = (&data * 2.0).to_vec::<f32>().unwrap_err();
        assert!(matches!(error, Error::DeviceFailed { lost: true, .. }), "{error}");
        assert!(error.to_string().contains("was killed by signal 9"), "{error}");
        let error = data.to_vec::<f32>().unwrap_err();
        assert!(matches!(error, Error::Lost { .. }), "{error}");
        let is_lost = session.whos(Rows::All).rows.iter().any(|row| row.lost && !row.ready);
        assert!(is_lost && !data.is_ready());
        assert_eq!(kept.to_vec::<f32>().unwrap()[19_999], 39_998.0);
    }
}

/// What is whole at every part stays, though a part is gone.
#[test]
fn whole_arrays_outlive_a_rank() {
    let outside = Outside { rank: ranks::program(), ..Outside::default() };
    let runtime =
        Runtime::with(DeviceChoice::ranks(2, RanksOn::Processors), 1, None, outside).unwrap();
    let session = Session::builder().runtime(runtime).build().unwrap();
    let long = || session.arange(DType::F32, 0.into(), 100_000.into(), 1.into()).unwrap();
    let small = session.array(&[1.0_f32, 2.0]).unwrap().try_add(1.0).unwrap();
    let other = session.array(&[5_u32]).unwrap();
    session.eval(&[&small]).unwrap();
    let killed = Command::new("kill").args(["-9", &first_child()]).status().unwrap();
    assert!(killed.success());
    let error = (long() + 1.0).to_vec::<f32>().unwrap_err();
    assert!(matches!(error, Error::DeviceFailed { lost: true, .. }), "{error}");
    assert_eq!((long() + 1.0).to_vec::<f32>().unwrap()[99_999], 100_000.0);
    assert!(small.is_ready());
    assert_eq!((&small * 2.0).to_vec::<f32>().unwrap(), [4.0, 6.0]);
    assert_eq!(other.to_vec::<u32>().unwrap(), [5]);
}

/// Whenever a rank ends, each value is right or an error, nobody waits for ever, and the next value is right.
#[test]
fn a_rank_may_end_at_any_moment() {
    let moments = if is_full() { 1000 } else { 40 };
    let (done, all) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        let outside = Outside { rank: ranks::program(), ..Outside::default() };
        let runtime =
            Runtime::with(DeviceChoice::Ranks(2, RanksOn::Processors, 1), 1, None, outside)
                .unwrap();
        let session = || Session::builder().runtime(runtime.clone()).build().unwrap();
        let alone = Session::builder().device(DeviceChoice::Cpu).build().unwrap();
        let want: Vec<Vec<u8>> = values(&alone).into_iter().map(Result::unwrap).collect();
        let mut told = 0;
        for moment in 0..moments {
            assert!(values(&session()).into_iter().map(Result::unwrap).eq(want.iter().cloned()));
            let rank = first_child();
            let killer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_micros(moment * 7919 % 12_000));
                Command::new("kill").args(["-9", &rank]).status().unwrap()
            });
            let mut check = || {
                for (got, want) in values(&session()).into_iter().zip(&want) {
                    match got {
                        Ok(got) => assert!(got == *want, "moment {moment}"),
                        Err(
                            Error::DeviceFailed { lost: true, .. }
                            | Error::Lost { .. }
                            | Error::Poisoned { .. },
                        ) => told += 1,
                        Err(error) => panic!("moment {moment}: {error}"),
                    }
                }
            };
            check();
            assert!(killer.join().unwrap().success());
            // An end that nobody has seen yet is told once.
            check();
            done.send(moment).unwrap();
        }
        told
    });
    // The end of the thread ends this, too.
    while all.recv_timeout(Duration::from_secs(60)).is_ok() {}
    assert!(worker.is_finished() || all.recv().is_err(), "nobody answers");
    assert!(worker.join().unwrap() > 0, "no end was seen");
}

/// Values of launches of all kinds, each of which a rank may not survive.
fn values(session: &Session) -> [Result<Vec<u8>>; 6] {
    let lane = || session.arange(DType::U32, 0.into(), 70_000.into(), 1.into());
    let x = || lane()?.cast(DType::F32)?.sin();
    let bins = || {
        let mut bins = session.zeros(DType::F32, 20_000)?;
        bins.scatter(ScatterOp::Add, &x()?, &lane()?.apply(Op::Rem, &[20_000.into()])?, None)?;
        Ok(bins)
    };
    let moved = || {
        let x = x()?;
        x.eval()?;
        x.gather(&lane()?.reverse()?, None)
    };
    let large = || x()?.compress(&x()?.gt(0.5)?);
    let all = |array: Result<Array>| {
        let array = array?;
        array.read_bytes(0..array.size())
    };
    let sum = x().and_then(|x| x.reduce(ReduceOp::Sum));
    let sorted = x().and_then(|x| x.sort(Order::Ascending));
    [all(x()), all(sum), all(bins()), all(moved()), all(large()), all(sorted)]
}

/// A process that this thread's ranks are, by what the system lists.
fn first_child() -> String {
    let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
    children.split_whitespace().next().unwrap().into()
}

/// Set where the processes of a launcher are to compute on GPUs.
const ON_GPUS: &str = "PORCINI_TEST_ON_GPUS";

/// What a launcher of MPI starts, several times; nothing otherwise.
#[test]
fn launched() {
    let Some(launched) = Launched::of(variable) else { return };
    if launched.rank > 0 {
        return porcini_core::device::serve_launched(launched, None, &Rank::new(1, variable))
            .unwrap();
    }
    let on = variable(ON_GPUS).map_or(RanksOn::Processors, |_| RanksOn::Gpus);
    let choice = DeviceChoice::Launched(launched, on, 1);
    let runtime = Runtime::new(choice, 1, Some(golden::MEMORY_LIMIT)).unwrap();
    check_on(&runtime, "launched");
    if is_full() {
        super::golden::check_all_on(&runtime);
    }
    Session::builder().runtime(runtime).build().unwrap().leave();
}

/// Ranks of Open MPI and MPICH, by one program that was linked to neither.
#[test]
fn programs_agree_over_mpi() {
    let (_, name) = concat!(module_path!(), "::launched").split_once("::").unwrap();
    let gpus = porcini_tests::gpu::open().map(|_| (ON_GPUS, "1"));
    let kinds = std::iter::once(None).chain(gpus.map(Some));
    let launchers = ["mpirun.openmpi", "mpirun.mpich"];
    for (launcher, on) in kinds.flat_map(|on| launchers.map(|launcher| (launcher, on))) {
        let mut command = Command::new(launcher);
        command.envs(on);
        // Open MPI asks twice whether root means it.
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        // Of two others, which send each other messages, also on few processors.
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        command.args(["-n", "3"]).arg(std::env::current_exe().unwrap()).args(["--exact", name]);
        match command.output() {
            Err(error) => println!("skipped: {launcher}: {error}"),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stdout);
                let all = said.matches("1 passed").count() == 3;
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success() && all, "{launcher}: {said}{errors}");
            }
        }
    }
}

#[test]
fn programs_of_bounded_values_agree_over_parts() {
    check_many(Values::Bounded, 7_000_000);
}

#[test]
fn programs_of_edge_values_agree_over_parts() {
    check_many(Values::Edge, 8_000_000);
}

/// Sums, whose bits show in which order lanes were added, also of so many lanes that threads claim several chunks at once.
#[test]
fn sums_are_those_of_one_part() {
    let gpus = porcini_tests::gpu::open().and_then(|_| porcini_tests::gpu::several().pop());
    let choices =
        gpus.map(|gpus| [DeviceChoice::Gpus(gpus, 1), DeviceChoice::Ranks(2, RanksOn::Gpus, 1)]);
    let outside = Outside { rank: ranks::program(), ..Outside::default() };
    let open = |choice| Runtime::with(choice, 1, None, outside.clone()).unwrap();
    let gpus: Vec<Arc<Runtime>> = choices.into_iter().flatten().map(open).collect();
    let sums = |session: &Session, n: i64| -> Result<Vec<u8>> {
        let lane = session.arange(DType::U32, 0.into(), n.into(), 1.into())?;
        let x = lane.cast(DType::F32)?.sin()?;
        let both = [x.reduce(ReduceOp::Sum)?, (&x * 1.5).cast(DType::F64)?.reduce(ReduceOp::Sum)?];
        let more = [
            lane.reduce(ReduceOp::Sum)?,
            x.reduce(ReduceOp::Max)?,
            x.lt(0)?.reduce(ReduceOp::Count)?,
        ];
        let bytes = both.iter().chain(&more).map(|sum| sum.read_bytes(0..1));
        Ok(bytes.collect::<Result<Vec<_>>>()?.concat())
    };
    let alone = Session::builder().device(DeviceChoice::Cpu).build().unwrap();
    for n in [1, 4096, 4097, 1_000_000, 1 << 20, 3_000_001, (1 << 22) + 1] {
        let want = sums(&alone, n).unwrap();
        for parts in PARTS {
            assert_eq!(sums(&session(parts), n).unwrap(), want, "{n} lanes, {parts} parts");
        }
        for runtime in &gpus {
            let session = Session::builder().runtime(runtime.clone()).build().unwrap();
            assert_eq!(sums(&session, n).unwrap(), want, "{n} lanes, {runtime:?}");
        }
    }
}

/// What parts brought each other for the lanes of an array, as level 1 of the log says it, and the lanes.
fn exchanged(parts: u16, work: impl Fn(&Session) -> Result<Array>) -> (Vec<String>, Vec<u8>) {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let sink = lines.clone();
    let runtime = Runtime::new(DeviceChoice::parts(parts), 2, None).unwrap();
    let log = Arc::new(move |line: &str| sink.lock().unwrap().push(line.into()));
    let session = Session::builder().runtime(runtime).log(1, log).build().unwrap();
    let result = work(&session).unwrap();
    result.eval().unwrap();
    let mut lines = std::mem::take(&mut *lines.lock().unwrap());
    lines.retain(|line| line.starts_with("exchange"));
    (lines, result.read_bytes(0..result.size()).unwrap())
}

/// One index under several masks: what is read under any of them is brought.
#[test]
fn masks_of_one_index_do_not_hide_each_other() {
    let n: i64 = 1 << 20;
    let work = |session: &Session| {
        let lane = session.arange(DType::U32, 0.into(), n.into(), 1.into())?;
        let x = lane.cast(DType::F32)?.sin()?;
        // From memory: half of the lanes read what is near, the others what is far.
        let is_even = lane.apply(Op::Rem, &[2.into()])?.eq(0)?;
        let far = is_even.select(&lane, &lane.reverse()?)?;
        session.eval(&[&x, &far, &is_even])?;
        let even = x.gather(&far, Some(&is_even))?;
        let odd = x.gather(&far, Some(&is_even.not()?))?;
        Ok(&even - &(&odd * 2.0))
    };
    assert!(exchanged(1, work).1 == exchanged(4, work).1);
}

/// Neighbours move an element for each border and way, not the array: nor where indices wrap around.
#[test]
fn stencils_bring_what_crosses_borders() {
    let n = 1 << 20;
    let heat = |session: &Session| {
        let lane = session.arange(DType::U32, 0.into(), n.into(), 1.into())?;
        let x = lane.cast(DType::F32)?.sin()?;
        x.eval()?;
        let at = |distance: i64| {
            x.gather(&(&lane + distance).apply(Op::Rem, &[Scalar::Int(n).into()])?, None)
        };
        Ok(&(&at(n - 1)? + &at(1)?) - &(&x * 2.0))
    };
    let (none, want) = exchanged(1, heat);
    let (lines, got) = exchanged(4, heat);
    assert!(none.is_empty(), "{none:?}");
    assert_eq!(lines, ["exchange: 32 B"]);
    assert!(got == want);
}

/// Of prefix sums and true lanes parts are sent what their chunks sum to, not the lanes.
#[test]
fn scans_exchange_totals_of_chunks() {
    let works: [fn(&Array) -> Result<Array>; 4] = [
        Array::psum,
        |x| (x + 1.0).cumprod(),
        |x| Ok(Tensor::from(x).cummax(0)?.entries()?.swap_remove(0)),
        |x| x.gt(0.3)?.true_lanes(),
    ];
    for scan in works {
        let work = |session: &Session| {
            let lane = session.arange(DType::U32, 0.into(), (1 << 20).into(), 1.into())?;
            let x = lane.cast(DType::F32)?.sin()?;
            x.eval()?;
            scan(&x)
        };
        let (_, want) = exchanged(1, work);
        let (lines, got) = exchanged(4, work);
        assert!(got == want);
        assert_eq!(lines, ["exchange: 6 KiB"]);
    }
}

/// A row that is sorted stays where it is, and of any other each lane moves once: parts look at few lanes of each other.
#[test]
fn sorts_move_lanes_once() {
    let sorted = |parts: u16, is_sorted: bool, sort: fn(&Array) -> Result<Array>| {
        exchanged(parts, |session: &Session| {
            let lane = session.arange(DType::U32, 0.into(), (1 << 20).into(), 1.into())?;
            let x = lane.cast(DType::F32)?;
            let x = if is_sorted { x } else { x.sin()? };
            x.eval()?;
            sort(&x)
        })
    };
    let sorts: [fn(&Array) -> Result<Array>; 2] =
        [|x| x.sort(Order::Ascending), |x| x.argsort(Order::Ascending)];
    for sort in sorts {
        for (is_sorted, unit) in [(true, "KiB"), (false, "MiB")] {
            let (lines, got) = sorted(4, is_sorted, sort);
            assert!(got == sorted(1, is_sorted, sort).1);
            assert!(matches!(&lines[..], [line] if line.ends_with(unit)), "{lines:?}");
        }
    }
}

/// What parts share is in the rows of all of them, within the launch.
#[test]
fn timelines_have_a_row_for_each_part() {
    let script = "x = sin(FloatC(UInt32C::arange(100000))); eval(x); eval(psum(x)); trace_events(\"t.json\")";
    let timeline: Value = on_engine_thread(|| {
        let host = Rc::new(TestHost::default());
        let on_parts = (DeviceChoice::Parts(3, 1), 2);
        golden::interpreter(host.clone(), on_parts, 0).execute(script, "timeline").unwrap();
        serde_json::from_slice(&host.file("t.json").unwrap()).unwrap()
    });
    let events = timeline["traceEvents"].as_array().unwrap();
    let rows: Vec<&str> =
        events.iter().filter_map(|event| event["args"]["name"].as_str()).collect();
    let parts: Vec<&str> =
        rows.iter().filter_map(|name| name.rsplit_once(", ")).map(|it| it.1).collect();
    assert!(parts.ends_with(&["part 0", "part 1", "part 2"]), "{rows:?}");
    // The rows of the parts are the last three.
    let first = rows.len() - 2;
    let end = |event: &Value| event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap();
    let ends = |row: usize| {
        events.iter().filter(move |event| event["ph"] == "X" && event["tid"] == row).map(end)
    };
    let last = ends(1).fold(0.0, f64::max);
    for row in first..first + 3 {
        // A kernel, and both passes of the prefix sum.
        assert!(ends(row).count() >= 3, "row {row}: {events:?}");
        assert!(ends(row).all(|end| end <= last), "row {row}: {events:?}");
    }
}

/// Each part reads and writes its lanes of a file, unless that is another one by then.
#[test]
fn parts_share_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lanes");
    let outside = Outside { rank: ranks::program(), ..Outside::default() };
    let ranks =
        Runtime::with(DeviceChoice::Ranks(3, RanksOn::Processors, 1), 1, None, outside).unwrap();
    let ranks = Session::builder().runtime(ranks).build().unwrap();
    for session in [session(3), ranks] {
        let n = 100_003_u64;
        let lane = session.arange(DType::F64, 0.into(), Scalar::Int(100_003), 1.into()).unwrap();
        let start = 7;
        std::fs::write(&path, vec![1; usize::try_from(start + 8 * n + 1).unwrap()]).unwrap();
        let file = SharedFile::at(&path).unwrap();
        assert!((&lane / 0.0).save(&file, start).unwrap());
        let want: Vec<u8> = (0..n).flat_map(|lane| (lane as f64 / 0.0).to_le_bytes()).collect();
        let written = std::fs::read(&path).unwrap();
        assert_eq!((written[6], written[written.len() - 1]), (1, 1));
        let nan = f64::NAN.to_le_bytes();
        assert!(written[7..15] == nan && written[15..written.len() - 1] == want[8..]);

        // Clocks of file systems are slow.
        let later = std::time::SystemTime::now() + Duration::from_secs(1);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        let read = |file: &SharedFile| session.from_file(DType::F64, n, file, start).unwrap();
        assert!(read(&file).is_none(), "it was written since");
        let file = SharedFile::at(&path).unwrap();
        let got = read(&file).unwrap();
        assert_eq!(got.to_vec::<f64>().unwrap()[1..], vec![f64::INFINITY; 100_002]);
        assert!(session.from_file(DType::F64, n + 1, &file, start).unwrap().is_none(), "too short");
        std::fs::remove_file(&path).unwrap();
        assert!(read(&file).is_none(), "it is gone");
    }
}
