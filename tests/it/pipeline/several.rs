//! Arrays on several devices: one that passes for a GPU, and the CPU.

use porcini_core::backend::cuda;
use porcini_core::inspect::Rows;
use porcini_core::ir::op::{Op, ReduceOp, ScatterOp};
use porcini_core::ir::primitive::Order;
use porcini_core::{Array, DType, DeviceChoice, Error, Runtime, Session};
use porcini_tests::fragile::Fragile;
use porcini_tests::gpu;

use super::lanes;

fn session() -> Session {
    Session::builder().runtime(Runtime::on(Fragile::new(), None)).build().unwrap()
}

fn on_cpu(array: &Array) -> Array {
    array.to(DeviceChoice::Cpu).unwrap()
}

#[test]
fn arrays_move_and_come_back() {
    let session = session();
    let x = session.array(&[1_f32, -0.0, f32::NAN]).unwrap();
    let there = on_cpu(&(&x + &x));
    assert_eq!(x.session().device_name(), "fragile");
    assert!(there.session().device_name().starts_with("cpu"));
    let back = (&there * 2.0).to(DeviceChoice::Cuda(0)).unwrap();
    assert!(back.session().is(&session));
    let bits =
        |x: &Array| x.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(&back), bits(&(&x * 4.0)));
    // What is there stays what it is, whichever way it is asked for.
    for (array, device) in
        [(&there, DeviceChoice::Cpu), (&x, DeviceChoice::Cuda(0)), (&x, DeviceChoice::Auto)]
    {
        let same = array.to(device).unwrap();
        assert_eq!(same.serial(), array.serial());
    }
    assert_eq!(session.family().len(), 2);
    assert!(on_cpu(&session.zeros(DType::I8, 0).unwrap()).is_empty());
}

#[test]
fn numbers_go_where_the_others_are() {
    let session = session();
    let x = on_cpu(&session.array(&[1_i32, 2, 3]).unwrap());
    let two = session.full(DType::I32, 2, 1).unwrap();
    for sum in [&x + &two, &two + &x, session.apply(Op::Add, &[(&x).into(), 2.into()]).unwrap()] {
        assert!(sum.session().is(x.session()));
        assert_eq!(sum.to_vec::<i32>().unwrap(), [3, 4, 5]);
    }
    let doubled = session
        .while_loop::<Error>(
            &[x.clone(), two],
            |states| states[0].lt(100),
            |states| Ok(vec![&states[0] * &states[1], states[1].clone()]),
        )
        .unwrap();
    assert_eq!(doubled[0].to_vec::<i32>().unwrap(), [128, 128, 192]);
    assert_eq!(session.concat(&[&x, &x]).unwrap().size(), 6);
}

#[test]
fn arrays_of_two_devices_do_not_meet() {
    let session = session();
    let here = session.array(&[1_i32, 2, 3]).unwrap();
    let there = on_cpu(&here);
    let message =
        "+: the arrays are on different devices; bring them together, as with x.to(\"cpu\")";
    let error = here.apply(Op::Add, &[(&there).into()]).unwrap_err();
    assert_eq!(error.to_string(), message);
    assert!(matches!(there.gather(&here, None), Err(Error::ForeignArray { .. })));
    assert!(matches!(session.concat(&[&here, &there]), Err(Error::ForeignArray { .. })));
    assert!(matches!(session.plan(&[&here, &there]), Err(Error::ForeignArray { .. })));
    let none = session.zeros(DType::I32, 3).unwrap().to(DeviceChoice::Cuda(7));
    assert!(matches!(none, Err(Error::NoDevice { .. })));
}

#[test]
fn what_concerns_all_reaches_every_device() {
    let session = session();
    let here = session.array(&[1_i32, 2, 3]).unwrap() + 1;
    let there = on_cpu(&here) + 1;
    session.eval(&[&here, &there]).unwrap();
    assert!(here.is_evaluated() && there.is_evaluated());
    let later = [&here + 1, &there + 1];
    session.eval_all().unwrap();
    assert!(later.iter().all(Array::is_evaluated));
    assert_eq!(session.launch_totals().launches, session.history().len() as u64);
    // A bounds error is told once, from whichever device it comes.
    session.set_line(12);
    there.gather(&(&there * 100), None).unwrap().eval().unwrap();
    assert!(matches!(session.sync(), Err(Error::Bounds { line: 12, .. })));
    session.sync().unwrap();
    session.set_flag("cse", false).unwrap();
    assert_ne!((&there * 9).serial(), (&there * 9).serial());
    let mut target = there.clone();
    target
        .scatter(ScatterOp::Add, 1, &there.session().full(DType::U32, 0, 1).unwrap(), None)
        .unwrap();
    assert_eq!(target.item(0).unwrap(), (&there + 1).item(0).unwrap());
    let rows: usize =
        session.family().iter().map(|session| session.whos(Rows::All).rows.len()).sum();
    assert!(rows >= 4);
}

/// Two GPUs compute what one does, each on its own stream and in its own memory.
#[test]
fn a_session_works_on_two_gpus() {
    let Some(runtime) = gpu::open() else { return };
    if cuda::survey().map_or(0, |survey| survey.gpus.len()) < 2 {
        return gpu::say_skipped(&"there is only one");
    }
    let session = Session::builder().runtime(runtime).build().unwrap();
    let n = (1 << 22) + 3;
    let work = |x: &Array| {
        let y = (x * 1.5 + 0.25).sin().unwrap();
        let bins = session_index(x, 1000);
        let mut counts = x.session().zeros(DType::U32, 1000).unwrap();
        counts.scatter(ScatterOp::Add, 1, &bins, None).unwrap();
        let sorted = y.sort(Order::Ascending).unwrap();
        let gathered = sorted.gather(&session_index(x, 4096), None).unwrap();
        let sum = gathered.reduce(ReduceOp::Sum).unwrap();
        (y, counts, sorted, sum)
    };
    let x = session.linspace(DType::F32, -3, 3, n).unwrap();
    let here = work(&x);
    let other = x.to(DeviceChoice::Cuda(1)).unwrap();
    assert!(
        other.session().device_name().starts_with("cuda:1"),
        "{}",
        other.session().device_name()
    );
    // Both have work at once, and give it back by turns.
    let there = work(&other);
    session.eval(&[&here.3, &there.3]).unwrap();
    for (here, there) in [(&here.0, &there.0), (&here.2, &there.2), (&here.3, &there.3)] {
        assert!(bits(here) == bits(&there.to(DeviceChoice::Cuda(0)).unwrap()));
    }
    assert_eq!(here.1.to_vec::<u32>().unwrap(), there.1.to_vec::<u32>().unwrap());
    assert!(matches!(here.0.apply(Op::Add, &[(&there.0).into()]), Err(Error::ForeignArray { .. })));
    let on_host = on_cpu(&there.0);
    assert!(bits(&on_host) == bits(&here.0));
}

fn session_index(x: &Array, n: i64) -> Array {
    lanes(x.session(), DType::U32, i64::try_from(x.size()).unwrap()) % n
}

fn bits(x: &Array) -> Vec<u32> {
    x.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
}
