//! Sums of products over axes that have a name: Einstein's notation, and what is written with it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::product::products;
use super::rearrange::alike;
use super::{Shape, Tensor};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::ReduceOp;

/// An axis by name; axes of one name have one extent, or one entry that stands for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    /// One of those that `...` stands for, from the last on.
    Unnamed(usize),
    Letter(char),
}

/// Tensors that are multiplied at most, since the order in which they are is looked for among all pairs.
const MAX_FACTORS: usize = 64;

/// A tensor and the names of its axes.
#[derive(Clone)]
struct Factor {
    tensor: Tensor,
    labels: Vec<Label>,
}

type Extents = BTreeMap<Label, u64>;

impl Tensor {
    /// The sum of products that a text names: a letter for each axis of each tensor, `"ij,jk->ik"`. Axes of one letter run
    /// together; those without a letter behind the arrow are summed. Without an arrow the letters that occur once remain,
    /// in the order of the alphabet. `...` stands for any axes, which broadcast. Recorded, not run.
    ///
    /// **Accuracy**: two tensors at a time, those first whose product is smallest: a product of matrices where each has
    /// axes of its own, in the order of [`Tensor::matmul`], else products summed in the order of
    /// [`Array::hsum`](crate::Array::hsum). Types are promoted to one, which products have; sums of one tensor have that of
    /// [`Tensor::reduce`].
    ///
    /// # Errors
    /// `Argument` for a text that does not fit the tensors; `Forms`, naming both shapes, for axes that differ;
    /// `UnsupportedType` for masks; `TypeMismatch`.
    pub fn einsum(spec: &str, tensors: &[Self]) -> Result<Self> {
        let op = "einsum";
        let refuse = |what: String| Err(Error::Argument { op, what });
        let (terms, output) = match spec.split_once("->") {
            Some((terms, output)) => (terms, Some(output)),
            None => (spec, None),
        };
        let terms: Vec<&str> = terms.split(',').collect();
        if terms.len() != tensors.len() {
            return refuse(format!(
                "{spec:?} names {} tensors, and {} are given",
                terms.len(),
                tensors.len()
            ));
        }
        let mut factors = Vec::with_capacity(terms.len());
        for (term, tensor) in terms.iter().zip(tensors) {
            let n_named = term.chars().filter(|letter| letter.is_alphabetic()).count();
            let rank = tensor.shape().rank();
            let labels = labels(op, term, rank.checked_sub(n_named))?;
            if labels.len() != rank {
                return refuse(format!("{term:?} does not name the axes of {}", tensor.shape()));
            }
            factors.push(Factor { tensor: tensor.clone(), labels });
        }
        let all = || factors.iter().flat_map(|factor| &factor.labels).copied();
        let n_unnamed = all().filter_map(Label::unnamed).max().map_or(0, |last| last + 1);
        let output = match output {
            Some(output) => labels(op, output, Some(n_unnamed))?,
            None => {
                let count = |label: Label| all().filter(|&other| other == label).count();
                let mut once: Vec<Label> = all().filter(|&label| count(label) == 1).collect();
                once.retain(|label| label.unnamed().is_none());
                once.sort_unstable();
                (0..n_unnamed).rev().map(Label::Unnamed).chain(once).collect()
            }
        };
        for (i, label) in output.iter().enumerate() {
            if output[..i].contains(label) {
                return refuse(format!("{spec:?} names {label} twice behind the arrow"));
            }
            if !all().any(|other| other == *label) {
                return refuse(format!("{spec:?} names {label} behind the arrow alone"));
            }
        }
        contract(op, factors, &output)
    }

    /// The sum of products over axes of both, which are as long: those of the first are named, and those of the second in
    /// the same order. The other axes of the first stand in front of those of the second. As [`Tensor::einsum`].
    ///
    /// # Errors
    /// `Argument` for different numbers of axes, or axes that there are not; as [`Tensor::einsum`].
    pub fn tensordot(&self, other: &Self, axes: &[i64], others: &[i64]) -> Result<Self> {
        self.dot_over("tensordot", other, axes, others)
    }

