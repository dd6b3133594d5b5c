//! Loops and branches in kernels (S21): known programs on every device, recorded and step by step.

use std::sync::Arc;

use porcini_core::backend::Backend;
use porcini_core::backend::cpu::Cpu;
use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::ir::op::{Op, ScatterOp};
use porcini_core::{Array, DType, Error, Operand, Result, Runtime, Session};

/// Every compiler and interpreter that runs here, with one and two threads.
fn devices() -> Vec<Arc<dyn Backend>> {
    let mut devices: Vec<Arc<dyn Backend>> = Vec::new();
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        devices.push(Arc::new(Interp::new(isa, 1)));
        if isa != Isa::Baseline {
            devices.push(Arc::new(Cpu::new(isa, 1)));
            devices.push(Arc::new(Cpu::new(isa, 2)));
        }
    }
    devices
}

/// Runs a program on every device, recorded, step by step and watched; all must print the same.
fn everywhere(program: impl Fn(&Session) -> Result<String>) -> String {
    let mut results = Vec::new();
    for device in devices() {
        for way in ["recorded", "steps", "watched"] {
            let runtime = Runtime::on(device.clone(), None);
            let session = Session::builder().runtime(runtime).build().unwrap();
            session.set_flag("record_loops", way != "steps").unwrap();
            let watch = (way == "watched").then(|| session.watch());
            let result = program(&session).unwrap_or_else(|error| error.to_string());
            drop(watch);
            results.push((format!("{} {way}", session.device_name()), result));
        }
    }
    let (first, expected) = results[0].clone();
    for (device, result) in &results {
        assert_eq!(*result, expected, "{device} differs from {first}");
    }
    expected
}

fn show(arrays: &[Array]) -> Result<String> {
    let lanes = |array: &Array| Ok(format!("{:?}", array.read(0..array.size())?));
    Ok(arrays.iter().map(lanes).collect::<Result<Vec<_>>>()?.join("\n"))
}

fn n(number: i64) -> Operand<'static> {
    number.into()
}

/// Steps of Collatz's sequence from each number to 1.
fn collatz(session: &Session, numbers: &Array) -> Result<Array> {
    let steps = session.zeros(DType::U32, 1)?;
    let done = session.while_loop::<Error>(
        &[numbers.clone(), steps],
        |s| s[0].apply(Op::Gt, &[n(1)]),
        |s| {
            let odd = s[0].apply(Op::And, &[n(1)])?.apply(Op::Eq, &[n(1)])?;
            let up = s[0].apply(Op::Mul, &[n(3)])?.apply(Op::Add, &[n(1)])?;
            let down = s[0].apply(Op::Shr, &[n(1)])?;
            let next = session.apply(Op::Select, &[(&odd).into(), (&up).into(), (&down).into()])?;
            Ok(vec![next, s[1].apply(Op::Add, &[n(1)])?])
        },
    )?;
    Ok(done[1].clone())
}

#[test]
fn collatz_counts_steps() {
    let text = everywhere(|session| {
        let numbers = session.arange(DType::U64, 1.into(), 13.into(), 1.into())?;
        let steps = collatz(session, &numbers)?;
        if session.flag("record_loops")? && !session.is_watched() {
            steps.hsum()?.item(0)?;
            let launches = session.history().len();
            assert_eq!(launches, 1, "the loop and the sum are one kernel");
        }
        show(&[steps])
    });
    let steps = [0, 1, 7, 2, 5, 8, 16, 3, 19, 6, 14, 9].map(|i| format!("Int({i})"));
    assert_eq!(text, format!("[{}]", steps.join(", ")));
}

#[test]
fn sizes_around_packets() {
    for size in [0, 1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 4095, 4097, 65_539] {
        everywhere(|session| {
            let numbers = session.arange(DType::U32, 1.into(), (size + 1).into(), 1.into())?;
            let steps = collatz(session, &numbers)?;
            let sum = steps.hsum()?;
            show(&[steps, sum])
        });
    }
}

