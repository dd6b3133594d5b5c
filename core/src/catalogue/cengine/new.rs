//! What makes the scalars and tensors of Cengine. Those of random numbers draw from a sequence of seeds that whoever calls
//! them keeps, so they are no rows.

use super::of_parts;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::random::{Draw, SplitMix64};
use crate::session::Session;
use crate::tensor::{Shape, Tensor};
use crate::value::Value;

/// A function that makes a scalar or a tensor.
#[derive(Clone, Copy, Debug)]
pub struct New {
    /// Name of the script function.
    pub name: &'static str,
    /// Whether it makes a tensor: it takes a shape then.
    pub is_tensor: bool,
    is_complex: bool,
    fill: Fill,
    /// What help shows: a call, and below it what that gives.
    shown: &'static str,
}

/// What is put into a new scalar or tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Zero,
    One,
    /// Where row and column are the same.
    Identity,
    /// The numbers from 0 up.
    Sequential,
    /// Normal numbers times another, in real and imaginary parts.
    Gaussian,
}

/// What makes scalars and tensors.
pub const NEW: [New; 12] = [
    rscalar("new_rscalar", Fill::Zero, "new_rscalar(2)\n[0, 0]"),
    rscalar("new_rscalar_zero", Fill::Zero, "new_rscalar_zero(2)\n[0, 0]"),
    rscalar("new_rscalar_gaussian", Fill::Gaussian, "len(new_rscalar_gaussian(3))\n3"),
    cscalar("new_cscalar", Fill::Zero, "new_cscalar()\n[0 + 0i]"),
    cscalar("new_cscalar_zero", Fill::Zero, "new_cscalar_zero(2)\n[0 + 0i,\n 0 + 0i]"),
    cscalar("new_cscalar_gaussian", Fill::Gaussian, "len(new_cscalar_gaussian(3).real)\n3"),
    ctensor("new_ctensor", Fill::Zero, "new_ctensor([1, 2])\n[[0 + 0i, 0 + 0i]]"),
    ctensor("new_ctensor_zero", Fill::Zero, "new_ctensor_zero([1, 2])\n[[0 + 0i, 0 + 0i]]"),
    ctensor("new_ctensor_ones", Fill::One, "new_ctensor_ones([2], 1)\n[[1 + 0i, 1 + 0i]]"),
    ctensor("new_ctensor_identity", Fill::Identity, "new_ctensor_identity([1, 1])\n[[1 + 0i]]"),
    ctensor(
        "new_ctensor_sequential",
        Fill::Sequential,
        "new_ctensor_sequential([1, 2])\n[[0 + 0i, 1 + 0i]]",
    ),
    ctensor("new_ctensor_gaussian", Fill::Gaussian, "new_ctensor_gaussian([2, 3]).shape\n[2, 3]"),
];

const fn rscalar(name: &'static str, fill: Fill, shown: &'static str) -> New {
    New { name, is_tensor: false, is_complex: false, fill, shown }
}

const fn cscalar(name: &'static str, fill: Fill, shown: &'static str) -> New {
    New { name, is_tensor: false, is_complex: true, fill, shown }
}

const fn ctensor(name: &'static str, fill: Fill, shown: &'static str) -> New {
    New { name, is_tensor: true, is_complex: true, fill, shown }
}

impl New {
    /// Names of what it takes: all but the shape may be left out.
    pub fn parameters(&self) -> &'static [&'static str] {
        let all = &["shape", "nbu", "dev", "c"];
        let n = if self.fill == Fill::Gaussian { 4 } else { 3 };
        &all[usize::from(!self.is_tensor)..n]
    }

    /// Whether it draws random numbers.
    pub fn draws(&self) -> bool {
        self.fill == Fill::Gaussian
    }

    /// The help text.
    pub fn doc(&self) -> String {
        let of = if self.is_tensor { "tensor" } else { "scalar" };
        let (fill, shown) = (self.fill.text(), self.shown);
        format!(
            "A new {of} of Cengine, a bundle of nbu (-1, the default, is none), on device dev by the numbers of \
             to_device (0 is the processor): {fill}.\n\n>> {shown}"
        )
    }

    /// Makes one, of a bundle of so many or of none, f32; of a scalar the shape is empty. Random numbers are drawn from
    /// generators of the next seeds, and multiplied by `factor`.
    ///
    /// ```
    /// use porcini_core::catalogue::NEW;
    /// use porcini_core::{Session, random::SplitMix64};
    ///
    /// # fn main() -> porcini_core::Result<()> {
    /// let new = NEW.iter().find(|new| new.name == "new_ctensor_sequential").unwrap();
    /// let made = new.make(&Session::new()?, &mut SplitMix64::new(0), None, &[2], 1.0)?;
    /// assert_eq!(made.to_string(), "[0 + 0i, 1 + 0i]");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Forms` for an identity that is not square; `Argument` for too large a shape.
    pub fn make(
        &self,
        session: &Session,
        seeds: &mut SplitMix64,
        bundle: Option<u64>,
        shape: &[u64],
        factor: f64,
    ) -> Result<Value> {
        let mut extents: Vec<u64> = bundle.into_iter().chain(shape.iter().copied()).collect();
        if extents.is_empty() && !self.is_tensor {
            extents.push(1);
        }
        let mut part = |fill: Fill| {
            let part = fill.tensor(session, seeds, self.name, &extents)?;
            let part = if factor == 1.0 { part } else { part.each(|x| x.try_mul(factor))? };
            Ok::<_, Error>(Value::Tensor(part))
        };
        let mut parts = vec![part(self.fill)?];
        if self.is_complex {
            let imag = if self.fill == Fill::Gaussian { Fill::Gaussian } else { Fill::Zero };
            parts.push(part(imag)?);
        }
        let made = match of_parts(parts)? {
            Value::Tensor(tensor) if !self.is_tensor => tensor.lanes()?,
            made => made,
        };
        // A body may change what it made, also where an equal value lies outside.
        made.own()
    }
}

