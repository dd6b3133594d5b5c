//! Derivatives by differences, and by each other (S29).

mod differences;

use porcini_core::catalogue;
use porcini_core::ir::op::{Class, OPS, Op, Shape};
use porcini_core::linear::Function;
use porcini_core::linear::fourier::Transform;
use porcini_core::tensor::Tensor;
use porcini_core::trace::functions::FUNCTIONS;
use porcini_core::trace::nested::{Form, find, rows};
use porcini_core::value::entries::apply;
use porcini_core::{Array, DType, Error, Operand, ReduceOp, Result, Scalar, ScatterOp, Session};

use differences::{Whole, arguments, check, check_across};

#[test]
fn functions_have_the_slopes_of_differences() -> Result<()> {
    let session = Session::new()?;
    for function in FUNCTIONS.iter().filter(|function| function.is_of_floats()) {
        let x = arguments(&session, function.arity)?;
        let f = |x: &[Array]| {
            let others: Vec<Operand<'_>> = x[1..].iter().map(Operand::from).collect();
            x[0].call(function, &others)
        };
        let n = check(function.name, &f, &x, 1)?;
        assert!(n >= 4, "{}: {n} places compared", function.name);
    }
    Ok(())
}

#[test]
fn operations_have_the_slopes_of_differences() -> Result<()> {
    let session = Session::new()?;
    let is_of_floats = |class: Class| class.contains(DType::F64);
    let rows = OPS.iter().filter(|row| is_of_floats(row.class) && row.shape == Shape::Same);
    for row in rows {
        let x = arguments(&session, row.arity)?;
        let f = |x: &[Array]| {
            let others: Vec<Operand<'_>> = x[1..].iter().map(Operand::from).collect();
            x[0].apply(row.op, &others)
        };
        let n = check(row.name, &f, &x, 1)?;
        assert!(n > 8, "{}: {n} places compared", row.name);
    }
    let x = arguments(&session, 2)?;
    let chosen = |x: &[Array]| x[0].gt(&x[1])?.apply(Op::Select, &[(&x[0]).into(), (&x[1]).into()]);
    check("select", &chosen, &x, 1)?;
    Ok(())
}

#[test]
fn what_goes_across_lanes_has_the_slopes_of_differences() -> Result<()> {
    let session = Session::new()?;
    let x = session.array(&[0.7, -1.3, 2.1, 0.4, 1.9, -0.6, 1.2, 0.9, -2.2, 3.1, 0.2, 1.6])?;
    let index = session.array(&[3_u32, 0, 3, 7, 11, 5])?;
    let every = session.array(&[2_u32, 0, 2, 1, 3, 3, 0, 1, 1, 2, 0, 3])?;
    let active = session
        .array(&[true, false, true, true, true, true, false, true, true, true, true, true])?;
    let (x, index, every, active) = (&x, &index, &every, &active);
    let zeros = || session.full(DType::F64, 0.5, 4);
    let put = |op: ScatterOp, x: &Array| {
        let mut target = zeros()?;
        target.scatter(op, x, every, Some(active))?;
        Ok(target)
    };
    let named = |name: &'static str| {
        move |x: &Array| catalogue::find(name).unwrap().call(x.session(), &[&x.into()])?.array()
    };
    let functions: Vec<(&str, Box<Whole<'_>>)> = vec![
        ("hsum", Box::new(|x| x.try_mul(x)?.hsum())),
        ("hprod", Box::new(|x| x.hprod())),
        ("hmin", Box::new(|x| x.hmin())),
        ("hmax", Box::new(|x| x.try_mul(x)?.hmax())),
        ("mean", Box::new(|x| x.exp()?.mean())),
        ("gather", Box::new(|x| x.try_mul(x)?.gather(index, None))),
        ("scatter", Box::new(|x| put(ScatterOp::Set, &x.try_mul(x)?))),
        ("scatter_add", Box::new(|x| put(ScatterOp::Add, &x.sin()?))),
        ("scatter_min", Box::new(|x| put(ScatterOp::Min, &x.sin()?))),
        ("scatter_max", Box::new(|x| put(ScatterOp::Max, &x.sin()?))),
        (
            "into",
            Box::new(|x| {
                let mut target = x.sin()?;
                target.scatter(ScatterOp::Set, &x.slice(..6)?, index, None)?;
                Ok(target)
            }),
        ),
        ("psum", Box::new(named("psum"))),
        ("psum_exclusive", Box::new(named("psum_exclusive"))),
        ("psum_reverse", Box::new(named("psum_reverse"))),
        ("block_sum", Box::new(|x| x.try_mul(x)?.block_sum(3))),
        ("block_sum, the last one short", Box::new(|x| x.sin()?.block_sum(5))),
        ("block_sum of all", Box::new(|x| x.sin()?.block_sum(100))),
        ("cumprod", Box::new(named("cumprod"))),
        ("cummin", Box::new(|x| named("cummin")(&x.try_mul(x)?))),
        ("cummax", Box::new(|x| named("cummax")(&x.try_mul(x)?))),
        ("sort", Box::new(named("sort"))),
        ("sort_desc", Box::new(named("sort_desc"))),
        ("median", Box::new(named("median"))),
        ("var", Box::new(named("var"))),
        ("std", Box::new(named("std"))),
        ("reverse", Box::new(named("reverse"))),
        ("uniform", Box::new(|x| x.try_mul(&x.slice(2..3)?))),
    ];
    for (name, f) in &functions {
        check_across(name, f, x, 1)?;
    }
    let zero = session.array(&[0.7, 0.0, 2.1, 0.4])?;
    let two = session.array(&[0.7, 0.0, 2.1, 0.0, 3.0])?;
    let lane = |i: u32| if i == 19 { 0.0 } else { 0.7 + 0.015 * f64::from(i) };
    let many = session.array(&(0..40).map(lane).collect::<Vec<_>>())?;
    for x in [&zero, &two, &many] {
        check_across("cumprod of zeros", &|x| named("cumprod")(x), x, 1)?;
        check_across("hprod of zeros", &|x| x.hprod(), x, 1)?;
    }
    Ok(())
}

