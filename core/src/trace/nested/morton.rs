//! Morton codes: the bits of two or more integers interleaved.

use super::Expr;

/// The code of the components: bit i of component k goes to bit `i * n + k`; bits without room are dropped.
pub(crate) fn encode<'r>(components: &[Expr<'r>]) -> Vec<Expr<'r>> {
    let n = components.len();
    let spread = components.iter().enumerate().map(|(k, &component)| {
        let bits = component.reinterpret(component.dtype().unsigned());
        spread(bits, n).shl_by(bits.bits(k as u64))
    });
    let code = spread.reduce(|code, bits| code | bits);
    code.map(|code| code.reinterpret(components[0].dtype())).into_iter().collect()
}

/// The `n` components of a code.
pub(crate) fn decode(code: Expr<'_>, n: usize) -> Vec<Expr<'_>> {
    let bits = code.reinterpret(code.dtype().unsigned());
    let component =
        |k: usize| packed(bits.shr_by(bits.bits(k as u64)), n).reinterpret(code.dtype());
    (0..n).map(component).collect()
}

/// Moves every bit i to `i * n`: blocks of bits move apart and are halved, down to single bits.
fn spread(mut x: Expr<'_>, n: usize) -> Expr<'_> {
    let width = x.dtype().bits();
    for level in (0..width.ilog2()).rev() {
        if let Some(shift) = shift(level, n, width) {
            x = x | x << shift;
        }
        x = x & x.bits(blocks(level, n, width));
    }
    x
}

/// The inverse of [`spread`], which drops all other bits.
fn packed(mut x: Expr<'_>, n: usize) -> Expr<'_> {
    let width = x.dtype().bits();
    for level in 0..width.ilog2() {
        x = x & x.bits(blocks(level, n, width));
        if let Some(shift) = shift(level, n, width) {
            x = x | x >> shift;
        }
    }
    x
}

/// How far the upper half of a block moves; `None` if out of the integer.
fn shift(level: u32, n: usize, width: u32) -> Option<u32> {
    let shift = (1 << level) * (u32::try_from(n).ok()? - 1);
    (shift > 0 && shift < width).then_some(shift)
}

/// A mask of blocks of `2^level` bits, each at the start of `n` such blocks, of as many bits as there is room for.
fn blocks(level: u32, n: usize, width: u32) -> u64 {
    let n_bits = width as usize / n;
    let block = (1_usize << level).min(n_bits);
    let places = (0..width as usize).filter(|i| (i / block).is_multiple_of(n)).take(n_bits);
    places.fold(0, |mask, i| mask | 1 << i)
}
