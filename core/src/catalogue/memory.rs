//! Gathers and scatters.

use super::{Answer, Call, Kind, Row, table};
use crate::error::{Error, Result};
use crate::ir::op::{ScatterMode, ScatterOp};
use crate::value::{Argument, Value};

table! {
    /// What reads by index.
    GATHERS;
    /// `source[index[i]]` for each lane of an integer index; 0 where active (optional) is false or the index is out of
    /// bounds, which is an error at the next read. A source of size 1 is a scalar. Vectors gather component by
    /// component. Recorded, not run.
    ///
    /// >> gather(FloatC([5, 6, 7]), UInt32C([2, 0]))
    /// [7, 5]
    gather(source: Value, index: Array; active: Active) = |c| {
        let (index, active) = (c.array(1)?, c.active(2)?);
        c.args[0].each(c.op, |source| source.gather(index, active.as_deref()))
    };
}

/// What reads and writes by index.
pub const MEMORY: &[Row] = &{
    let mut rows = [GATHERS[0]; 1 + ScatterOp::ALL.len()];
    let mut i = 0;
    while i < ScatterOp::ALL.len() {
        rows[1 + i] = row(ScatterOp::ALL[i]);
        i += 1;
    }
    rows
};

/// What holds for every scatter.
const NOTE: &str = "\
Only lanes where active (optional) is true take part. The value is a number or an array of the target's type or one \
that fits it. Recorded, not run. Every name of the target sees the write, copies do not. An index out of bounds is \
dropped, and an error at the next read. A vector is written component by component. The mode (optional, last) says what \
a GPU does where lanes meet at one element: \"fast\" takes them in any order, \"exact\" (or \"last\") in that of the CPU, \
lane after lane.";

/// The words for modes.
const MODES: &[&str] = &{
    let mut words = [""; ScatterMode::NAMES.len()];
    let mut i = 0;
    while i < words.len() {
        words[i] = ScatterMode::NAMES[i].0;
        i += 1;
    }
    words
};

const fn row(op: ScatterOp) -> Row {
    Row {
        name: op.name(),
        parameters: &[
            ("target", Kind::Target),
            ("value", Kind::Operand),
            ("index", Kind::Array),
            ("active", Kind::Active),
            ("mode", Kind::Word(MODES)),
        ],
        n_required: 3,
        doc: op.doc(),
        note: NOTE,
        meaning: |c| Ok(Answer::Written(scatter(c, c.args[0], c.args[1])?, None)),
    }
}

/// The target with a value written.
fn scatter(c: &Call<'_, '_>, target: &Argument<'_>, value: &Argument<'_>) -> Result<Value> {
    if let Argument::Nested(form, components) = target {
        let parts = value.components();
        let few = || Error::forms(format!("{}: too few components", c.op));
        let component = |(i, component)| {
            let part = if parts.is_empty() { value } else { parts.get(i).ok_or_else(few)? };
            scatter(c, component, part)
        };
        let components = components.iter().enumerate().map(component);
        return Ok(Value::Nested(*form, components.collect::<Result<_>>()?));
    }
    let op = ScatterOp::ALL.into_iter().find(|op| op.name() == c.op);
    let op = op.expect("internal error: a row of no scatter");
    let mode = match c.given(4) {
        None => ScatterMode::Fast,
        Some(_) => {
            ScatterMode::NAMES
                .get(c.integer::<usize>(4)?)
                .ok_or_else(|| c.unexpected(4, "a mode"))?
                .1
        }
    };
    let mut target = c.one(target)?.clone();
    target.scatter_as(op, mode, value.operand(c.op)?, c.array(2)?, c.active(3)?.as_deref())?;
    Ok(target.into())
}
