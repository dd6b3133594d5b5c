//! Marks and gradients (S29).

use super::{Answer, Call, Kind, Row, table};
use crate::array::Array;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::value::{Argument, Value};

table! {
    /// What marks arrays and asks for their gradients.
    pub DERIVATIVES;
    /// Marks arrays of floats: what is computed from them keeps how, so that its derivatives may be asked for. The type of a
    /// marked array, and of what is computed from it, ends in D. What is marked or computed from what is stays as it is.
    /// Every name of the array sees it.
    ///
    /// >> x = FloatC([1, 2, 3]); enable_grad(x); backward(x * x); gradient(x)
    /// [2, 4, 6]
    enable_grad(x: Marked) = |c| written(c, Array::enable_grad);
    /// The same numbers without what they were computed from: derivatives end there. A copy, the array itself stays.
    ///
    /// >> x = FloatD([1, 2]); type_of(detach(x * x))
    /// FloatC
    detach(x: Value) = |c| each(c, Array::detach);
    /// The numbers of a value with the derivatives of another one of its form: what was computed in a way that has none, or
    /// another one, than should be followed.
    ///
    /// >> grad(|x| replace_grad(round(x), x), FloatC([0.4, 1.6]))
    /// [1, 1]
    replace_grad(value: Value, other: Value) = |c| {
        let (value, other) = (c.value(0)?, c.value(1)?.arrays()?);
        let (is_same, mut other) = (value.arrays()?.len() == other.len(), other.iter());
        if !is_same {
            return Err(c.unexpected(1, "a value of the same form"));
        }
        value.each_array(&mut |array| other.next().map_or(Ok(array.clone()), |other| array.replace_grad(other)))
    };
    /// Whether derivatives of a value may be asked for: it is marked, or computed from what is.
    ///
    /// >> x = FloatD(2); requires_grad(x * 3)
    /// true
    requires_grad(x: Value) = |c| c.value(0).map(|x| Scalar::Bool(x.is_tracked()));
    /// Adds to the gradients of all marked arrays that a value was computed from its derivatives by them, each times 1, or
    /// times the gradient that set_gradient gave the value. Of more lanes than one those of all are added. Who holds the
    /// value can ask again, so it keeps what it was made of: of a loss to remember keep detach(loss). Recorded, not run.
    ///
    /// >> x = FloatD([1, 2, 3]); backward(hsum(x * x * x)); gradient(x)
    /// [3, 12, 27]
    backward(y: Value) = |c| of_each(c, Array::backward);
    /// Gives a marked array the direction 1, or that of its gradient if it has one: the gradient of what is computed from
    /// it is the derivative in this direction. Recorded, not run.
    ///
    /// >> x = FloatD([1, 2, 3]); forward(x); gradient(x ** 2)
    /// [2, 4, 6]
    forward(x: Value) = |c| of_each(c, Array::forward);
    /// The gradient of a marked array, zeros where there is none yet; of what was computed the derivative in the direction
    /// that forward gave. It is not marked itself.
    ///
    /// >> x = FloatD([1, 2, 3]); backward(sin(x)); backward(x * 10); gradient(x)
    /// [10.5403, 9.58385, 9.01001]
    gradient(x: Value) = |c| each(c, Array::gradient);
    /// Sets the gradient of a marked array, or that of a value before backward. A number stands for every lane.
    ///
    /// >> x = FloatD([1, 2]); y = x * x; set_gradient(y, FloatC([1, 10])); backward(y); gradient(x)
    /// [2, 40]
    set_gradient(x: Target, gradient: Operand) = |c| {
        let target = c.value(0)?.each_array(&mut |array| Ok(array.clone()))?;
        let x = target.arrays()?;
        let given = match *c.args[1] {
            Argument::Number(number) => {
                let full = |x: &Array| c.session.full(x.dtype(), number, 1);
                x.iter().map(full).collect::<Result<_>>()?
            }
            _ => c.value(1)?.arrays()?,
        };
        if given.len() != x.len() {
            return Err(c.unexpected(1, "a value of the same type, or a number"));
        }
        x.iter().zip(&given).try_for_each(|(x, given)| x.set_gradient(given))?;
        Ok::<_, Error>(Answer::Written(target, None))
    };
    /// Forgets the gradient of a marked array, and the direction that forward gave it.
    ///
    /// >> x = FloatD(2); backward(x * x); clear_gradient(x); gradient(x)
    /// [0]
    clear_gradient(x: Value) = |c| of_each(c, |x| {
        x.clear_gradient();
        Ok(())
    });
}

/// The value of the first argument, changed in place.
fn written(c: &Call<'_, '_>, change: fn(&Array) -> Result<Array>) -> Result<Answer> {
    Ok(Answer::Written(each(c, change)?, None))
}

/// What becomes of the arrays of the first argument.
fn each(c: &Call<'_, '_>, change: fn(&Array) -> Result<Array>) -> Result<Value> {
    c.value(0)?.each_array(&mut |array| change(array))
}

/// Does something with the arrays of the first argument.
fn of_each(c: &Call<'_, '_>, work: fn(&Array) -> Result<()>) -> Result<()> {
    c.value(0)?.arrays()?.iter().try_for_each(work)
}
