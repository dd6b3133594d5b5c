//! Philox4x32-10: random words from a counter and a key, with no state.
//!
//! **Source**: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (2011); known answers from
//! its library Random123.

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::trace::expr::Expr;

const ROUNDS: usize = 10;
const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// What is added to the key before each further round.
const WEYL: [u64; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// Four random words of four words of a counter and two of a key, lane by lane; integers count by their low 32 bits.
///
/// # Errors
/// `Argument` for another number of words; `UnsupportedType`, `SizeMismatch`, `ForeignArray`.
pub fn philox4x32(counter: &[Array], key: &[Array]) -> Result<Vec<Array>> {
    let op = "philox4x32";
    if (counter.len(), key.len()) != (4, 2) {
        let (got, words) = (counter.len(), key.len());
        let what = format!("got {got} and {words} components, expected a vector of 4 and one of 2");
        return Err(Error::Argument { op, what });
    }
    let mut words = Vec::with_capacity(6);
    for word in counter.iter().chain(key) {
        let dtype = word.dtype();
        if !dtype.is_int() {
            return Err(Error::UnsupportedType { op, dtype, expected: "integers" });
        }
        words.push(word.cast(DType::U32)?);
    }
    let session = counter[0].session();
    let ids = session.ids(op, &words.iter().collect::<Vec<_>>())?;
    session.record_all(|recorder| recorder.expand_all(op, &ids, rounds))
}

fn rounds<'r>(words: &[Expr<'r>]) -> Vec<Expr<'r>> {
    let &[a, b, c, d, k0, k1] = words else { panic!("internal error: six words expected") };
    let (mut counter, mut key) = ([a, b, c, d], [k0, k1]);
    for round in 0..ROUNDS {
        if round > 0 {
            key = [0, 1].map(|i| key[i] + key[i].bits(WEYL[i]));
        }
        let [a, b, c, d] = counter;
        let [m0, m1] = MULTIPLIERS.map(|multiplier| a.bits(multiplier));
        counter = [c.mulhi(m1) ^ b ^ key[0], c * m1, a.mulhi(m0) ^ d ^ key[1], a * m0];
    }
    counter.to_vec()
}