/// A loop in a loop: the inner one adds 1, 2, … up to the outer counter.
#[test]
fn nested_loops() {
    let text = everywhere(|session| {
        let limit = session.arange(DType::I32, 0.into(), 40.into(), 1.into())?;
        let zero = session.zeros(DType::I32, 1)?;
        let done = session.while_loop::<Error>(
            &[zero.clone(), zero.clone()],
            |s| s[0].apply(Op::Lt, &[(&limit).into()]),
            |s| {
                let inner = session.while_loop::<Error>(
                    &[zero.clone(), s[1].clone()],
                    |t| t[0].apply(Op::Le, &[(&s[0]).into()]),
                    |t| {
                        Ok(vec![
                            t[0].apply(Op::Add, &[n(1)])?,
                            t[1].apply(Op::Add, &[(&t[0]).into()])?,
                        ])
                    },
                )?;
                Ok(vec![s[0].apply(Op::Add, &[n(1)])?, inner[1].clone()])
            },
        )?;
        show(&done)
    });
    let sums: Vec<String> = (0..40_i64)
        .map(|k| format!("Int({})", (0..k).map(|i| i * (i + 1) / 2).sum::<i64>()))
        .collect();
    assert!(text.ends_with(&format!("[{}]", sums.join(", "))), "{text}");
}

/// Case I7: writes inside a loop.
#[test]
fn scatter_in_a_loop() {
    let text = everywhere(|session| {
        let x = session.arange(DType::U32, 0.into(), 10.into(), 1.into())?;
        let target = session.zeros(DType::U32, 10)?;
        let other = session.zeros(DType::U32, 3)?;
        let i = session.zeros(DType::U32, 1)?;
        let one = session.full(DType::U32, 1, 1)?;
        let two = session.full(DType::U32, 2, 1)?;
        let done = session.while_loop::<Error>(
            &[x, i, target, other],
            |s| s[0].apply(Op::Lt, &[n(5)]),
            |s| {
                let (mut target, mut other) = (s[2].clone(), s[3].clone());
                target.scatter(ScatterOp::Add, &one, &s[1], None)?;
                other.scatter(ScatterOp::Add, &two, &two, None)?;
                let next = |k: usize| s[k].apply(Op::Add, &[n(1)]);
                Ok(vec![next(0)?, next(1)?, target, other])
            },
        )?;
        show(&done[2..])
    });
    let ints = |numbers: &[u32]| {
        format!("[{}]", numbers.iter().map(|i| format!("Int({i})")).collect::<Vec<_>>().join(", "))
    };
    let expected = format!("{}\n{}", ints(&[5, 4, 3, 2, 1, 0, 0, 0, 0, 0]), ints(&[0, 0, 30]));
    assert_eq!(text, expected);
}

/// Floats and masks as states, a gather in the body, a loop whose lanes end at different turns.
#[test]
fn states_of_every_type() {
    let text = everywhere(|session| {
        let table = session.array(&[0.5_f64, 1.5, 2.5, -1.0, 4.0])?;
        let lane = session.arange(DType::I64, 0.into(), 67.into(), 1.into())?;
        let start = lane.cast(DType::F64)?;
        let flag = session.full(DType::Mask, false, 1)?;
        let count = session.zeros(DType::I32, 1)?;
        let small = session.full(DType::F32, 0.25, 1)?;
        let done = session.while_loop::<Error>(
            &[start, flag, count, small, lane.clone()],
            |s| {
                let few = s[2].apply(Op::Lt, &[n(20)])?;
                s[0].apply(Op::Lt, &[40.0.into()])?.apply(Op::And, &[(&few).into()])
            },
            |s| {
                let index = s[4].apply(Op::Rem, &[n(5)])?;
                let step = table.gather(&index, None)?;
                let value = s[0].apply(Op::Add, &[(&step).into()])?;
                let flag = s[1].apply(Op::Xor, &[(&step.apply(Op::Lt, &[n(1)])?).into()])?;
                let half = s[3].apply(Op::Mul, &[1.5.into()])?;
                // Two states change places.
                let swapped = s[4].apply(Op::Add, &[n(3)])?;
                Ok(vec![value, flag, s[2].apply(Op::Add, &[n(1)])?, half, swapped])
            },
        )?;
        show(&done)
    });
    assert!(text.contains("Float(40.0)") && text.contains("Bool(true)"), "{text}");
}

/// States that change places, and one that is another's value.
#[test]
fn states_change_places() {
    let text = everywhere(|session| {
        let a = session.arange(DType::I32, 0.into(), 20.into(), 1.into())?;
        let b = session.arange(DType::I32, 100.into(), 120.into(), 1.into())?;
        let i = session.zeros(DType::I32, 1)?;
        let limit = a.clone();
        let done = session.while_loop::<Error>(
            &[a, b, i],
            |s| s[2].apply(Op::Lt, &[(&limit).into()]),
            |s| Ok(vec![s[1].clone(), s[0].clone(), s[2].apply(Op::Add, &[n(1)])?]),
        )?;
        show(&done[..2])
    });
    assert!(text.starts_with("[Int(0), Int(101), Int(2), Int(103)"), "{text}");
}