    /// The sum of products over the last axis of both, as [`Tensor::tensordot`].
    ///
    /// # Errors
    /// As [`Tensor::tensordot`].
    pub fn dot_of_rows(&self, other: &Self) -> Result<Self> {
        self.dot_over("inner", other, &[-1], &[-1])
    }

    fn dot_over(
        &self,
        op: &'static str,
        other: &Self,
        axes: &[i64],
        others: &[i64],
    ) -> Result<Self> {
        if axes.len() != others.len() {
            let what = format!("got {} axes of {}", axes.len(), self.shape());
            let what = format!("{what} and {} of {}", others.len(), other.shape());
            return Err(Error::Argument { op, what });
        }
        // In the order in which they are named, each once.
        let named = |shape: &Shape, axes: &[i64]| {
            shape.axes(op, Some(axes))?;
            axes.iter().map(|&axis| shape.axis(op, axis)).collect::<Result<Vec<_>>>()
        };
        let own = named(self.shape(), axes)?;
        let theirs = named(other.shape(), others)?;
        let mut left: Vec<Label> = (0..self.shape().rank()).map(Label::Unnamed).collect();
        let n = left.len();
        let right = (0..other.shape().rank()).map(|axis| Label::Unnamed(n + axis));
        let mut right: Vec<Label> = right.collect();
        let kept = |labels: &[Label], summed: &[usize]| {
            let axes = (0..labels.len()).filter(|axis| !summed.contains(axis));
            axes.map(|axis| labels[axis]).collect::<Vec<_>>()
        };
        let output = [kept(&left, &own), kept(&right, &theirs)].concat();
        for (&axis, &other_axis) in own.iter().zip(&theirs) {
            let extents = [self.shape().extents()[axis], other.shape().extents()[other_axis]];
            if extents[0] != extents[1] {
                return Err(Error::forms(format!(
                    "{op}: axis {axis} of {} and axis {other_axis} of {} differ",
                    self.shape(),
                    other.shape()
                )));
            }
            right[other_axis] = left[axis];
        }
        left.truncate(n);
        let factors = [(self, left), (other, right)];
        let factors = factors.map(|(tensor, labels)| Factor { tensor: tensor.clone(), labels });
        contract(op, factors.into(), &output)
    }

    /// The product of a square matrix with itself, n times; of n = 0 the identity. The axes before the last two are many
    /// matrices.
    ///
    /// # Errors
    /// `Forms` if it is not square; as [`Tensor::matmul`].
    pub fn matrix_power(&self, n: u64) -> Result<Self> {
        let op = "matrix_power";
        let rank = self.shape().rank();
        let is_square = rank >= 2
            && self.shape().extents()[rank - 2..].windows(2).all(|pair| pair[0] == pair[1]);
        if !is_square {
            return Err(Error::forms(format!(
                "{op}: got {}, expected square matrices",
                self.shape()
            )));
        }
        if n == 0 {
            let side = self.shape().extents()[rank - 1];
            let session = self.parts[0].session();
            let ones = Self::of([session.full(self.dtype(), 1, 1)?], Shape::line(side))?;
            let one = alike(op, &[&ones.diag(0)?, self])?.swap_remove(0).into_owned();
            return one.broadcast(op, self.shape());
        }
        let (mut power, mut product, mut rest) = (self.clone(), None, n);
        loop {
            if rest % 2 == 1 {
                product = Some(match product {
                    Some(product) => Self::matmul(&product, &power)?,
                    None => power.clone(),
                });
            }
            rest /= 2;
            match product {
                Some(product) if rest == 0 => return Ok(product),
                _ => power = power.matmul(&power)?,
            }
        }
    }

    /// Its entries along the axes of an order: of several axes with one name where their numbers are the same, along an
    /// axis that it does not have the same ones again.
    fn along_labels(
        &self,
        op: &'static str,
        labels: &[Label],
        order: &[Label],
        extents: &Extents,
    ) -> Result<Self> {
        let axes_of = |label: &Label| {
            let axes = labels.iter().enumerate().filter(|(_, other)| *other == label);
            (extents[label], axes.map(|(axis, _)| axis).collect())
        };
        let axes: Vec<(u64, Vec<usize>)> = order.iter().map(axes_of).collect();
        Ok(self.viewed(self.view.together(op, &axes)?))
    }
}

