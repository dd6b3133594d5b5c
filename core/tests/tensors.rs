//! Tensors by what arrays make of the same entries.

use porcini_core::ir::op::{ReduceOp, ScatterOp};
use porcini_core::tensor::{AxisIndex, Tensor};
use porcini_core::value::{Slice, Value};
use porcini_core::{Array, DType, Result, Session, catalogue};

fn bits(array: &Array) -> Vec<u8> {
    let lanes = array.read(0..array.size()).expect("lanes");
    lanes.into_iter().flat_map(|lane| lane.to_f64().to_bits().to_le_bytes()).collect()
}

/// The entries of a real tensor as an array.
fn lanes(tensor: &Tensor) -> Array {
    tensor.entries().expect("entries").swap_remove(0)
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
        let rows = Tensor::new(&x, &[3, extent])?;
        let columns = Tensor::new(&x, &[extent, 3])?;
        for op in [ReduceOp::Sum, ReduceOp::Max] {
            let along = lanes(&rows.reduce(op, Some(&[-1]), true)?);
            let down = lanes(&columns.reduce(op, Some(&[0]), true)?);
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

/// What windows combine to is what arrays of their entries do, of every other place and of several rows too.
#[test]
fn reductions_of_windows_are_those_of_arrays() -> Result<()> {
    let session = Session::new()?;
    for extent in [2, 17, 20, 21, 33, 100, 4096, 4097, 9000] {
        let n = extent + 40;
        let x = mixed(&session, 2 * n)?;
        session.eval(&[&x])?;
        let rows = Tensor::new(&x, &[2, n])?.sliding_window_view(&[extent], Some(&[1]))?;
        let rows = rows.slice(1, Slice::new(1, 41, 3))?;
        for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max] {
            let found = lanes(&rows.reduce(op, Some(&[-1]), false)?);
            assert_eq!(found.size(), 28, "{op:?} {extent}");
            for place in [0, 5, 13, 14, 27_u64] {
                let start = place / 14 * n + 1 + place % 14 * 3;
                let [first, end] = [start, start + extent].map(|at| i64::try_from(at).unwrap());
                let want = x.slice(first..end)?.reduce(op)?;
                let at = i64::try_from(place).unwrap();
                assert_eq!(bits(&found.slice(at..at + 1)?), bits(&want), "{op:?} {extent} {place}");
            }
        }
    }
    Ok(())
}

/// Windows of rows of a matrix: lines go down its columns.
#[test]
fn reductions_of_windows_of_rows_are_those_of_columns() -> Result<()> {
    let session = Session::new()?;
    for (n, extent) in [(60_u64, 20), (5000, 4500)] {
        let x = mixed(&session, 3 * n)?;
        session.eval(&[&x])?;
        let windows = Tensor::new(&x, &[n, 3])?.sliding_window_view(&[extent], Some(&[0]))?;
        let places = n - extent + 1;
        let found = lanes(&windows.reduce(ReduceOp::Sum, Some(&[-1]), false)?);
        assert_eq!(found.size(), 3 * places);
        for (place, column) in [(0, 0), (1, 2), (places - 1, 1)] {
            let [first, end, at] = [3 * place + column, 3 * (place + extent), 3 * place + column]
                .map(|lane| i64::try_from(lane).unwrap());
            let want = x.slice(Slice::new(first, end, 3))?.reduce(ReduceOp::Sum)?;
            assert_eq!(bits(&found.slice(at..at + 1)?), bits(&want), "{n} {place} {column}");
        }
    }
    let history = session.history();
    assert!(history.iter().all(|launch| launch.size <= 15000), "{history:?}");
    Ok(())
}

/// A product with a vector sums as a row times it does.
#[test]
fn products_of_windows_are_those_of_rows() -> Result<()> {
    let session = Session::new()?;
    for extent in [17, 33, 300, 4096, 4100] {
        let x = mixed(&session, extent + 90)?;
        let weights = mixed(&session, extent)?;
        session.eval(&[&x, &weights])?;
        let windows = Tensor::from(&x).sliding_window_view(&[extent], None)?;
        let found = lanes(&windows.matmul(&Tensor::from(&weights))?);
        for place in [0, 1, 90_i64] {
            let row = x.slice(place..place + i64::try_from(extent).unwrap())?;
            let want = row.try_mul(&weights)?.reduce(ReduceOp::Sum)?;
            assert_eq!(bits(&found.slice(place..place + 1)?), bits(&want), "{extent} {place}");
        }
    }
    Ok(())
}

/// Masks, integers and halves go the same way; nothing is as large as all windows together.
#[test]
fn windows_of_any_type_are_reduced_where_they_lie() -> Result<()> {
    let session = Session::new()?;
    let x = session.arange(DType::U32, 0.into(), 5000.into(), 1.into())?.try_rem(97)?;
    for dtype in [DType::Mask, DType::I8, DType::F16, DType::I64, DType::F64] {
        let own = if dtype == DType::Mask { x.gt(90)? } else { x.cast(dtype)? };
        session.eval(&[&own])?;
        let windows = Tensor::from(&own).sliding_window_view(&[1000], None)?;
        for op in ReduceOp::ALL {
            let Ok(want) = own.slice(123..1123)?.reduce(op) else { continue };
            let found = lanes(&windows.reduce(op, Some(&[1]), false)?);
            assert_eq!((found.size(), found.dtype()), (4001, want.dtype()), "{op:?} {dtype}");
            assert_eq!(bits(&found.slice(123..124)?), bits(&want), "{op:?} {dtype}");
        }
    }
    let history = session.history();
    assert!(history.iter().all(|launch| launch.size <= 5000), "{history:?}");
    Ok(())
}

#[test]
fn reductions_have_the_types_of_arrays() -> Result<()> {
    let session = Session::new()?;
    for dtype in DType::ALL {
        let x = session.arange(DType::I32, 0.into(), 6.into(), 1.into())?.gt(2)?;
        let x = if dtype == DType::Mask { x } else { x.cast(DType::I32)?.cast(dtype)? };
        let tensor = Tensor::new(&x, &[2, 3])?;
        for op in ReduceOp::ALL {
            let Ok(whole) = x.reduce(op) else {
                assert!(tensor.reduce(op, Some(&[0]), true).is_err(), "{op:?} {dtype}");
                continue;
            };
            assert_eq!(
                tensor.reduce(op, Some(&[0]), true)?.dtype(),
                whole.dtype(),
                "{op:?} {dtype}"
            );
            let along = lanes(&tensor.reduce(op, Some(&[1]), true)?);
            for i in 0..2 {
                let row = x.slice(3 * i..3 * i + 3)?.reduce(op)?;
                assert_eq!(bits(&along.slice(i..i + 1)?), bits(&row), "{op:?} {dtype} row {i}");
            }
            let all = lanes(&tensor.reduce(op, None, true)?);
            assert_eq!(bits(&all), bits(&whole), "{op:?} {dtype}");
        }
    }
    let nothing = Tensor::new(&session.zeros(DType::F32, 0)?, &[0, 2])?;
    assert_eq!(
        lanes(&nothing.reduce(ReduceOp::Sum, Some(&[0]), true)?).to_vec::<f32>()?,
        [0.0, 0.0]
    );
    assert_eq!(nothing.reduce(ReduceOp::Max, Some(&[1]), true)?.shape().extents(), [0, 1]);
    assert!(nothing.reduce(ReduceOp::Max, Some(&[0]), true).is_err());
    let none = Tensor::new(&session.zeros(DType::F32, 0)?, &[4, 0, 40])?;
    for op in ReduceOp::ALL {
        let Ok(result) = none.reduce(op, Some(&[2]), false) else { continue };
        assert_eq!(result.shape().extents(), [4, 0], "{op:?}");
    }
    Ok(())
}

#[test]
fn views_are_what_loops_make() -> Result<()> {
    let session = Session::new()?;
    let x = session.arange(DType::I32, 0.into(), 24.into(), 1.into())?;
    let t = Tensor::new(&x, &[2, 3, 4])?;
    let entries = |tensor: &Tensor| lanes(tensor).to_vec::<i32>().unwrap();
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
    let (one, t) = (Value::from(one), Value::from(t.clone()));
    let sum = one.try_add(&turned_values(&t)?.slice(0, 1..)?)?;
    let Value::Tensor(sum) = sum else { panic!("no tensor: {sum}") };
    assert_eq!(sum.shape().extents(), [3, 4, 3]);
    assert_eq!(entries(&sum)[..4], [12, 16, 20, 14]);
    let error = t.try_add(&turned_values(&t)?).unwrap_err().to_string();
    assert!(error.starts_with("+: shapes [2, 3, 4] and [2, 4, 3] do not broadcast"), "{error}");
    Ok(())
}

fn turned_values(value: &Value) -> Result<Tensor> {
    let Value::Tensor(tensor) = value else { panic!("no tensor: {value}") };
    tensor.permute(&[0, 2, 1])
}

/// What places choose of a tensor with these extents, entry by entry: the shape, and the numbers of the entries.
fn chosen(extents: &[u64], places: &[AxisIndex]) -> (Vec<u64>, Vec<usize>) {
    let mut places = places.to_vec();
    let n_used = places.iter().filter(|place| !matches!(place, AxisIndex::New)).count();
    places.resize(places.len() + extents.len() - n_used, AxisIndex::Slice((..).into()));
    let (mut shape, mut found, mut axis) = (Vec::new(), vec![0], 0);
    for place in &places {
        let Some(&n) = extents.get(axis).filter(|_| !matches!(place, AxisIndex::New)) else {
            shape.push(1);
            continue;
        };
        axis += 1;
        let from_end = |i: i64| if i < 0 { i + n.cast_signed() } else { i }.cast_unsigned();
        let numbers: Vec<u64> = match place {
            AxisIndex::Number(i) => vec![from_end(*i)],
            AxisIndex::Slice(slice) => slice.places(n).collect(),
            AxisIndex::Numbers(numbers) => {
                lanes(numbers).to_vec::<i64>().expect("lanes").into_iter().map(from_end).collect()
            }
            AxisIndex::New => unreachable!(),
        };
        if !matches!(place, AxisIndex::Number(_)) {
            shape.push(numbers.len() as u64);
        }
        let step = |before: usize| numbers.iter().map(move |&i| before * exactly(n) + exactly(i));
        found = found.into_iter().flat_map(step).collect();
    }
    (shape, found)
}

fn exactly(n: u64) -> usize {
    usize::try_from(n).expect("a small number")
}

/// Random numbers below a bound.
fn random(state: &mut u64, bound: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % bound
}

#[test]
fn entries_at_places_are_read_and_written() -> Result<()> {
    let session = Session::new()?;
    let mut state = 7;
    for _ in 0..300 {
        let rank = random(&mut state, 4) + 1;
        let extents: Vec<u64> = (0..rank).map(|_| random(&mut state, 4)).collect();
        let n: u64 = extents.iter().product();
        let x = session.arange(DType::I32, 0.into(), n.into(), 1.into())?;
        // Half of the time a view that is not in the order of its lanes.
        let turned = random(&mut state, 2) == 0;
        let tensor = if turned {
            let reversed: Vec<u64> = extents.iter().rev().copied().collect();
            Tensor::new(&x, &reversed)?.transpose()?
        } else {
            Tensor::new(&x, &extents)?
        };
        let entries = lanes(&tensor).to_vec::<i32>()?;
        let mut has_numbers = false;
        let mut places = Vec::new();
        for &extent in &extents[..usize::try_from(random(&mut state, rank + 1)).unwrap()] {
            if random(&mut state, 5) == 0 {
                places.push(AxisIndex::New);
            }
            let signed = |i: u64, state: &mut u64| {
                let back = if random(state, 2) == 0 { extent } else { 0 };
                i.cast_signed() - back.cast_signed()
            };
            places.push(match random(&mut state, 4) {
                0 if extent > 0 => {
                    let i = random(&mut state, extent);
                    AxisIndex::Number(signed(i, &mut state))
                }
                // One of them: several go together.
                1 if extent > 0 && !has_numbers => {
                    has_numbers = true;
                    let numbers: Vec<i64> = (0..random(&mut state, 4))
                        .map(|_| random(&mut state, extent))
                        .map(|i| i.cast_signed())
                        .collect();
                    let numbers = session.array(&numbers)?;
                    AxisIndex::Numbers(Tensor::new(&numbers, &[numbers.size()])?)
                }
                2 => AxisIndex::Slice(Slice::from(..).step_by(-2)),
                _ => AxisIndex::Slice((random(&mut state, 4).cast_signed()..).into()),
            });
        }
        let used = places.iter().filter(|place| !matches!(place, AxisIndex::New)).count();
        assert!(used <= extents.len());
        let (shape, numbers) = chosen(&extents, &places);
        let found = tensor.at(&places)?;
        assert_eq!(found.shape().extents(), shape, "{extents:?} {places:?}");
        let expected: Vec<i32> = numbers.iter().map(|&i| entries[i]).collect();
        assert_eq!(lanes(&found).to_vec::<i32>()?, expected, "{extents:?} {places:?}");

        let values: Vec<i32> = (1000..).take(numbers.len()).collect();
        let value = Tensor::new(&session.array(&values)?, &shape)?;
        let written = tensor.with_at(&places, &value)?;
        let mut expected = entries.clone();
        numbers.iter().zip(&values).for_each(|(&i, &value)| expected[i] = value);
        assert_eq!(lanes(&written).to_vec::<i32>()?, expected, "{extents:?} {places:?}");
        assert_eq!(lanes(&tensor).to_vec::<i32>()?, entries);
    }
    Ok(())
}

#[test]
fn several_arrays_of_numbers_go_together() -> Result<()> {
    let session = Session::new()?;
    let x = session.arange(DType::I32, 0.into(), 24.into(), 1.into())?;
    let t = Tensor::new(&x, &[2, 3, 4])?;
    let numbers = |numbers: &[i32]| -> Result<AxisIndex> {
        Ok(AxisIndex::Numbers(Tensor::new(&session.array(numbers)?, &[numbers.len() as u64])?))
    };
    let diagonal = t.at(&[numbers(&[0, 1, -1])?, numbers(&[0, -1, 1])?])?;
    assert_eq!(diagonal.shape().extents(), [3, 4]);
    assert_eq!(lanes(&diagonal).to_vec::<i32>()?, [0, 1, 2, 3, 20, 21, 22, 23, 16, 17, 18, 19]);
    // With an axis between them their axis comes first, as in NumPy.
    let apart = t.at(&[numbers(&[1, 0])?, AxisIndex::Slice((..).into()), numbers(&[3, 0])?])?;
    assert_eq!(apart.shape().extents(), [2, 3]);
    assert_eq!(lanes(&apart).to_vec::<i32>()?, [15, 19, 23, 0, 4, 8]);
    let beyond = t.at(&[numbers(&[0, 2])?])?;
    let error = lanes(&beyond).to_vec::<i32>().unwrap_err().to_string();
    assert!(error.contains("index 2 out of bounds for axis 0 of extent 2"), "{error}");
    assert!(t.at(&[AxisIndex::Number(2)]).is_err());
    assert!(t.at(&vec![AxisIndex::Number(0); 4]).is_err());
    Ok(())
}

#[test]
fn a_slice_of_an_expression_is_one_kernel_of_its_own_lanes() -> Result<()> {
    let session = Session::new()?;
    let x = session.arange(DType::F32, 0.into(), 600.into(), 1.into())?.try_mul(0.5)?;
    let y = session.arange(DType::F32, 0.into(), 600.into(), 1.into())?.try_add(1)?;
    session.eval(&[&x, &y])?;
    let (a, b) = (Tensor::new(&x, &[20, 30])?, Tensor::new(&y, &[30, 20])?);
    let sum = Value::from(a.transpose()?).try_add(&b)?;
    let Value::Tensor(sum) = sum else { panic!("no tensor") };
    let part = sum.at(&[AxisIndex::Slice((0..10).into()), AxisIndex::Number(3)])?;
    let launches = session.history().len();
    let got = lanes(&part).to_vec::<f32>()?;
    assert_eq!(session.history().len() - launches, 1);
    assert_eq!(session.history().last().map(|launch| launch.size), Some(10));
    let expected: Vec<f32> =
        (0..10_u16).map(|i| f32::from(3 * 30 + i) * 0.5 + f32::from(i * 20 + 3) + 1.0).collect();
    assert_eq!(got, expected);
    Ok(())
}

/// Lines of so few lanes that many are combined at a time, in more than one group.
#[test]
fn products_of_short_rows_are_sums_of_rows() -> Result<()> {
    let session = Session::new()?;
    for depth in [1, 2, 5, 9, 16, 17, 23, 24, 25, 31, 32, 33, 40] {
        let (n, rows) = (i64::try_from(depth).unwrap(), 150);
        for dtype in [DType::F32, DType::F64, DType::I32, DType::U64] {
            let x = mixed(&session, 150 * depth)?.cast(dtype)?;
            let w = mixed(&session, 2 * depth)?.slice(n..)?.cast(dtype)?;
            session.eval(&[&x, &w])?;
            let matrix = Tensor::new(&x, &[150, depth])?;
            let products = lanes(&matrix.matmul(&Tensor::new(&w, &[depth])?)?);
            let sums = lanes(&matrix.reduce(ReduceOp::Sum, Some(&[1]), false)?);
            for i in 0..rows {
                let row = x.slice(i * n..(i + 1) * n)?;
                let product = row.try_mul(&w)?.reduce(ReduceOp::Sum)?;
                let what = format!("{dtype} {depth} row {i}");
                assert_eq!(bits(&products.slice(i..i + 1)?), bits(&product), "product, {what}");
                let sum = row.reduce(ReduceOp::Sum)?;
                assert_eq!(bits(&sums.slice(i..i + 1)?), bits(&sum), "sum, {what}");
            }
        }
    }
    Ok(())
}

/// Entries that broadcasting repeats have sums along those axes as gradients, in the order of sums, one axis after the
/// other.
#[test]
fn gradients_of_broadcast_entries_are_sums_along_axes() -> Result<()> {
    let session = Session::new()?;
    let extents = [6, 50, 70];
    let (x, w) = (mixed(&session, 21_000)?, mixed(&session, 21_007)?.slice(7..)?);
    let of_products = Tensor::new(&x.try_mul(&w)?, &extents)?;
    let x = Value::Tensor(Tensor::new(&x, &extents)?);
    let shapes: [(&[u64], &[&[i64]]); 6] = [
        (&[70], &[&[0, 1]]),
        (&[50, 70], &[&[0]]),
        (&[6, 1, 70], &[&[1]]),
        (&[6, 50, 1], &[&[2]]),
        (&[6, 1, 1], &[&[1, 2]]),
        (&[50, 1], &[&[2], &[0]]),
    ];
    for (shape, axes) in shapes {
        let repeated = mixed(&session, shape.iter().product())?.enable_grad()?;
        let Value::Tensor(y) = x.try_mul(&Tensor::new(&repeated, shape)?)? else {
            panic!("no tensor: {shape:?}")
        };
        let gradient = session.grad(&[(&lanes(&y), Some(&w))], &[&repeated])?.swap_remove(0);
        let sums = axes.iter().try_fold(of_products.clone(), |sums, axes| {
            sums.reduce(ReduceOp::Sum, Some(axes), true)
        })?;
        assert_eq!(bits(&gradient), bits(&lanes(&sums)), "{shape:?}");
    }
    Ok(())
}

/// The gradient of sums along an axis of few entries is that of each entry.
#[test]
fn gradients_of_sums_of_few_stand_in_each_entry() -> Result<()> {
    let session = Session::new()?;
    for (extents, axis) in [([40, 3], 1), ([3, 40], 0), ([60, 2], 1), ([8, 16], 1)] {
        let shape = Tensor::new(&mixed(&session, extents[0] * extents[1])?, &extents)?;
        let before = lanes(&shape.reduce(ReduceOp::Sum, Some(&[axis]), false)?);
        let marked = lanes(&shape).enable_grad()?;
        let rows = Tensor::new(&marked, &extents)?;
        let sums = lanes(&rows.reduce(ReduceOp::Sum, Some(&[axis]), false)?);
        assert_eq!(bits(&sums), bits(&before), "{extents:?}");
        let w = mixed(&session, sums.size())?;
        let gradient = session.grad(&[(&sums, Some(&w))], &[&marked])?.swap_remove(0);
        let spread: &[u64] = if axis == 1 { &[extents[0], 1] } else { &[extents[1]] };
        let ones = session.full(DType::F32, 1.0, marked.size())?;
        let ones = Value::Tensor(Tensor::new(&ones, &extents)?);
        let Value::Tensor(expected) = ones.try_mul(&Tensor::new(&w, spread)?)? else {
            panic!("no tensor: {extents:?}")
        };
        assert_eq!(bits(&gradient), bits(&lanes(&expected)), "{extents:?}");
    }
    Ok(())
}

/// Many lines of few lanes in memory are combined as they lie, as those that are not there yet.
#[test]
fn lines_in_memory_are_combined_as_others() -> Result<()> {
    let session = Session::new()?;
    for extent in [2, 3, 4, 7, 16] {
        let x = mixed(&session, 20_000 * extent)?;
        let w = mixed(&session, extent)?.try_add(1.5)?;
        let rows = |x: &Array| Tensor::new(x, &[20_000, extent]);
        let factors = Tensor::new(&w, &[extent])?;
        let made = |rows: &Tensor| -> Result<Vec<Vec<u8>>> {
            let sum = rows.reduce(ReduceOp::Sum, Some(&[1]), false)?;
            let most = rows.reduce(ReduceOp::Max, Some(&[-1]), true)?;
            Ok([sum, most, rows.matmul(&factors)?].iter().map(|made| bits(&lanes(made))).collect())
        };
        let before = made(&rows(&x)?)?;
        session.eval(&[&x])?;
        assert_eq!(made(&rows(&x)?)?, before, "{extent}");
    }
    Ok(())
}

#[test]
fn a_number_stands_around_entries() -> Result<()> {
    let session = Session::new()?;
    let x = session.arange(DType::F32, 0.into(), 24.into(), 1.into())?;
    session.eval(&[&x])?;
    let more = x.try_add(100)?;
    let number = |lane: u64| f32::from(u16::try_from(lane).unwrap());
    let widths: [[[u64; 2]; 3]; 5] = [
        [[1, 2], [0, 0], [0, 0]],
        [[0, 0], [2, 0], [0, 1]],
        [[1, 1]; 3],
        [[0, 0], [0, 0], [0, 3]],
        [[0, 3], [1, 0], [0, 0]],
    ];
    for (of, first) in [(&x, 0.0), (&more, 100.0)] {
        let tensor = Tensor::new(of, &[2, 3, 4])?;
        for widths in widths {
            let padded = tensor.pad(&widths, (-1).into())?;
            let extents: Vec<u64> =
                [2, 3, 4].iter().zip(widths).map(|(n, [a, b])| n + a + b).collect();
            assert_eq!(padded.shape().extents(), extents);
            let got = lanes(&padded).to_vec::<f32>()?;
            let inner = |place: u64, axis: usize| {
                place.checked_sub(widths[axis][0]).filter(|&i| i < [2, 3, 4][axis])
            };
            let want = (0..extents.iter().product::<u64>()).map(|lane| {
                let (rest, k) = (lane / extents[2], lane % extents[2]);
                let (i, j) = (rest / extents[1], rest % extents[1]);
                match (inner(i, 0), inner(j, 1), inner(k, 2)) {
                    (Some(i), Some(j), Some(k)) => first + number(12 * i + 4 * j + k),
                    _ => -1.0,
                }
            });
            assert_eq!(got, want.collect::<Vec<_>>(), "{widths:?}");
            let slice = padded.slice(2, Slice::new(1, 4, 1))?;
            let got = lanes(&slice.reduce(ReduceOp::Sum, None, false)?).to_vec::<f32>()?;
            let width = usize::try_from(extents[2]).unwrap();
            let part = |lane: &usize| (1..4).contains(&(lane % width));
            let all = lanes(&padded).to_vec::<f32>()?;
            let want: f32 = (0..all.len()).filter(part).map(|lane| all[lane]).sum();
            assert_eq!(got, [want], "{widths:?}");
        }
    }
    Ok(())
}

/// What is written as a whole begins in memory with anything; numbers of the same size have memory of their own.
#[test]
fn room_for_what_is_joined_is_no_number() -> Result<()> {
    let session = Session::new()?;
    let x = session.arange(DType::F32, 1.into(), 4.into(), 1.into())?;
    session.eval(&[&x])?;
    for _ in 0..3 {
        let zeros = session.zeros(DType::F32, 6)?;
        let (first, second) = (session.concat(&[&x, &x])?, session.concat(&[&zeros, &x])?);
        let mut written = zeros.clone();
        written.scatter(ScatterOp::Set, 5, &session.array(&[1_u32])?, None)?;
        session.eval(&[&first, &second, &written])?;
        assert_eq!(first.to_vec::<f32>()?, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
        assert_eq!(second.to_vec::<f32>()?, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(written.to_vec::<f32>()?, [0.0, 5.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(zeros.to_vec::<f32>()?, [0.0; 6]);
    }
    Ok(())
}

#[test]
fn a_stack_of_few_large_tensors_is_that_of_small_ones() -> Result<()> {
    let session = Session::new()?;
    for n in [2, 3, 4, 5_u16] {
        let x = session.arange(DType::F32, 0.into(), 40_000.into(), 1.into())?;
        session.eval(&[&x])?;
        let parts = (0..n).map(|i| Tensor::new(&x.try_add(f64::from(i) / 4.0)?, &[200, 200]));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let stack = Tensor::stack(&parts, -1)?;
        assert_eq!(stack.shape().extents(), [200, 200, u64::from(n)]);
        let want = (0..40_000_u16)
            .flat_map(|lane| (0..n).map(move |i| f32::from(lane) + f32::from(i) / 4.0));
        assert!(lanes(&stack).to_vec::<f32>()?.into_iter().eq(want), "{n}");
    }
    Ok(())
}

/// Nobody pays for the order of what is stacked but who reads it in order.
#[test]
fn a_stack_takes_the_room_of_its_parts() -> Result<()> {
    let session = Session::builder().memory_limit(16 << 20).build()?;
    let x = session.arange(DType::F32, 0.into(), 1_000_000.into(), 1.into())?;
    session.eval(&[&x])?;
    let tensor = Tensor::new(&x, &[1000, 1000])?;
    let stack = Tensor::stack(&[&tensor, &tensor], -1)?;
    session.eval(&stack.parts().iter().collect::<Vec<_>>())?;
    assert_eq!(stack.shape().extents(), [1000, 1000, 2]);
    Ok(())
}

#[test]
fn functions_of_the_catalogue_are_methods() -> Result<()> {
    let session = Session::new()?;
    let m = Tensor::new(&session.array(&[2.0_f64, 1.0, 1.0, 3.0])?, &[2, 2])?;
    let b = Tensor::from(&session.array(&[3.0_f64, 5.0])?);
    let near = |got: &Tensor, want: &[f64]| {
        let got = lanes(got).to_vec::<f64>().expect("lanes");
        assert!(got.iter().zip(want).all(|(x, y)| (x - y).abs() < 1e-12), "{got:?}, not {want:?}");
        assert_eq!(got.len(), want.len());
    };
    near(&m.solve(&b)?, &[0.8, 1.4]);
    near(&m.inv()?, &[0.6, -0.2, -0.2, 0.4]);
    near(&m.det()?, &[5.0]);
    let [w, v] = &m.eigh()?[..] else { panic!("eigenvalues and vectors") };
    assert_eq!((w.shape().extents(), v.shape().extents()), (&[2][..], &[2, 2][..]));
    near(&Value::from(m.clone()).det()?.try_into()?, &[5.0]);
    near(&Value::from(m.clone()).call("solve", &[(&b).into()])?.try_into()?, &[0.8, 1.4]);
    near(&m.call("roll", &[1.into()])?.try_into()?, &[3.0, 2.0, 1.0, 1.0]);
    let error = m.call("nosuch", &[]).unwrap_err().to_string();
    assert_eq!(error, "nosuch: there is no such function of tensors");
    let error = Value::from(m).call("nosuch", &[]).unwrap_err().to_string();
    assert_eq!(error, "nosuch: there is no such function of (TensorXdC)");
    assert!(catalogue::find("det").is_some());
    Ok(())
}
