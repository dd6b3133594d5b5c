//! Operators between whatever can stand beside each other, owned or borrowed.

use porcini_core::tensor::Tensor;
use porcini_core::value::{Matrix2f, Vector2f};
use porcini_core::{Array, DType, Element, Result, Scalar, Session, Value};

fn floats(array: &Array) -> Vec<f32> {
    array.to_vec().expect("lanes")
}

/// The first and the second component of a vector.
fn parts(value: &Value) -> [Vec<f32>; 2] {
    [0, 1].map(|i| floats(value.leaves()[i]))
}

/// The entries of a real tensor.
fn entries(tensor: &Tensor) -> Vec<f32> {
    floats(&tensor.entries().expect("entries")[0])
}

#[test]
fn arrays_and_numbers_stand_on_either_side() -> Result<()> {
    let session = Session::new()?;
    let (x, y) = (session.array(&[1.0_f32, 2.0])?, session.array(&[3.0_f32, 4.0])?);
    assert_eq!(floats(&(&x * 2.0 + &y * 3.0)), [11.0, 16.0]);
    assert_eq!(floats(&(&x + (&y * 3.0))), [10.0, 14.0]);
    assert_eq!(floats(&(x.clone() - y.clone())), [-2.0, -2.0]);
    assert_eq!(floats(&(2.0 * &x - 1)), [1.0, 3.0]);
    assert_eq!(floats(&(1 - x.clone())), [0.0, -1.0]);
    assert_eq!(floats(&(Scalar::from(3.0_f32) / &x)), [3.0, 1.5]);
    assert_eq!((2.0 * &x).hsum()?.item(0)?, Scalar::Float(6.0));
    let bits = session.array(&[0_i32, 3])?;
    assert_eq!((1 << &bits).to_vec::<i32>()?, [1, 8]);
    assert_eq!((&bits + 1_usize + 1_isize).to_vec::<i32>()?, [2, 5]);
    Ok(())
}

#[test]
fn signs_masks_and_sums_take_what_is_owned() -> Result<()> {
    let session = Session::new()?;
    let (x, y) = (session.array(&[1.0_f32, 2.0])?, session.array(&[3.0_f32, 4.0])?);
    assert_eq!(floats(&-(&x + 1.0)), [-2.0, -3.0]);
    assert_eq!((!x.lt(2.0)?).to_vec::<bool>()?, [false, true]);
    assert_eq!(floats(&[&x, &y].into_iter().sum::<Array>()), [4.0, 6.0]);
    assert_eq!(floats(&[x, y].into_iter().sum::<Array>()), [4.0, 6.0]);
    Ok(())
}

#[test]
fn assignments_rename_the_result() -> Result<()> {
    let session = Session::new()?;
    let (mut x, y) = (session.array(&[1.0_f32, 2.0])?, session.array(&[3.0_f32, 4.0])?);
    let before = x.clone();
    x += 1.0;
    x *= &y;
    x -= y;
    assert_eq!((floats(&x), floats(&before)), (vec![3.0, 8.0], vec![1.0, 2.0]));
    let mut mask = x.lt(5.0)?;
    mask |= x.gt(7.0)?;
    mask ^= true;
    assert_eq!(mask.to_vec::<bool>()?, [false, false]);
    let mut v = Value::from(Vector2f::new([&x, &before])?);
    v += 1.0;
    v /= &before;
    assert_eq!(parts(&v), [[4.0, 4.5], [2.0, 1.5]]);
    Ok(())
}

#[test]
fn vectors_meet_arrays_and_numbers() -> Result<()> {
    let session = Session::new()?;
    let (x, y) = (session.array(&[1.0_f32, 2.0])?, session.array(&[3.0_f32, 4.0])?);
    let v = Vector2f::new([&x, &y])?;
    let value = Value::from(v.clone());
    let doubled = [vec![2.0, 4.0], vec![6.0, 8.0]];
    for got in [2.0 * &v, 2 * v.clone(), &v * 2.0, &v + v.clone(), &v + &value, &value + &v] {
        assert_eq!(parts(&got), doubled);
    }
    let scaled = [vec![1.0, 4.0], vec![3.0, 8.0]];
    for got in [&x * &v, &x * v.clone(), x.clone() * &value, &v * &x, v.clone() * x.clone()] {
        assert_eq!(parts(&got), scaled);
    }
    assert_eq!(parts(&-v), [[-1.0, -2.0], [-3.0, -4.0]]);
    assert_eq!(parts(&[&value, &value].into_iter().sum()), doubled);
    Ok(())
}

#[test]
fn tensors_stay_tensors() -> Result<()> {
    let session = Session::new()?;
    let x = session.linspace(DType::F32, 0, 3, 4)?;
    let mut t = Tensor::new(&x, &[2, 2])?;
    let doubled = [0.0, 2.0, 4.0, 6.0];
    for got in [&t + &t, &t * 2.0, 2.0 * &t, 2 * t.clone(), &t + t.clone()] {
        assert_eq!((entries(&got), got.shape().extents()), (doubled.to_vec(), &[2, 2][..]));
    }
    let row = session.array(&[10.0_f32, 20.0])?;
    for got in [&row + &t, &t + &row, row.clone() + t.clone(), t.clone() + row] {
        assert_eq!(entries(&got), [10.0, 21.0, 12.0, 23.0]);
    }
    t -= 1.0;
    assert_eq!(entries(&-t.clone()), [1.0, 0.0, -1.0, -2.0]);
    let sum: Value = Value::from(t.clone()) + t;
    assert_eq!(entries(&Tensor::try_from(sum)?), [-2.0, 0.0, 2.0, 4.0]);
    Ok(())
}

fn twice<T: Element>(session: &Session, number: T) -> Result<Array> {
    session.full(T::DTYPE, number, 2)
}

#[test]
fn elements_are_numbers() -> Result<()> {
    let session = Session::new()?;
    assert_eq!(twice(&session, 1.5_f32)?.to_vec::<f32>()?, [1.5, 1.5]);
    assert_eq!(twice(&session, true)?.to_vec::<bool>()?, [true, true]);
    Ok(())
}

#[test]
fn small_conversions() -> Result<()> {
    let session = Session::new()?;
    let x = session.array(&[1.0_f32, 2.0, 3.0])?;
    assert_eq!(floats(&x.slice(..=1)?), [1.0, 2.0]);
    assert_eq!(floats(&x.slice(..=-1)?), [1.0, 2.0, 3.0]);
    let other = Session::new()?;
    assert_eq!(floats(&(other.wrap(x.view::<f32>()?.clone())? + 1.0)), [2.0, 3.0, 4.0]);
    let identity = Matrix2f::identity(&session)?;
    assert_eq!(identity.to_string(), Matrix2f::literal(&session, [1, 0, 0, 1])?.to_string());
    let turned = Matrix2f::literal(&session, [1, 2, 3, 4])?.member("T")?;
    assert_eq!(turned.to_string(), Matrix2f::literal(&session, [1, 3, 2, 4])?.to_string());
    let value = Value::from(&x) * 2.0;
    value.eval()?;
    assert!(value.array()?.is_evaluated());
    Ok(())
}