#[test]
fn branches_and_dispatch() {
    let text = everywhere(|session| {
        let x = session.arange(DType::F32, 0.into(), 50.into(), 1.into())?;
        let index = x.cast(DType::I32)?.apply(Op::Rem, &[n(4)])?;
        let hits = session.zeros(DType::U32, 4)?;
        let one = session.full(DType::U32, 1, 1)?;
        let large = x.apply(Op::Gt, &[20.0.into()])?;
        let values = session.if_then::<Error>(
            &large,
            &[x.clone(), hits.clone()],
            |a| {
                let mut hits = a[1].clone();
                hits.scatter(ScatterOp::Add, &one, &index, None)?;
                Ok(vec![a[0].sqrt()?, hits])
            },
            |a| {
                let mut hits = a[1].clone();
                hits.scatter(ScatterOp::Add, &one, &session.zeros(DType::U32, 1)?, None)?;
                Ok(vec![a[0].apply(Op::Neg, &[])?, hits])
            },
        )?;
        let called =
            session.dispatch::<Error>(&index, 3, std::slice::from_ref(&x), |number, a| {
                let number = i64::try_from(number).unwrap();
                Ok(vec![a[0].apply(Op::Mul, &[n(number + 1)])?])
            })?;
        show(&[values[0].clone(), values[1].clone(), called[0].clone()])
    });
    assert!(text.contains("\n[Int(28), Int(8), Int(7), Int(7)]\n"), "{text}");
    assert!(text.contains("Float(-20.0), Float(4.58257"), "{text}");
    assert!(
        text.contains("\n[Float(0.0), Float(2.0), Float(6.0), Float(0.0), Float(4.0)"),
        "{text}"
    );
}

/// Plain writes come lane by lane, and turn by turn within a lane: the last one stays.
#[test]
fn plain_writes_in_a_loop() {
    let text = everywhere(|session| {
        let lane = session.arange(DType::I32, 0.into(), 50.into(), 1.into())?;
        let target = session.zeros(DType::I32, 4)?;
        let i = session.zeros(DType::I32, 1)?;
        let done = session.while_loop::<Error>(
            &[i, target],
            |s| s[0].apply(Op::Lt, &[n(3)]),
            |s| {
                let mut target = s[1].clone();
                let value = s[0].apply(Op::Mul, &[n(100)])?.apply(Op::Add, &[(&lane).into()])?;
                target.scatter(ScatterOp::Set, &value, &s[0], None)?;
                Ok(vec![s[0].apply(Op::Add, &[n(1)])?, target])
            },
        )?;
        show(&done[1..])
    });
    assert_eq!(text, "[Int(49), Int(149), Int(249), Int(0)]");
}

/// What a body must not do says what to do instead, and the session goes on.
#[test]
fn errors_in_bodies() {
    let session = Session::new().unwrap();
    let x = session.arange(DType::I32, 0.into(), 9.into(), 1.into()).unwrap();
    let attempt = |body: &dyn Fn(&Array) -> Result<Array>| {
        let result = session.while_loop::<Error>(
            std::slice::from_ref(&x),
            |s| s[0].apply(Op::Lt, &[n(5)]),
            |s| Ok(vec![body(&s[0])?]),
        );
        result.unwrap_err().to_string()
    };
    let leaked = std::cell::RefCell::new(None);
    let texts = [
        attempt(&|s| s.hsum()),
        attempt(&|s| s.item(0).map(|_| s.clone())),
        attempt(&|s| s.cast(DType::F32)),
        attempt(&|s| {
            let mut other = x.clone();
            other.scatter(ScatterOp::Add, s, s, None)?;
            Ok(s.clone())
        }),
        attempt(&|s| s.apply(Op::Add, &[(&session.zeros(DType::I32, 4)?).into()])),
        attempt(&|s| {
            *leaked.borrow_mut() = Some(s.clone());
            Err(Error::Interrupted)
        }),
    ];
    for (text, part) in texts.iter().zip([
        "hsum: in the body of while_loop",
        "reading an array: in the body of while_loop",
        "value 0 is Int32C and becomes FloatC; convert it: Int32C(x)",
        "scatter_add: the body of while_loop changes an array that is not among its states",
        "sizes 9 and 4 do not broadcast",
        "interrupted",
    ]) {
        assert!(text.contains(part), "{text}");
    }
    let text = leaked.borrow().as_ref().unwrap().item(0).unwrap_err().to_string();
    assert!(text.contains("return it from the body"), "{text}");
    assert_eq!(
        collatz(&session, &x.abs().unwrap().apply(Op::Add, &[n(1)]).unwrap())
            .unwrap()
            .hmax()
            .unwrap()
            .item(0)
            .unwrap(),
        19.into()
    );
}

