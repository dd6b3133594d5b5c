//! Forward and reverse mode of random programs agree: the derivative in a direction, weighed, is the gradient of what is
//! weighed in that direction (S29). `PORCINI_DERIVATIVES=N` runs N programs.

use porcini_core::{Array, DType, Op, Operand, ReduceOp, Result, ScatterOp, Session};

const DEFAULT_COUNT: u64 = 400;
const LANES: [u64; 5] = [1, 7, 16, 61, 257];

/// A generator by Vigna's `SplitMix64`.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n
    }

    fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let i = self.below(items.len() as u64);
        &items[usize::try_from(i).unwrap_or(0)]
    }
}

/// Values of a program, the arguments first: bounded, whatever is done.
fn program(arguments: &[Array], draws: &mut Draws) -> Result<Array> {
    let mut values = arguments.to_vec();
    let session = arguments[0].session().clone();
    let size = arguments.iter().map(Array::size).max().unwrap_or(1);
    for _ in 0..4 + draws.below(16) {
        let (a, b) = (draws.of(&values).clone(), draws.of(&values).clone());
        let numbers = session.arange(DType::U32, 0.into(), size.cast_signed().into(), 1.into())?;
        let mixed = numbers.try_mul(7 + 2 * draws.below(20))?.try_add(draws.below(50))?;
        let index = mixed.try_rem(size)?;
        let wide = |x: &Array| if x.size() == size { Ok(x.clone()) } else { x.resize(size) };
        values.push(match draws.below(20) {
            0 => a.try_add(&b)?.try_mul(0.5)?,
            1 => a.try_sub(&b)?.try_mul(0.5)?,
            2 => a.try_mul(&b)?,
            3 => a.try_div(&b.try_mul(&b)?.try_add(1.0)?)?,
            4 => a.sin()?,
            5 => a.tanh()?,
            6 => a.try_mul(&a)?.try_neg()?.exp()?,
            7 => a.maximum(&b)?,
            8 => a.min(&b)?,
            9 => a.gt(&b)?.apply(Op::Select, &[Operand::from(&a), Operand::from(&b)])?,
            10 => a.try_mul(&a)?.try_add(0.5)?.sqrt()?.try_mul(0.5)?,
            11 => wide(&a)?.gather(&index, None)?,
            12 => wide(&a)?.gather(&index, Some(&numbers.gt(2)?))?,
            13 => {
                let mut target = wide(&b)?.try_mul(0.5)?;
                let value = wide(&a)?.try_mul(0.1)?;
                let op = *draws.of(&[ScatterOp::Add, ScatterOp::Set, ScatterOp::Min]);
                target.scatter(op, &value, &index, None)?;
                target.tanh()?
            }
            14 => a.reduce(*draws.of(&[ReduceOp::Sum, ReduceOp::Max]))?.try_mul(0.01)?,
            15 => wide(&a)?.try_mul(0.01)?.psum_reverse()?.sin()?,
            16 => wide(&a)?.sort(porcini_core::Order::Ascending)?,
            17 => a.erf()?,
            18 => a.try_mul(&b)?.atan()?.cast(DType::F64)?.cast(a.dtype())?,
            _ => a.hypot(&b)?.try_mul(0.5)?,
        });
        if draws.below(6) == 0
            && let Some(last) = values.last()
        {
            last.eval()?;
        }
    }
    let last =
        values.iter().rev().take(3).try_fold(arguments[0].clone(), |sum, x| sum.try_add(x))?;
    wide_sum(&last, size)
}

fn wide_sum(x: &Array, size: u64) -> Result<Array> {
    if x.size() == size { Ok(x.clone()) } else { x.resize(size) }
}

/// The sum of products, and that of their magnitudes.
fn weighed(a: &Array, b: &Array) -> Result<[f64; 2]> {
    let (a, b) = (a.cast(DType::F64)?, b.cast(DType::F64)?);
    let products: Vec<f64> = a.try_mul(&b)?.to_vec()?;
    Ok([products.iter().sum(), products.iter().map(|x| x.abs()).sum()])
}

#[test]
fn forward_and_reverse_agree() -> Result<()> {
    let session = Session::new()?;
    // On a GPU, who of several lanes writes an element last would be another one in each launch.
    session.set_flag("lane_order", true)?;
    let count = std::env::var("PORCINI_DERIVATIVES").ok().and_then(|n| n.parse().ok());
    let mut n_moved = 0;
    for seed in 0..count.unwrap_or(DEFAULT_COUNT) {
        let (dtype, tolerance) =
            [(DType::F32, 1e-5), (DType::F64, 1e-13)][usize::from(seed % 2 == 0)];
        let size = LANES[usize::try_from(seed / 2 % 5).unwrap_or(0)];
        let lanes = |start: f64, size: u64| -> Result<Array> {
            session.linspace(dtype, start, start + size as f64 * 0.37, size)?.sin()
        };
        let arguments = [lanes(0.3, size)?, lanes(1.7, size)?, lanes(0.9, 1)?];
        let marked = arguments.iter().map(Array::enable_grad).collect::<Result<Vec<_>>>()?;
        let y = program(&marked, &mut Draws(seed))?;
        let inputs: Vec<&Array> = marked.iter().collect();
        let w = lanes(2.1, y.size())?;
        let gradients = session.grad(&[(&y, Some(&w))], &inputs)?;
        let moves = [lanes(0.1, size)?, lanes(0.7, size)?, lanes(1.1, 1)?];
        let pairs: Vec<(&Array, Option<&Array>)> =
            marked.iter().zip(&moves).map(|(x, t)| (x, Some(t))).collect();
        let tangent = session.jvp(&[&y], &pairs)?.swap_remove(0);
        let [forward, mut size_of_terms] = weighed(&tangent, &w)?;
        let mut reverse = 0.0;
        for (gradient, t) in gradients.iter().zip(&moves) {
            let [sum, terms] = weighed(gradient, t)?;
            reverse += sum;
            size_of_terms += terms;
        }
        n_moved += u32::from(size_of_terms > 1e-3);
        // Sums inside the program round too.
        let allowed = tolerance * (size_of_terms + 1.0) * 4.0;
        assert!(
            (forward - reverse).abs() <= allowed,
            "seed {seed}: {forward} {reverse} {size_of_terms}"
        );
    }
    assert!(n_moved > 100, "{n_moved} programs have a slope");
    Ok(())
}