impl Label {
    const fn unnamed(self) -> Option<usize> {
        match self {
            Self::Unnamed(i) => Some(i),
            Self::Letter(_) => None,
        }
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unnamed(_) => f.write_str("..."),
            Self::Letter(letter) => write!(f, "{letter}"),
        }
    }
}

/// The axes that a term names, `...` being so many; without a number it may not occur.
fn labels(op: &'static str, term: &str, n_unnamed: Option<usize>) -> Result<Vec<Label>> {
    let refuse = |what: String| Err(Error::Argument { op, what });
    let mut labels = Vec::new();
    for (i, part) in term.split("...").enumerate() {
        if i > 0 {
            let Some(n) = n_unnamed.filter(|_| i == 1) else {
                return refuse(format!("{term:?} has more axes than there are"));
            };
            labels.extend((0..n).rev().map(Label::Unnamed));
        }
        for letter in part.chars().filter(|letter| !letter.is_whitespace()) {
            if !letter.is_alphabetic() {
                return refuse(format!(
                    "got {letter:?} in {term:?}, expected letters, as in \"ij,jk->ik\""
                ));
            }
            labels.push(Label::Letter(letter));
        }
    }
    Ok(labels)
}

/// The sum of the products of factors over all axes but those of the output, which has each once.
fn contract(op: &'static str, factors: Vec<Factor>, output: &[Label]) -> Result<Tensor> {
    if factors.len() > MAX_FACTORS {
        let what = format!("got {} tensors, expected at most {MAX_FACTORS}", factors.len());
        return Err(Error::Argument { op, what });
    }
    let extents = extents(op, &factors)?;
    let tensors: Vec<&Tensor> = factors.iter().map(|factor| &factor.tensor).collect();
    let tensors = alike(op, &tensors)?;
    let Some(dtype) = tensors.first().map(|tensor| tensor.dtype()) else {
        return Err(Error::Argument { op, what: "got no tensors".into() });
    };
    if dtype == DType::Mask {
        return Err(Error::UnsupportedType { op, dtype, expected: "numbers" });
    }
    let once = |(tensor, factor): (&Cow<'_, Tensor>, &Factor)| {
        let mut order = factor.labels.clone();
        order.sort_unstable();
        order.dedup();
        // In the order of the axes, so that what lies behind each other stays so.
        order.sort_by_key(|label| factor.labels.iter().position(|other| other == label));
        let tensor = tensor.along_labels(op, &factor.labels, &order, &extents)?;
        Ok(Factor { tensor, labels: order })
    };
    let mut factors = tensors.iter().zip(&factors).map(once).collect::<Result<Vec<_>>>()?;
    let is_product = factors.len() > 1;
    loop {
        for i in 0..factors.len() {
            let others = factors.iter().enumerate().filter(|(j, _)| *j != i);
            let mut kept: Vec<Label> = others.flat_map(|(_, other)| other.labels.clone()).collect();
            kept.extend(output);
            factors[i] = factors[i].summed_but(&kept)?;
        }
        let Some((i, j)) = cheapest(&factors, output, &extents) else { break };
        let (right, left) = (factors.remove(j), factors.remove(i));
        let mut kept: Vec<Label> = factors.iter().flat_map(|other| other.labels.clone()).collect();
        kept.extend(output);
        factors.insert(i, left.times(op, &right, &kept, &extents)?);
    }
    let [last] = &factors[..] else { unreachable!("internal error: factors are left") };
    let result = last.tensor.along_labels(op, &last.labels, output, &extents)?;
    if is_product { result.each(|part| part.cast(dtype)) } else { Ok(result) }
}

/// How many entries there are along each name.
fn extents(op: &'static str, factors: &[Factor]) -> Result<Extents> {
    let mut extents = Extents::new();
    for factor in factors {
        for (label, &extent) in factor.labels.iter().zip(factor.tensor.shape().extents()) {
            let known = extents.entry(*label).or_insert(extent);
            match (*known, extent) {
                (one, other) if one == other || other == 1 => {}
                (1, other) => *known = other,
                (one, other) => {
                    let shapes = factors.iter().map(|factor| factor.tensor.shape().to_string());
                    let shapes: Vec<String> = shapes.collect();
                    return Err(Error::forms(format!(
                        "{op}: axis {label} has {one} and {other} entries in {}",
                        shapes.join(" and ")
                    )));
                }
            }
        }
    }
    Ok(extents)
}