/// A loop without end is left when an interrupt comes; the session keeps its variables.
#[test]
fn long_state_lists_and_deep_nesting() {
    let text = everywhere(|session| {
        let zero = session.zeros(DType::F32, 1)?;
        let x = session.arange(DType::F32, 0.into(), 35.into(), 1.into())?;
        // More states than there are registers.
        let mut states: Vec<Array> =
            (0..40_i64).map(|k| x.apply(Op::Add, &[n(k)])).collect::<Result<_>>()?;
        states.push(zero);
        let done = session.while_loop::<Error>(
            &states,
            |s| s[40].apply(Op::Lt, &[(&x).into()]),
            |s| {
                let mut next: Vec<Array> = Vec::new();
                for k in 0..40 {
                    next.push(s[k].apply(Op::Fma, &[0.5.into(), (&s[(k + 1) % 40]).into()])?);
                }
                next.push(s[40].apply(Op::Add, &[n(1)])?);
                Ok(next)
            },
        )?;
        show(&done)
    });
    assert!(text.contains("Float"));
}

/// Branches that leave an argument alone, of another size too, and loops in loops that write.
#[test]
fn arrays_that_one_branch_writes() {
    let text = everywhere(|session| {
        let x = session.arange(DType::U32, 0.into(), 20.into(), 1.into())?;
        let one = session.full(DType::U32, 1, 1)?;
        let hits = session.zeros(DType::U32, 3)?;
        let large = x.apply(Op::Gt, &[n(13)])?;
        let write = |a: &[Array]| {
            let mut hits = a[1].clone();
            hits.scatter(ScatterOp::Add, &one, &one, None)?;
            Ok(vec![a[0].apply(Op::Add, &[n(100)])?, hits])
        };
        let leave = |a: &[Array]| Ok(a.to_vec());
        let args = [x.clone(), hits.clone()];
        let first = session.if_then::<Error>(&large, &args, write, leave)?;
        let second = session.if_then::<Error>(&large, &args, leave, write)?;
        let i = session.zeros(DType::U32, 1)?;
        let done = session.while_loop::<Error>(
            &[i.clone(), hits],
            |s| s[0].apply(Op::Lt, &[(&x).into()]),
            |s| {
                let inner = session.while_loop::<Error>(
                    &[i.clone(), s[1].clone()],
                    |t| t[0].apply(Op::Lt, &[n(2)]),
                    |t| {
                        let mut hits = t[1].clone();
                        hits.scatter(ScatterOp::Add, &one, &t[0], None)?;
                        Ok(vec![t[0].apply(Op::Add, &[n(1)])?, hits])
                    },
                )?;
                Ok(vec![s[0].apply(Op::Add, &[n(1)])?, inner[1].clone()])
            },
        )?;
        show(&[first[1].clone(), second[1].clone(), first[0].clone(), done[1].clone()])
    });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "[Int(0), Int(6), Int(0)]");
    assert_eq!(lines[1], "[Int(0), Int(14), Int(0)]");
    assert!(lines[2].starts_with("[Int(0), Int(1), ") && lines[2].ends_with("Int(119)]"));
    assert_eq!(lines[3], "[Int(190), Int(190), Int(0)]");
}

/// Different operations on one array do not commute: they come lane by lane.
#[test]
fn mixed_writes_in_a_loop() {
    let text = everywhere(|session| {
        let x = session.arange(DType::U32, 0.into(), 20.into(), 1.into())?;
        let zero = session.zeros(DType::U32, 1)?;
        let ten = session.full(DType::U32, 10, 1)?;
        let done = session.while_loop::<Error>(
            &[x.apply(Op::And, &[n(1)])?, zero.clone()],
            |s| s[0].apply(Op::Lt, &[n(2)]),
            |s| {
                let mut target = s[1].clone();
                let value = x.apply(Op::Mul, &[n(50)])?;
                target.scatter(ScatterOp::Add, &ten, &zero, None)?;
                target.scatter(ScatterOp::Max, &value, &zero, None)?;
                Ok(vec![s[0].apply(Op::Add, &[n(1)])?, target])
            },
        )?;
        show(&done[1..])
    });
    let mut expected = 0_u32;
    for lane in 0..20 {
        for _ in lane % 2..2 {
            expected = (expected + 10).max(lane * 50);
        }
    }
    assert_eq!(text, format!("[Int({expected})]"));
}

