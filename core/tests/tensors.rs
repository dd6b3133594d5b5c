//! Tensors by what arrays make of the same entries.

use porcini_core::ir::op::ReduceOp;
use porcini_core::tensor::Tensor;
use porcini_core::value::{Slice, Value};
use porcini_core::{Array, DType, Result, Session};

fn bits(array: &Array) -> Vec<u8> {
    let lanes = array.read(0..array.size()).expect("lanes");
    lanes.into_iter().flat_map(|lane| lane.to_f64().to_bits().to_le_bytes()).collect()
}

fn array(value: Value) -> Array {
    value.array().expect("an array").clone()
}

/// Numbers whose sums depend on their order.
fn mixed(session: &Session, n: u64) -> Result<Array> {
    let lanes = session.arange(DType::U32, 0.into(), n.into(), 1.into())?;
    let mixed = lanes.try_mul(2_654_435_761_u32)?.try_shr(7)?.cast(DType::F32)?;
    mixed.try_sub(1e7)?.try_div(3.0)
}

#[test]
fn reductions_along_axes_are_those_of_arrays() -> Result<()> {
    let session = Session::new()?;
    for extent in [1, 2, 5, 31, 32, 33, 64, 100, 4095, 4096, 4097, 8197, 12_288, 20_513] {
        let x = mixed(&session, 3 * extent)?;
        session.eval(&[&x])?;
        let rows = Tensor::new(x.clone(), &[3, extent])?;
        let columns = Tensor::new(x.clone(), &[extent, 3])?;
        for op in [ReduceOp::Sum, ReduceOp::Max] {
            let along = array(rows.reduce(op, Some(-1))?.entries()?);
            let down = array(columns.reduce(op, Some(0))?.entries()?);
            for i in 0..3 {
                let n = i64::try_from(extent).unwrap();
                let row = x.slice(i * n..(i + 1) * n)?.reduce(op)?;
                assert_eq!(bits(&along.slice(i..i + 1)?), bits(&row), "{op:?} {extent} row {i}");
                let column = x.slice(Slice::new(i, 3 * n, 3))?.reduce(op)?;
                assert_eq!(
                    bits(&down.slice(i..i + 1)?),
                    bits(&column),
                    "{op:?} {extent} column {i}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn reductions_have_the_types_of_arrays() -> Result<()> {
    let session = Session::new()?;
    for dtype in DType::ALL {
        let x = session.arange(DType::I32, 0.into(), 6.into(), 1.into())?.gt(2)?;
        let x = if dtype == DType::Mask { x } else { x.cast(DType::I32)?.cast(dtype)? };
        let tensor = Tensor::new(x.clone(), &[2, 3])?;
        for op in ReduceOp::ALL {
            let Ok(whole) = x.reduce(op) else {
                assert!(tensor.reduce(op, Some(0)).is_err(), "{op:?} {dtype}");
                continue;
            };
            assert_eq!(tensor.reduce(op, Some(0))?.dtype(), whole.dtype(), "{op:?} {dtype}");
            let along = array(tensor.reduce(op, Some(1))?.entries()?);
            for i in 0..2 {
                let row = x.slice(3 * i..3 * i + 3)?.reduce(op)?;
                assert_eq!(bits(&along.slice(i..i + 1)?), bits(&row), "{op:?} {dtype} row {i}");
            }
            let all = array(tensor.reduce(op, None)?.entries()?);
            assert_eq!(bits(&all), bits(&whole), "{op:?} {dtype}");
        }
    }
    let nothing = Tensor::new(session.zeros(DType::F32, 0)?, &[0, 2])?;
    assert_eq!(
        array(nothing.reduce(ReduceOp::Sum, Some(0))?.entries()?).to_vec::<f32>()?,
        [0.0, 0.0]
    );
    assert_eq!(nothing.reduce(ReduceOp::Max, Some(1))?.shape().extents(), [0, 1]);
    assert!(nothing.reduce(ReduceOp::Max, Some(0)).is_err());
    Ok(())
}

#[test]
fn views_are_what_loops_make() -> Result<()> {
    let session = Session::new()?;
    let x = session.arange(DType::I32, 0.into(), 24.into(), 1.into())?;
    let t = Tensor::new(x, &[2, 3, 4])?;
    let entries = |tensor: &Tensor| array(tensor.entries().unwrap()).to_vec::<i32>().unwrap();
    let turned = t.permute(&[2, 0, 1])?.slice(0, Slice::from(..).step_by(-2))?;
    let mut expected = Vec::new();
    for k in [3, 1] {
        for i in 0..2 {
            expected.extend((0..3).map(|j| (i * 3 + j) * 4 + k));
        }
    }
    assert_eq!(turned.shape().extents(), [2, 2, 3]);
    assert_eq!(entries(&turned), expected);
    assert_eq!(entries(&turned.reshape(&[-1])?), expected);
    let column = t.slice(2, 1..2)?.broadcast_to(&[2, 3, 2])?;
    assert_eq!(entries(&column), [1, 1, 5, 5, 9, 9, 13, 13, 17, 17, 21, 21]);
    assert_eq!(entries(&t.slice(1, 3..)?), []);
    let one = t.slice(0, ..1)?.squeeze(0)?.expand(-1)?;
    assert_eq!(one.shape().extents(), [3, 4, 1]);
    let sum = one.try_add(&(&t.slice(0, 1..)?.permute(&[0, 2, 1])?).into())?;
    assert_eq!(sum.shape().extents(), [3, 4, 3]);
    assert_eq!(entries(&sum)[..4], [12, 16, 20, 14]);
    let error = t.try_add(&(&t.permute(&[0, 2, 1])?).into()).unwrap_err().to_string();
    assert!(error.starts_with("+: shapes [2, 3, 4] and [2, 4, 3] do not broadcast"), "{error}");
    Ok(())
}
