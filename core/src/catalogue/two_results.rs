//! Functions of one value that give two, each a function by itself; and one that takes bits, whatever they say.

use super::{Answer, Call, Kind, Row, table};
use crate::array::Operand;
use crate::error::Result;
use crate::value::{Argument, function};

table! {
    /// What gives two values lane by lane, and hashes.
    pub PAIRS;
    /// The list `[sin(x), cos(x)]`, which costs little more than one of them.
    ///
    /// >> sincos(FloatC([0, 1]))[1]
    /// [1, 0.540302]
    sincos(x: Operand) = |c| both(c, ["sin", "cos"]);
    /// The list `[sinh(x), cosh(x)]`, which costs little more than one of them.
    ///
    /// >> sincosh(FloatC([0, 1]))[1]
    /// [1, 1.54308]
    sincosh(x: Operand) = |c| both(c, ["sinh", "cosh"]);
    /// The list `[m, e]` of floats with `x = m * 2^e` and 0.5 <= |m| < 1; `[x, 0]` where x is 0, infinite or NaN. Exact.
    ///
    /// >> frexp(FloatC([12, -0.1]))[0]
    /// [0.75, -0.8]
    frexp(x: Operand) = |c| both(c, ["mantissa", "exponent"]);
    /// A number for each lane that looks random and depends on its bits alone, UInt64C: the first output of SplitMix64
    /// that starts from the bits of the lane, narrower ones filled up with zeros. Floats count by their bits (0 and -0
    /// differ, all NaN are one), a mask is 0 or 1. With h = UInt32C(hash(x) >> 32) 32 bits are left.
    ///
    /// >> hash(UInt32C([0, 1]))
    /// [16294208416658607535, 10451216379200822465]
    hash(x: Each) = |c| c.array(0)?.hash();
}

/// Two functions of an argument; of a number they give numbers.
fn both(c: &Call<'_, '_>, functions: [&'static str; 2]) -> Result<Vec<Answer>> {
    let of = |name| match c.args[0] {
        Argument::Number(number) => {
            let of_lane =
                |lane: &[Operand<'_>]| function(name, &[&lane[0].into()])?.array().cloned();
            c.session.of_numbers(&[*number], of_lane).map(Answer::from)
        }
        x => function(name, &[x]).map(Answer::from),
    };
    functions.into_iter().map(of).collect()
}