type Body<'b> = dyn Fn(&[Array]) -> Result<Vec<Array>> + 'b;

/// A value of a body that has ended is refused in later bodies, and stops nothing else.
#[test]
fn leaked_values() {
    let session = Session::new().unwrap();
    let x = session.arange(DType::I32, 0.into(), 9.into(), 1.into()).unwrap();
    let few = x.apply(Op::Lt, &[n(5)]).unwrap();
    let leaked = std::cell::RefCell::new(Vec::new());
    let leak = |a: &[Array]| -> Result<Vec<Array>> {
        let more = a[0].apply(Op::Add, &[n(1)])?;
        leaked.borrow_mut().extend([a[0].clone(), more.clone()]);
        Ok(vec![more])
    };
    let leave = |a: &[Array]| -> Result<Vec<Array>> { Ok(a.to_vec()) };
    let x = std::slice::from_ref(&x);
    session.if_then(&few, x, leak, leave).unwrap();
    for value in leaked.borrow().iter() {
        let uses: [&Body<'_>; 3] = [
            &|_| Ok(vec![value.clone()]),
            &|a| Ok(vec![a[0].apply(Op::Add, &[value.into()])?]),
            // In a loop inside.
            &|a| {
                session.if_then(&few, a, |a| Ok(vec![a[0].apply(Op::Add, &[value.into()])?]), leave)
            },
        ];
        for body in uses {
            let text = session.if_then(&few, x, body, leave).unwrap_err().to_string();
            assert!(text.contains("return it from the body"), "{text}");
        }
    }
    // From an inner body into the outer one.
    let body = |a: &[Array]| -> Result<Vec<Array>> {
        let inner = Slot::default();
        session.if_then(
            &few,
            a,
            |a| {
                *inner.0.borrow_mut() = Some(a[0].clone());
                Ok::<_, Error>(vec![a[0].apply(Op::Add, &[n(1)])?])
            },
            leave,
        )?;
        let inner = inner.0.borrow().clone().unwrap();
        Ok(vec![a[0].apply(Op::Add, &[(&inner).into()])?])
    };
    let text = session.if_then(&few, x, body, leave).unwrap_err().to_string();
    assert!(text.contains("return it from the body"), "{text}");
    session.eval_all().unwrap();
}

#[derive(Default)]
struct Slot(std::cell::RefCell<Option<Array>>);

/// Names in bodies and of results, also of several handles.
#[test]
fn labels_of_states_and_results() {
    everywhere(|session| {
        let x = session.arange(DType::I32, 0.into(), 9.into(), 1.into())?;
        let done = session.while_loop::<Error>(
            std::slice::from_ref(&x),
            |s| s[0].apply(Op::Lt, &[n(5)]),
            |s| {
                let mut state = s[0].clone();
                state.set_label("state");
                Ok(vec![state.apply(Op::Add, &[n(2)])?])
            },
        )?;
        let mut result = done[0].clone();
        result.set_label("result");
        let more = result.apply(Op::Add, &[(&done[0]).into()])?;
        show(&[result, more])
    });
}

/// Two threads record bodies at the same time.
#[test]
fn bodies_of_two_threads() {
    let session = Session::new().unwrap();
    let run = |count: i64, wait: &std::sync::Barrier| {
        let x = session.arange(DType::I64, 0.into(), 9.into(), 1.into())?;
        let done = session.while_loop::<Error>(
            std::slice::from_ref(&x),
            |s| s[0].apply(Op::Lt, &[n(100)]),
            |s| {
                wait.wait();
                let next = s[0].apply(Op::Add, &[n(count)])?;
                if count == 1 {
                    wait.wait();
                }
                Ok(vec![next])
            },
        );
        if count == 2 {
            wait.wait();
        }
        done?[0].hsum()?.item(0)
    };
    let wait = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(1, &wait));
        assert_eq!(run(2, &wait).unwrap(), (9 * 100 + 4).into());
        assert_eq!(other.join().unwrap().unwrap(), 900.into());
    });
}