/// The two factors whose product is smallest, beside what they are themselves.
fn cheapest(factors: &[Factor], output: &[Label], extents: &Extents) -> Option<(usize, usize)> {
    #[expect(clippy::cast_precision_loss, reason = "a measure of cost")]
    let size = |labels: &[Label]| labels.iter().map(|label| extents[label] as f64).product::<f64>();
    let pairs = (0..factors.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
    let cost = |&(i, j): &(usize, usize)| {
        let others = factors.iter().enumerate().filter(|(k, _)| ![i, j].contains(k));
        let kept: Vec<Label> = others.flat_map(|(_, other)| other.labels.clone()).collect();
        let mut both = [&factors[i].labels[..], &factors[j].labels[..]].concat();
        both.sort_unstable();
        both.dedup();
        both.retain(|label| kept.contains(label) || output.contains(label));
        size(&both) - size(&factors[i].labels) - size(&factors[j].labels)
    };
    pairs.map(|pair| (pair, cost(&pair))).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(pair, _)| pair)
}

impl Factor {
    /// Summed over the axes that nothing else has.
    fn summed_but(&self, kept: &[Label]) -> Result<Self> {
        let axes = self.labels.iter().enumerate().filter(|(_, label)| !kept.contains(label));
        let axes: Vec<i64> = axes.map(|(axis, _)| exactly(axis)).collect();
        if axes.is_empty() {
            return Ok(self.clone());
        }
        let tensor = self.tensor.reduce(ReduceOp::Sum, Some(&axes), false)?;
        let labels = self.labels.iter().copied().filter(|label| kept.contains(label)).collect();
        Ok(Self { tensor, labels })
    }

    /// The product of two, summed over the axes that both have and nothing else needs.
    fn times(
        &self,
        op: &'static str,
        other: &Self,
        kept: &[Label],
        extents: &Extents,
    ) -> Result<Self> {
        let has = |factor: &Self, label: &Label| factor.labels.contains(label);
        let (shared, left): (Vec<Label>, Vec<Label>) =
            self.labels.iter().partition(|label| has(other, label));
        let (many, summed): (Vec<Label>, Vec<Label>) =
            shared.iter().partition(|label| kept.contains(label));
        let right = other.labels.iter().copied().filter(|label| !has(self, label));
        let right: Vec<Label> = right.collect();
        let labels = [&many[..], &left, &right].concat();
        // A vector is that of one matrix.
        let is_vector = left.is_empty() != right.is_empty() && many.is_empty();
        let are_matrices = !left.is_empty() && !right.is_empty();
        if summed.is_empty() || !(is_vector || are_matrices) {
            let order = [&labels[..], &summed].concat();
            let entries = |factor: &Self| {
                factor.tensor.along_labels(op, &factor.labels, &order, extents)?.entries()
            };
            let shape =
                Shape::new(op, order.iter().map(|label| extents[label]).collect::<Vec<_>>())?;
            let product = Tensor::of(products(&entries(self)?, &entries(other)?)?, shape)?;
            return Self { tensor: product, labels: order }.summed_but(&labels);
        }
        let matrix = |factor: &Self, rows: &[Label], columns: &[Label]| {
            let order = [&many[..], rows, columns].concat();
            let tensor = factor.tensor.along_labels(op, &factor.labels, &order, extents)?;
            let side =
                |labels: &[Label]| labels.iter().map(|label| extents[label]).product::<u64>();
            let mut shape: Vec<u64> = many.iter().map(|label| extents[label]).collect();
            let sides = [rows, columns].into_iter().filter(|labels| !labels.is_empty());
            shape.extend(sides.map(side));
            tensor.shaped(op, shape)
        };
        let product = matrix(self, &left, &summed)?.matmul(&matrix(other, &summed, &right)?)?;
        let shape = labels.iter().map(|label| extents[label]).collect();
        Ok(Self { tensor: product.shaped(op, shape)?, labels })
    }
}