#[test]
fn functions_of_tensors_have_the_slopes_of_differences() -> Result<()> {
    let session = Session::new()?;
    let lanes: Vec<f64> =
        (0..24_u32).map(|i| (f64::from(i * i) * 0.37).sin() + f64::from(i % 5)).collect();
    let x = session.array(&lanes)?;
    let shaped = |x: &Array, extents: &[u64]| {
        Tensor::new(&x.slice(..extents.iter().product::<u64>().cast_signed())?, extents)
    };
    let entries = |t: Tensor| -> Result<Array> {
        let parts = t.entries()?;
        parts
            .iter()
            .skip(1)
            .try_fold(parts[0].clone(), |sum, part| sum.try_add(&part.try_mul(0.7)?))
    };
    let of = |op: &'static str, function: Function, i: usize, extents: [u64; 2]| {
        move |x: &Array| {
            let a = shaped(x, &extents)?;
            // Away from the singular ones, and symmetric where that is asked for.
            let a = match function {
                Function::Cholesky | Function::EigenSymmetric | Function::EigenvaluesSymmetric => {
                    a.matmul(&a.matrix_transpose()?)?
                }
                _ => a,
            };
            let result = a.linear(op, function)?.swap_remove(i);
            // Signs of vectors are free.
            let is_vector = matches!(
                (function, i),
                (Function::Qr, _)
                    | (Function::Svd, 0 | 2)
                    | (Function::EigenSymmetric | Function::Eigen, 1)
            );
            let parts = result.entries()?;
            let parts = if is_vector {
                parts.iter().map(|part| part.try_mul(part)).collect::<Result<Vec<_>>>()?
            } else {
                parts.to_vec()
            };
            parts
                .iter()
                .skip(1)
                .try_fold(parts[0].clone(), |sum, part| sum.try_add(&part.try_mul(0.7)?))
        }
    };
    let functions: Vec<(&str, Box<Whole<'_>>)> = vec![
        ("inv", Box::new(of("inv", Function::Inverse, 0, [3, 3]))),
        ("det", Box::new(of("det", Function::Determinant, 0, [3, 3]))),
        ("slogdet", Box::new(of("slogdet", Function::SignAndLog, 1, [3, 3]))),
        ("cholesky", Box::new(of("cholesky", Function::Cholesky, 0, [3, 3]))),
        ("slogdet, sign", Box::new(of("slogdet", Function::SignAndLog, 0, [3, 3]))),
        ("cofactors", Box::new(of("det", Function::Cofactors, 0, [3, 3]))),
        ("lu, l", Box::new(of("lu", Function::Lu, 1, [3, 3]))),
        ("lu, u", Box::new(of("lu", Function::Lu, 2, [3, 3]))),
        ("lu, tall l", Box::new(of("lu", Function::Lu, 1, [4, 2]))),
        ("lu, tall u", Box::new(of("lu", Function::Lu, 2, [4, 2]))),
        ("lu, wide l", Box::new(of("lu", Function::Lu, 1, [2, 4]))),
        ("lu, wide u", Box::new(of("lu", Function::Lu, 2, [2, 4]))),
        ("qr, wide q", Box::new(of("qr", Function::Qr, 0, [2, 4]))),
        ("qr, wide r", Box::new(of("qr", Function::Qr, 1, [2, 4]))),
        ("qr, q", Box::new(of("qr", Function::Qr, 0, [4, 3]))),
        ("qr, r", Box::new(of("qr", Function::Qr, 1, [4, 3]))),
        ("svd, u", Box::new(of("svd", Function::Svd, 0, [4, 3]))),
        ("svd, s", Box::new(of("svd", Function::Svd, 1, [3, 4]))),
        ("svd, vh", Box::new(of("svd", Function::Svd, 2, [3, 4]))),
        ("singular_values", Box::new(of("singular_values", Function::SingularValues, 0, [3, 2]))),
        ("cond", Box::new(of("cond", Function::Condition, 0, [3, 3]))),
        ("eigh, w", Box::new(of("eigh", Function::EigenSymmetric, 0, [3, 3]))),
        ("eigh, v", Box::new(of("eigh", Function::EigenSymmetric, 1, [3, 3]))),
        ("eigvalsh", Box::new(of("eigvalsh", Function::EigenvaluesSymmetric, 0, [3, 3]))),
        ("eig, w", Box::new(of("eig", Function::Eigen, 0, [3, 3]))),
        ("pinv", Box::new(of("pinv", Function::PseudoInverse, 0, [4, 3]))),
        ("pinv, wide", Box::new(of("pinv", Function::PseudoInverse, 0, [2, 4]))),
        ("expm", Box::new(of("expm", Function::Exponential, 0, [2, 2]))),
        (
            "solve",
            Box::new(|x| {
                let (a, b) = (shaped(x, &[3, 3])?, Tensor::new(&x.slice(9..15)?, &[3, 2])?);
                entries(a.solved("solve", Function::Solve, &b)?)
            }),
        ),
        (
            "solve_triangular",
            Box::new(|x| {
                let (a, b) =
                    (shaped(&x.slice(3..12)?, &[3, 3])?, Tensor::new(&x.slice(12..18)?, &[3, 2])?);
                let of = |options: &[bool]| {
                    let options = options.iter().map(|&option| Scalar::Bool(option).into());
                    let args: Vec<_> = [(&b).into()].into_iter().chain(options).collect();
                    entries(a.call("solve_triangular", &args)?.try_into()?)
                };
                of(&[])?.try_add(&of(&[true, true])?)?.try_mul(&of(&[true, false, true])?)
            }),
        ),
        (
            "cho_solve",
            Box::new(|x| {
                let (a, b) =
                    (shaped(&x.slice(3..12)?, &[3, 3])?, Tensor::new(&x.slice(12..18)?, &[3, 2])?);
                entries(a.call("cho_solve", &[(&b).into()])?.try_into()?)
            }),
        ),
        (
            "lfilter",
            Box::new(|x| {
                let [b, a, start] = [0..3, 3..5, 5..7].map(|of| x.slice(of));
                let (b, a, start) = (Tensor::from(&b?), a?.try_mul(0.1)?, start?);
                let one = Tensor::new(&x.session().full(x.dtype(), 1, 1)?, &[1])?;
                let a = Tensor::concat(&[one, Tensor::from(&a)], 0)?;
                let signal = Tensor::new(&x.slice(7..19)?, &[2, 6])?;
                let state = Tensor::from(&start).broadcast_to(&[2, 2])?;
                let plain: Tensor =
                    b.call("lfilter", &[(&a).into(), (&signal).into()])?.try_into()?;
                let axis = Scalar::Int(-1).into();
                let args = [(&a).into(), (&signal).into(), axis, (&state).into()];
                let both: Vec<Tensor> = b.call("lfilter", &args)?.try_into()?;
                let [y, last] = [&both[0], &both[1]].map(|of| of.reshape(&[-1]));
                let all = Tensor::concat(&[y?, last?, plain.reshape(&[-1])?], 0)?;
                entries(all)
            }),
        ),
        (
            "lstsq",
            Box::new(|x| {
                let (a, b) = (shaped(x, &[4, 3])?, Tensor::new(&x.slice(12..16)?, &[4])?);
                entries(a.solved("lstsq", Function::LeastSquares, &b)?)
            }),
        ),
        (
            "fft",
            Box::new(|x| {
                entries(shaped(x, &[3, 5])?.transformed("fft", Transform::Forward, -1, None)?)
            }),
        ),
        (
            "ifft",
            Box::new(|x| {
                entries(shaped(x, &[3, 5])?.transformed("ifft", Transform::Inverse, 0, Some(4))?)
            }),
        ),
        (
            "rfft",
            Box::new(|x| {
                entries(shaped(x, &[3, 6])?.transformed("rfft", Transform::Real, -1, None)?)
            }),
        ),
        (
            "irfft",
            Box::new(|x| {
                let z = Tensor::complex(&x.slice(..12)?, &x.slice(12..)?, &[3, 4])?;
                entries(z.transformed("irfft", Transform::RealInverse, -1, Some(7))?)
            }),
        ),
        (
            "irfft, even",
            Box::new(|x| {
                let z = Tensor::complex(&x.slice(..12)?, &x.slice(12..)?, &[3, 4])?;
                entries(z.transformed("irfft", Transform::RealInverse, -1, None)?)
            }),
        ),
        (
            "matmul",
            Box::new(|x| {
                let (a, b) = (shaped(x, &[2, 3])?, Tensor::new(&x.slice(6..18)?, &[3, 4])?);
                entries(a.matmul(&b)?)
            }),
        ),
        (
            "matmul, turned",
            Box::new(|x| {
                let (a, b) = (shaped(x, &[3, 2])?, Tensor::new(&x.slice(6..18)?, &[4, 3])?);
                entries(a.matrix_transpose()?.matmul(&b.matrix_transpose()?)?)
            }),
        ),
        (
            "matmul, many by one",
            Box::new(|x| {
                let (a, b) = (shaped(x, &[2, 2, 3])?, Tensor::new(&x.slice(12..18)?, &[3, 2])?);
                entries(a.matmul(&b)?)?
                    .try_add(&entries(b.matrix_transpose()?.matmul(&a.matrix_transpose()?)?)?)
            }),
        ),
        (
            "matmul, complex",
            Box::new(|x| {
                let a = Tensor::complex(&x.slice(..6)?, &x.slice(6..12)?, &[2, 3])?;
                let b = Tensor::complex(&x.slice(12..18)?, &x.slice(18..24)?, &[3, 2])?;
                entries(a.matmul(&b)?)?
                    .try_add(&entries(a.matmul(&a.matrix_transpose()?.conjugate()?)?)?)
            }),
        ),
        (
            "matvec",
            Box::new(|x| {
                entries(shaped(x, &[3, 4])?.matmul(&Tensor::new(&x.slice(12..16)?, &[4])?)?)
            }),
        ),
        (
            "vecmat",
            Box::new(|x| {
                entries(Tensor::new(&x.slice(12..15)?, &[3])?.matmul(&shaped(x, &[3, 4])?)?)
            }),
        ),
        (
            "matvec, many",
            Box::new(|x| {
                entries(shaped(x, &[2, 2, 3])?.matmul(&Tensor::new(&x.slice(12..15)?, &[3])?)?)
            }),
        ),
        (
            "vecmat, many",
            Box::new(|x| {
                entries(Tensor::new(&x.slice(12..14)?, &[2])?.matmul(&shaped(x, &[2, 2, 3])?)?)
            }),
        ),
        (
            "matvec, complex",
            Box::new(|x| {
                let a = Tensor::complex(&x.slice(..6)?, &x.slice(6..12)?, &[2, 3])?;
                let b = Tensor::complex(&x.slice(12..15)?, &x.slice(15..18)?, &[3])?;
                entries(a.matmul(&b)?)
            }),
        ),
        (
            "vecmat, complex, many",
            Box::new(|x| {
                let a = Tensor::complex(&x.slice(..8)?, &x.slice(8..16)?, &[2, 2, 2])?;
                let b = Tensor::complex(&x.slice(16..18)?, &x.slice(18..20)?, &[2])?;
                entries(b.matmul(&a)?)
            }),
        ),
        (
            "sum along",
            Box::new(|x| {
                entries(shaped(x, &[2, 3, 4])?.reduce(ReduceOp::Sum, Some(&[1]), false)?)
            }),
        ),
        (
            "product along",
            Box::new(|x| {
                entries(shaped(x, &[2, 3, 4])?.reduce(ReduceOp::Prod, Some(&[1]), false)?)
            }),
        ),
        (
            "largest along",
            Box::new(|x| {
                entries(shaped(x, &[2, 3, 4])?.reduce(ReduceOp::Max, Some(&[0]), false)?)
            }),
        ),
        ("view", Box::new(|x| entries(shaped(x, &[2, 3, 4])?.transpose()?.slice(0, 1..3)?))),
    ];
    for (name, f) in &functions {
        check_across(name, f, &x, 1)?;
    }
    Ok(())
}

