//! Entries of tensors by an index in which masks may be: read and written (S25).

use super::Value;
use super::argument::Argument;
use super::map::apply;
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::tensor::{AxisIndex, Tensor};

/// What an index says of a tensor.
#[derive(Clone, Debug)]
pub enum Index {
    /// A place for each axis from the first on; masks choose among the entries of an axis of what stands there.
    Axes(Vec<AxisIndex>, Vec<(usize, Tensor)>),
    /// A mask of all entries, whose shape broadcasts to theirs.
    Mask(Tensor),
}

impl Index {
    /// The index that a mask is: one of fewer axes chooses along the first ones, as in NumPy; of a matrix its rows.
    ///
    /// # Errors
    /// `Forms` if it does not fit.
    pub fn mask(tensor: &Tensor, mask: Tensor) -> Result<Self> {
        let (own, of) = (mask.shape(), tensor.shape());
        let rank = own.rank();
        if rank == 0 {
            return Ok(Self::Mask(mask));
        }
        let mut both = own.extents().iter().zip(of.extents());
        if rank > of.rank() || !both.all(|(&own, &of)| own == of || own == 1) {
            return Err(Error::Forms {
                what: format!("[]: got a mask of {own} for {of}"),
                remedy: Some("a mask goes along the first axes; along another one: t[[all, mask]]"),
            });
        }
        if rank == of.rank() {
            return Ok(Self::Mask(mask));
        }
        let place = |axis| if axis < rank { AxisIndex::Slice((..).into()) } else { AxisIndex::New };
        let places: Vec<AxisIndex> = (0..of.rank()).map(place).collect();
        mask.at(&places).map(Self::Mask)
    }
}

impl Tensor {
    /// The entries that an index says; where a mask is false they are 0.
    ///
    /// ```
    /// use porcini_core::value::Index;
    /// use porcini_core::{DType, Session, tensor::Tensor};
    ///
    /// # fn main() -> porcini_core::Result<()> {
    /// let session = Session::new()?;
    /// let x = session.arange(DType::I32, 0.into(), 4.into(), 1.into())?;
    /// let t = Tensor::new(&x, &[2, 2])?;
    /// let rows = Tensor::from(&session.array(&[false, true])?);
    /// let found = t.indexed(&Index::mask(&t, rows)?)?;
    /// assert_eq!(found.entries()?[0].to_vec::<i32>()?, [0, 0, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::at`]; `Forms` for a mask that does not fit.
    pub fn indexed(&self, index: &Index) -> Result<Self> {
        match index {
            Index::Mask(mask) => self.masked(mask),
            Index::Axes(places, masks) => {
                let masked = |found: Self, (axis, mask): &(usize, Self)| {
                    found.masked(&self.mask_at(places, &found, *axis, mask)?)
                };
                masks.iter().try_fold(self.at(places)?, masked)
            }
        }
    }

    /// The tensor with other entries where an index says: those of a value that broadcasts to what stands there. Entries
    /// where a mask is false keep what they are.
    ///
    /// # Errors
    /// As [`Tensor::with_at`]; `Forms` for a mask that does not fit.
    pub fn with_indexed(&self, index: &Index, value: &Self) -> Result<Self> {
        let (places, masks) = match index {
            Index::Mask(mask) => return self.assigned(mask, value),
            Index::Axes(places, masks) => (places, masks),
        };
        let old = self.at(places)?;
        let both = |all: Self, mask: Self| {
            let args = [&Argument::Tensor(&all), &Argument::Tensor(&mask)];
            apply(Op::And, &args).and_then(tensor)
        };
        let masks = masks.iter().map(|(axis, mask)| self.mask_at(places, &old, *axis, mask));
        match masks.reduce(|all, mask| both(all?, mask?)).transpose()? {
            Some(mask) => self.with_at(places, &old.assigned(&mask, value)?),
            None => self.with_at(places, value),
        }
    }

    fn masked(&self, mask: &Self) -> Result<Self> {
        Argument::Tensor(self).masked(&Argument::Tensor(mask)).and_then(tensor)
    }

    fn assigned(&self, mask: &Self, value: &Self) -> Result<Self> {
        // Of more axes, as many values as a row has would be rows.
        let ranks = [self.shape().rank(), value.shape().rank()];
        if ranks == [1, 1] && value.broadcast("[]=", self.shape()).is_err() {
            return self.filled_where(mask, value);
        }
        let value = value.as_entries("[]=", self.shape())?;
        let [old, mask, value] = [self, mask, &value].map(Argument::Tensor);
        old.assigned(&mask, &value).and_then(tensor)
    }

    /// The tensor with the values of a line where a mask is true, one after the other. The mask is evaluated.
    fn filled_where(&self, mask: &Self, values: &Self) -> Result<Self> {
        let numbers = mask.broadcast("[]=", self.shape())?.nonzero()?.swap_remove(0);
        let (n, got) = (numbers.size(), values.shape().n_entries());
        if n != got {
            let what = format!("[]=: got {got} values for {n} entries where the mask is true");
            let remedy = "values are as many as the mask is true, or have the shape of the mask";
            return Err(Error::Forms { what, remedy: Some(remedy) });
        }
        self.with_at(&[AxisIndex::Numbers(Self::from(&numbers))], values)
    }

    /// A mask along an axis of what was found at places, as one that broadcasts to all of that.
    fn mask_at(
        &self,
        places: &[AxisIndex],
        found: &Self,
        axis: usize,
        mask: &Self,
    ) -> Result<Self> {
        let n = mask.shape().n_entries();
        if n != 1 && n != found.shape().extents()[axis] {
            // Numbers take axes away, and new ones are none of the tensor.
            let stays = |&i: &usize| !matches!(places[i], AxisIndex::Number(_));
            let place = (0..places.len()).filter(stays).nth(axis).unwrap_or_default();
            let is_own = |place: &&AxisIndex| !matches!(place, AxisIndex::New);
            let own = places[..place].iter().filter(is_own).count();
            let (got, whole) = (mask.shape(), self.shape());
            let what = format!("[]: got a mask of {got} for axis {own} of {whole}");
            let remedy = "a mask has an entry for each of the axis, or one";
            return Err(Error::Forms { what, remedy: Some(remedy) });
        }
        let mut extents = vec![1; found.shape().rank()];
        extents[axis] = n.cast_signed();
        mask.reshape(&extents)
    }
}

fn tensor(value: Value) -> Result<Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor),
        other => Err(Error::forms(format!("[]: got {}, expected a tensor", other.type_name()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::session::Session;

    #[test]
    fn what_a_mask_leaves_out_keeps_its_value() -> Result<()> {
        let session = Session::new()?;
        let lanes = session.arange(DType::I32, 0.into(), 6.into(), 1.into())?;
        let t = Tensor::new(&lanes, &[2, 3])?;
        let columns = Tensor::from(&session.array(&[true, false, true])?);
        let all = || AxisIndex::Slice((..).into());
        let index = Index::Axes(vec![all(), all()], vec![(1, columns.clone())]);
        let entries = |t: &Tensor| t.entries()?[0].to_vec::<i32>();
        assert_eq!(entries(&t.indexed(&index)?)?, [0, 0, 2, 3, 0, 5]);
        let nine = Tensor::from(&session.array(&[9])?);
        assert_eq!(entries(&t.with_indexed(&index, &nine)?)?, [9, 1, 9, 9, 4, 9]);
        assert!(Index::mask(&t, columns).is_err());
        Ok(())
    }
}