impl Fill {
    const fn text(self) -> &'static str {
        match self {
            Self::Zero => "zeros",
            Self::One => "ones",
            Self::Identity => {
                "ones where row and column are the same, else zeros, of square matrices"
            }
            Self::Sequential => "the numbers from 0 up",
            Self::Gaussian => {
                "normal numbers of the session times c (1 unless given), real and imaginary parts apart"
            }
        }
    }

    /// Real entries of a shape.
    fn tensor(
        self,
        session: &Session,
        seeds: &mut SplitMix64,
        name: &'static str,
        shape: &[u64],
    ) -> Result<Tensor> {
        let full = |number: i32| Tensor::new(&session.full(DType::F32, number, 1)?, shape);
        let n = Shape::new(name, shape)?.n_entries();
        match self {
            Self::Zero => full(0),
            Self::One => full(1),
            Self::Sequential => {
                let lanes = session.arange(DType::F32, 0.into(), Scalar::UInt(n), 1.into())?;
                Tensor::new(&lanes, shape)
            }
            Self::Identity => {
                let [.., rows, columns] = shape else {
                    let what = format!("{name}: got {shape:?}, expected two axes or more");
                    return Err(Error::forms(what));
                };
                if rows != columns {
                    return Err(Error::forms(format!(
                        "{name}: identity needs a square last pair of dims, got {rows}x{columns}"
                    )));
                }
                // A bundle of none has no entries to take them from.
                let ones = Tensor::new(&session.full(DType::F32, 1, 1)?, &[*rows])?;
                ones.diag(0)?.broadcast_to(shape)
            }
            Self::Gaussian => {
                let lanes =
                    seeds.drawn(session, name, n, |rng| rng.draw_lanes(name, Draw::Normal32, n))?;
                Tensor::new(&lanes, shape)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, bundle: Option<u64>, shape: &[u64], factor: f64) -> Result<String> {
        let new = NEW.iter().find(|new| new.name == name).expect("a row of the table");
        let made = new.make(&Session::new()?, &mut SplitMix64::new(0), bundle, shape, factor)?;
        Ok(made.to_string())
    }

    #[test]
    fn shapes_are_bundles_of_shapes() -> Result<()> {
        assert_eq!(made("new_rscalar", None, &[], 1.0)?, "[0]");
        assert_eq!(made("new_rscalar", Some(2), &[], 1.0)?, "[0, 0]");
        assert_eq!(made("new_ctensor_ones", Some(1), &[1], 1.0)?, "[[1 + 0i]]");
        let eye = made("new_ctensor_identity", Some(1), &[2, 2], 1.0)?;
        assert_eq!(eye, "[[[1 + 0i, 0 + 0i],\n  [0 + 0i, 1 + 0i]]]");
        let none = made("new_ctensor_identity", Some(0), &[3, 3], 1.0)?;
        assert_eq!(none, "[] of shape [0, 3, 3]");
        assert!(made("new_ctensor_identity", None, &[2, 3], 1.0).is_err());
        assert!(made("new_ctensor_identity", None, &[2], 1.0).is_err());
        Ok(())
    }

    #[test]
    fn random_numbers_are_scaled_and_new_in_each_part() -> Result<()> {
        let drawn = |factor| made("new_cscalar_gaussian", None, &[], factor);
        assert_eq!(drawn(1.0)?, drawn(1.0)?);
        assert_eq!(drawn(0.0)?.replace('-', "+").replace("+0", "0"), "[0 + 0i]");
        Ok(())
    }

    #[test]
    fn parameters_are_those_that_help_names() {
        let of = |name: &str| NEW.iter().find(|new| new.name == name).map(New::parameters);
        assert_eq!(of("new_rscalar"), Some(&["nbu", "dev"][..]));
        assert_eq!(of("new_ctensor_gaussian"), Some(&["shape", "nbu", "dev", "c"][..]));
    }
}