/// Functions of vectors, matrices, complex numbers and quaternions, whose entries are runs of lanes of one array.
#[test]
fn functions_of_several_entries_have_the_slopes_of_differences() -> Result<()> {
    const RUN: i64 = 3;
    let session = Session::new()?;
    let lanes: Vec<f64> =
        (0..32 * 3_u32).map(|i| (f64::from(i * i) * 0.73).sin() * 0.6 + 0.05).collect();
    let mut n_checked = 0;
    for row in rows() {
        for n in 2..=3 {
            let has_n = |form: &Form| matches!(form, Form::Vector(0) | Form::Matrix(0));
            if n == 3 && !row.parameters.iter().any(has_n) {
                continue;
            }
            let with = |form: &Form| match form {
                Form::Vector(0) => Form::Vector(n),
                Form::Matrix(0) => Form::Matrix(n),
                form => *form,
            };
            let forms: Vec<Form> = row.parameters.iter().map(with).collect();
            let Some(call) = find(row.name, &forms) else { continue };
            let n_entries: i64 = forms.iter().map(|form| form.n_entries() as i64).sum();
            let is_complex = forms.iter().all(|form| *form == Form::Complex);
            let lane = |i: i64| match (is_complex, i / RUN % 2, i % RUN) {
                // Real numbers as complex ones, away from branch cuts.
                (true, 0, 1) if row.name == "acosh" => 1.5,
                (true, 0, 1) => 0.3 + 0.01 * i as f64,
                (true, 1, 1) => 0.0,
                _ => lanes[usize::try_from(i).unwrap_or(0)],
            };
            let x: Vec<f64> = (0..n_entries * RUN).map(lane).collect();
            let x = session.array(&x)?;
            let f = |x: &Array| {
                let entries = (0..n_entries).map(|k| x.slice(k * RUN..(k + 1) * RUN));
                let entries = entries.collect::<Result<Vec<_>>>()?;
                let operands: Vec<Operand<'_>> = entries.iter().map(Operand::from).collect();
                let results = apply(call, &operands)?;
                let floats = results.iter().filter(|result| result.dtype() == DType::F64);
                let weighed =
                    floats.enumerate().map(|(k, result)| result.try_mul(1.0 / (1.0 + k as f64)));
                let parts = weighed.collect::<Result<Vec<_>>>()?;
                let none = || session.zeros(DType::F64, RUN as u64);
                parts.iter().skip(1).try_fold(
                    parts.first().map_or_else(none, |first| Ok(first.clone()))?,
                    |sum, part| sum.try_add(part),
                )
            };
            let Ok(y) = f(&x) else { continue };
            if !y.to_vec::<f64>()?.iter().all(|y| y.is_finite())
                || !f(&x.enable_grad()?)?.is_tracked()
            {
                continue;
            }
            n_checked += 1;
            check_across(&format!("{} {forms:?}", row.name), &f, &x, 1)?;
        }
    }
    assert!(n_checked > 100, "{n_checked} functions");
    Ok(())
}

