//! Changes in place inside bodies that are recorded (S21): of states and of what the body made, of nothing else.

use std::slice::from_ref;

use porcini_core::catalogue::{Answer, CENGINE, CENGINE_TENSORS, Kind, Row, rows};
use porcini_core::random::Pcg32;
use porcini_core::value::Argument;
use porcini_core::{Array, DType, Error, Op, Operand, Result, Session, Value};

/// Every row that changes its first argument.
fn changing() -> impl Iterator<Item = &'static Row> {
    let all = [CENGINE, CENGINE_TENSORS].into_iter().flatten().chain(rows());
    all.filter(|row| matches!(row.parameters, [(_, Kind::Target), ..]))
}

/// Calls a row with a target and ones.
fn call(session: &Session, row: &Row, target: &Array) -> Result<Answer> {
    let (target, one) = (Argument::from(target), Argument::from(1));
    let ones = std::iter::repeat_n(&one, row.n_required - 1);
    row.call(session, &[&target].into_iter().chain(ones).collect::<Vec<_>>())
}

/// What `r` becomes by an operation with another array.
fn changed(session: &Session, name: &str, r: &Array, x: &Array) -> Result<Array> {
    let row = changing().find(|row| row.name == name).unwrap();
    match row.call(session, &[&Argument::from(r), &Argument::from(x)])? {
        Answer::Written(Value::Array(new), None) => Ok(new),
        other => panic!("{name} gives {other:?}"),
    }
}

fn is_below(i: &Array, n: i64) -> Result<Array> {
    i.apply(Op::Lt, &[n.into()])
}

fn is_refused(said: &str, name: &str, region: &str) {
    let expected =
        format!("{name}: the body of {region} changes an array that is not among its states");
    assert!(said.starts_with(&expected), "{name}: {said}");
}

#[test]
fn every_row_refuses_what_is_no_state() -> Result<()> {
    let session = Session::new()?;
    let (x, i) = (session.array(&[1.0_f32, 2.0])?, session.zeros(DType::U32, 1)?);
    assert!(changing().count() > 80);
    for row in changing() {
        let attempt = || Err::<Vec<Array>, Error>(call(&session, row, &x).expect_err(row.name));
        let looped =
            session.while_loop::<Error>(from_ref(&i), |s| is_below(&s[0], 3), |_| attempt());
        let branched = session.if_then::<Error>(
            &is_below(&i, 3)?,
            from_ref(&i),
            |_| attempt(),
            |s| Ok(s.to_vec()),
        );
        let dispatched = session.dispatch::<Error>(&i, 1, from_ref(&i), |_, _| attempt());
        for (result, region) in
            [(looped, "while_loop"), (branched, "if_then"), (dispatched, "dispatch")]
        {
            is_refused(&result.unwrap_err().to_string(), row.name, region);
        }
    }
    assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0]);
    Ok(())
}

/// A number of a body is another than an equal one from outside, which value numbering would take it for.
#[test]
fn states_and_what_a_body_made_can_be_changed() -> Result<()> {
    let session = Session::new()?;
    let [zero, seven] = [0, 7].map(|number| session.full(DType::F32, number, 1));
    let (zero, seven, i) = (zero?, seven?, session.zeros(DType::U32, 1)?);
    let outside = session.array(&[100.0_f32])?;
    let results = session.while_loop::<Error>(
        &[i, zero.clone()],
        |s| is_below(&s[0], 3),
        |s| {
            let made = changed(&session, "rscalar_add", &session.zeros(DType::F32, 1)?, &seven)?;
            let own = changed(&session, "rscalar_add", &outside.own(), &made)?;
            let r = changed(&session, "rscalar_add", &s[1], &own)?;
            // What it was set to may be changed too, though others have it.
            let set = changed(&session, "rscalar_set_value", &made, &outside)?;
            let set = changed(&session, "rscalar_subtract", &set, &outside)?;
            let r = changed(&session, "rscalar_add", &r, &set)?;
            Ok(vec![s[0].apply(Op::Add, &[1.into()])?, r])
        },
    )?;
    assert_eq!(results[1].to_vec::<f32>()?, [321.0]);
    assert_eq!(outside.to_vec::<f32>()?, [100.0]);
    assert_eq!(zero.to_vec::<f32>()?, [0.0]);
    Ok(())
}

#[test]
fn a_generator_that_is_no_state_stays() -> Result<()> {
    type Change = fn(&mut Pcg32) -> Result<()>;
    let changes: [(&str, Change); 4] = [
        ("PCG32C", |rng| rng.set_state(1_u64)),
        ("PCG32C", |rng| rng.set_inc(3_u64)),
        ("PCG32C", |rng| rng.reseed(1_u64, 2_u64)),
        ("advance", |rng| rng.advance(Operand::from(1_i64))),
    ];
    let session = Session::new()?;
    let i = session.zeros(DType::U32, 1)?;
    for (name, change) in changes {
        let mut rng = Pcg32::new(&session, 1_u64, 1_u64)?;
        let result = session.while_loop::<Error>(
            from_ref(&i),
            |s| is_below(&s[0], 3),
            |s| change(&mut rng).map(|()| s.to_vec()),
        );
        is_refused(&result.unwrap_err().to_string(), name, "while_loop");
        change(&mut rng)?;
    }
    Ok(())
}
