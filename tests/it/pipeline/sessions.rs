//! Several threads in one session, and several sessions in one process (S19).

use std::sync::{Arc, Mutex, OnceLock};

use porcini_core::inspect::Rows;
use porcini_core::ir::op::ScatterOp;
use porcini_core::log::LogSink;
use porcini_core::random::Pcg32;
use porcini_core::tensor::Tensor;
use porcini_core::value::{Form, Value, Vector2i};
use porcini_core::{DType, DeviceChoice, Error, Runtime, Scalar, Session};

use super::{lanes, session};

#[test]
fn threads_share_a_session() {
    let session = session();
    let shared = lanes(&session, DType::F32, 5000) + 1.0;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (session, shared) = (session.clone(), shared.clone());
            scope.spawn(move || stress(&session, &shared, thread));
        }
    });
    drop(shared);
    let whos = session.whos(porcini_core::inspect::Rows::All);
    assert_eq!((whos.rows.len(), whos.memory.used), (0, 0));
}

fn stress(session: &Session, shared: &porcini_core::Array, thread: i64) {
    for round in 0..60 {
        let number = thread * 100 + round;
        let mut a = shared.cast(DType::I64).unwrap() * number;
        let kept = a.clone();
        let at = session.array(&[0_u32, 7]).unwrap();
        a.scatter(ScatterOp::Add, number, &at, None).unwrap();
        let sum = a.hsum().unwrap();
        let total = (kept.hsum().unwrap() + 2 * number).to_vec::<i64>().unwrap();
        assert_eq!(sum.to_vec::<i64>().unwrap(), total);
        assert_eq!(total, [number * 5000 * 5001 / 2 + 2 * number]);
        if round % 10 == 0 {
            session.eval_all().unwrap();
        }
        assert_eq!(kept.item(7).unwrap().to_f64(), a.item(7).unwrap().to_f64() - number as f64);
    }
}

/// Arrays may disappear between the moment they are listed and the moment they are evaluated.
#[test]
fn everything_is_evaluated_while_others_drop() {
    let session = session();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let session = session.clone();
            scope.spawn(move || {
                for i in 0..5000 {
                    if thread == 0 {
                        session.eval_all().unwrap();
                        continue;
                    }
                    let x = lanes(&session, DType::I64, 10 + thread) + i;
                    drop(&x * &x + thread);
                    assert_eq!(x.item(1).unwrap(), Scalar::Int(i + 1));
                }
            });
        }
    });
}

#[test]
fn sessions_share_a_runtime() {
    let runtime = Runtime::new(DeviceChoice::Cpu, 2, Some(1 << 30)).unwrap();
    let sessions: Vec<Session> =
        (0..3).map(|_| Session::builder().runtime(runtime.clone()).build().unwrap()).collect();
    std::thread::scope(|scope| {
        for session in &sessions {
            scope.spawn(move || {
                let sum = (lanes(session, DType::U64, 300_000) + 1).hsum().unwrap();
                assert_eq!(sum.to_vec::<u64>().unwrap(), [300_000 * 300_001 / 2]);
            });
        }
    });
    let a = sessions[0].array(&[1.0_f32; 1000]).unwrap();
    assert!(sessions[1].memory_info().used >= 4000);
    assert_eq!(sessions[1].memory_info(), sessions[0].memory_info());
    drop(a);
}

#[test]
fn arrays_of_two_sessions_do_not_mix() {
    let (one, two) = (session(), session());
    let mut a = one.array(&[1_i32, 2]).unwrap();
    // Numbers of slots that `one` does not have.
    let _others: Vec<_> = (0..10).map(|i| two.array(&[i]).unwrap()).collect();
    let b = two.array(&[0_i32, 1]).unwrap();
    let mask = two.array(&[true, false]).unwrap();
    let own = one.array(&[0_i32, 1]).unwrap();
    let foreign = |result: porcini_core::Result<()>| {
        assert!(matches!(result, Err(Error::ForeignArray { .. })), "{result:?}");
    };
    foreign(a.min(&b).map(drop));
    foreign(a.gather(&b, None).map(drop));
    foreign(a.gather(&own, Some(&mask)).map(drop));
    foreign(a.scatter(ScatterOp::Set, &b, &own, None));
    foreign(a.scatter(ScatterOp::Set, 1, &b, None));
    foreign(a.scatter(ScatterOp::Set, 1, &own, Some(&mask)));
    foreign(mask.select(&a, 1).map(drop));
    foreign(one.eval(&[&a, &b]));
    foreign(one.plan(&[&b]).map(drop));
    foreign(Pcg32::new(&one, b.clone(), own.clone()).map(drop));
    foreign(Vector2i::new([&a, &b]).map(drop));
    foreign(Value::of_entries(Form::Complex, vec![a.clone().into(), b.clone().into()]).map(drop));
    let [real, imag] = [&a, &b].map(|array| array.cast(DType::F32).unwrap());
    foreign(Tensor::complex(&real, &imag, &[2]).map(drop));
    assert_eq!(a.to_vec::<i32>().unwrap(), [1, 2]);
    let message = "+: the arrays are of different sessions; take a copy, as with \
                   session.array(&x.to_vec::<f32>()?)";
    assert_eq!(a.try_add(&b).unwrap_err().to_string(), message);
    // Numbers of one lane or many come along.
    let number = two.full(DType::I32, 3, 2).unwrap();
    let v = Vector2i::new([&a, &number]).unwrap();
    assert_eq!(v.x().try_add(v.y()).unwrap().to_vec::<i32>().unwrap(), [4, 5]);
}

#[test]
fn a_log_sink_may_use_the_session() {
    type Seen = Vec<(String, usize, usize)>;
    let slot: Arc<OnceLock<Session>> = Arc::default();
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let (session, lines) = (slot.clone(), seen.clone());
    let sink: LogSink = Arc::new(move |line| {
        if let Some(session) = session.get() {
            let n_rows = session.whos(Rows::All).rows.len();
            lines.lock().unwrap().push((line.to_string(), n_rows, session.n_kernels()));
        }
    });
    let session = Session::builder().threads(1).log(2, sink).build().unwrap();
    slot.set(session.clone()).unwrap();
    let a = session.array(&[1, 2, 3]).unwrap() + 1;
    assert_eq!(a.to_vec::<i32>().unwrap(), [2, 3, 4]);
    let seen = seen.lock().unwrap();
    let starts: Vec<&str> = seen.iter().map(|(line, ..)| line.split('(').next().unwrap()).collect();
    assert_eq!(starts, ["eval", "jit_run"]);
    // The launch is announced before it changes anything.
    assert_eq!((seen[0].1, seen[0].2), (3, 0));
}