#[test]
fn loops_and_branches_have_the_slopes_of_differences() -> Result<()> {
    let session = Session::new()?;
    let x = session.array(&[0.7, -1.3, 2.1, 0.4, 1.9, -0.6, 1.2])?;
    let table = |x: &Array| x.try_mul(x)?.try_add(0.3);
    // Lanes take different numbers of turns.
    let powers = |x: &Array| -> Result<Array> {
        let limits = session.array(&[0, 1, 2, 3, 4, 5, 7])?;
        let states = [x.try_mul(1.0)?, session.full(DType::I32, 0, 1)?];
        let scale = x.slice(1..2)?;
        let after = session.while_loop(
            &states,
            |s| s[1].lt(&limits),
            |s| Ok::<_, Error>(vec![s[0].sin()?.try_mul(x)?.try_add(&scale)?, s[1].try_add(1)?]),
        )?;
        Ok(after[0].clone())
    };
    let gathers = |x: &Array| -> Result<Array> {
        let values = table(x)?;
        let lane = session.arange(DType::I32, 0.into(), 7.into(), 1.into())?;
        let after = session.while_loop(
            &[session.full(DType::F64, 1, 7)?, session.full(DType::I32, 0, 7)?],
            |s| s[1].lt(&lane),
            |s| {
                let place = s[1].try_add(&lane)?.try_rem(7)?;
                let found = values.gather(&place, None)?;
                Ok::<_, Error>(vec![s[0].try_mul(&found)?.try_add(&values)?, s[1].try_add(1)?])
            },
        )?;
        Ok(after[0].clone())
    };
    let pendulum = |x: &Array| -> Result<Array> {
        let states = [x.try_mul(1.0)?, x.try_mul(0.0)?, session.full(DType::F64, 0, 1)?];
        let after = session.while_loop(
            &states,
            |s| s[2].lt(1.0),
            |s| {
                let speed = s[1].try_sub(&s[0].sin()?.try_mul(0.05)?)?;
                Ok::<_, Error>(vec![
                    s[0].try_add(&speed.try_mul(0.05)?)?,
                    speed,
                    s[2].try_add(0.05)?,
                ])
            },
        )?;
        after[0].try_add(&after[1])
    };
    // No state is kept: each turn is undone, with a table that both ways read.
    let undone = |x: &Array| -> Result<Array> {
        let limits = session.array(&[0, 1, 30, 7, 2, 12, 9])?;
        let values = table(x)?;
        let push = |place: &Array, count: &Array| {
            let found = values.gather(&count.try_rem(7)?, None)?;
            place.sin()?.try_mul(&found)?.try_mul(0.05)
        };
        // The last one nobody uses.
        let unused = session.array(&[7.0])?;
        let states = [x.try_mul(1.0)?, x.try_mul(0.5)?, session.full(DType::I32, 0, 1)?, unused];
        let after = session.while_loop_invertible(
            &states,
            |s| s[2].lt(&limits),
            |s| {
                let speed = s[1].try_sub(&push(&s[0], &s[2])?)?;
                let place = s[0].try_add(&speed.try_mul(0.05)?)?;
                Ok::<_, Error>(vec![place, speed, s[2].try_add(1)?, s[3].clone()])
            },
            |s| {
                let (place, count) = (s[0].try_sub(&s[1].try_mul(0.05)?)?, s[2].try_sub(1)?);
                let speed = s[1].try_add(&push(&place, &count)?)?;
                Ok(vec![place, speed, count, s[3].clone()])
            },
        )?;
        after[0].try_add(&after[1])
    };
    let branches = |x: &Array| -> Result<Array> {
        let after = session.if_then(
            &x.gt(0.5)?,
            std::slice::from_ref(x),
            |s| Ok::<_, Error>(vec![s[0].exp()?, s[0].try_mul(&s[0])?]),
            |s| Ok(vec![s[0].cos()?, s[0].try_mul(x)?.try_mul(3.0)?]),
        )?;
        after[0].try_mul(&after[1])
    };
    let both = |x: &Array| -> Result<Array> {
        let after = session.while_loop(
            &[x.clone(), session.full(DType::I32, 0, 1)?],
            |s| s[1].lt(3),
            |s| {
                let inner = session.if_then(
                    &s[0].gt(0.5)?,
                    &[s[0].clone()],
                    |s| Ok::<_, Error>(vec![s[0].try_mul(0.7)?]),
                    |s| Ok(vec![s[0].exp()?.try_mul(x)?]),
                )?;
                Ok::<_, Error>(vec![inner[0].clone(), s[1].try_add(1)?])
            },
        )?;
        Ok(after[0].clone())
    };
    let dispatched = |x: &Array| -> Result<Array> {
        let index = session.array(&[0, 1, 2, 0, 1, 2, 5])?;
        let after = session.dispatch(&index, 3, std::slice::from_ref(x), |number, s| {
            Ok::<_, Error>(vec![match number {
                0 => s[0].sin()?,
                1 => s[0].exp()?,
                _ => s[0].try_mul(&s[0])?,
            }])
        })?;
        Ok(after[0].clone())
    };
    let functions: [(&str, &Whole<'_>); 7] = [
        ("powers", &powers),
        ("gathers", &gathers),
        ("pendulum", &pendulum),
        ("undone", &undone),
        ("branches", &branches),
        ("branches in a loop", &both),
        ("dispatch", &dispatched),
    ];
    for (name, f) in functions {
        check_across(name, f, &x, 2).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    Ok(())
}
