//! Lists in lists on their way to tensors.

use porcini_core::tensor::Tensor;
use porcini_core::{DType, Scalar};
use rhai::Dynamic;

use crate::context::Context;
use crate::fault::{IntoFault, Result, check_interrupt, fault, fault_with_hint};
use crate::value::{self, ArrayRef, Form, scalar};

/// The tensor that a value is.
pub(super) fn tensor_of(value: &ArrayRef) -> Result<Tensor> {
    let tensor = value.lend(|value| value.as_tensor("[]")).or_fault()?;
    tensor.ok_or_else(|| fault("[]: expected a tensor"))
}

/// The tensor that lists in lists are, of a lane type; arrays in them are rows.
pub(super) fn entries(
    context: &Context,
    name: &str,
    dtype: DType,
    list: &rhai::Array,
) -> Result<Tensor> {
    Entries::read(context, name, dtype, false, list)
}

/// The tensor of lists in lists in which tracked arrays are: what they are made of stays known.
fn of_tracked(
    context: &Context,
    name: &str,
    dtype: DType,
    list: &rhai::Array,
) -> Result<Option<Tensor>> {
    if !dtype.is_float() || !value::is_any(list, &value::is_tracked)? {
        return Ok(None);
    }
    let part = |item: &Dynamic| -> Result<Tensor> {
        if let Some(inner) = item.read_lock::<rhai::Array>() {
            return Entries::read(context, name, dtype, false, &inner);
        }
        if let Some(row) = item.read_lock::<ArrayRef>() {
            let tensor = tensor_of(&row)?.each(|part| part.cast(dtype)).or_fault()?;
            // One lane is an entry.
            let is_entry = row.form() == Form::Scalar && tensor.shape().n_entries() == 1;
            return if is_entry { tensor.reshape(&[]).or_fault() } else { Ok(tensor) };
        }
        let lanes =
            super::types::from_list(&context.session, name, dtype, std::slice::from_ref(item))?;
        Tensor::new(&lanes, &[]).or_fault()
    };
    let parts = list.iter().map(part).collect::<Result<Vec<_>>>()?;
    Tensor::stack(&parts, 0).map(Some).or_fault()
}

/// Lists in lists on their way to a tensor.
pub(super) struct Entries<'a> {
    name: &'a str,
    dtype: DType,
    /// Of real entries, or of real and imaginary parts.
    bytes: Vec<Vec<u8>>,
    /// Lengths of the lists, outermost first, as the first of each level has them.
    extents: Vec<usize>,
}

impl<'a> Entries<'a> {
    pub(super) fn read(
        context: &Context,
        name: &'a str,
        dtype: DType,
        is_complex: bool,
        list: &rhai::Array,
    ) -> Result<Tensor> {
        if !is_complex && let Some(tensor) = of_tracked(context, name, dtype, list)? {
            return Ok(tensor);
        }
        let bytes = vec![Vec::new(); if is_complex { 2 } else { 1 }];
        let mut read = Entries { name, dtype, bytes, extents: Vec::new() };
        read.list(list, 0)?;
        let parts = read.bytes.iter().map(|bytes| context.session.from_bytes(dtype, bytes));
        let parts = parts.collect::<porcini_core::Result<Vec<_>>>().or_fault()?;
        let extents: Vec<u64> = read.extents.iter().map(|&n| n as u64).collect();
        let tensor = match &parts[..] {
            [real, imag] => Tensor::complex(real, imag, &extents),
            parts => Tensor::new(&parts[0], &extents),
        };
        tensor.or_fault()
    }

    fn list(&mut self, list: &rhai::Array, depth: usize) -> Result<()> {
        self.level(depth, list.len())?;
        for (i, item) in list.iter().enumerate() {
            check_interrupt()?;
            if let Some(inner) = item.read_lock::<rhai::Array>() {
                self.is_inner(depth, i)?;
                self.list(&inner, depth + 1)?;
                continue;
            }
            if let Some(row) = item.read_lock::<ArrayRef>() {
                self.row(&row, depth, i)?;
                continue;
            }
            let name = self.name;
            let number = scalar(item).ok_or_else(|| {
                let got = value::type_name(item);
                fault(format!("{name}: element {i} is {got}, expected a number or a list"))
            })?;
            self.leaf(depth, i)?;
            self.number(i, &[number])?;
        }
        Ok(())
    }

    /// An array or tensor in a list: a number, or a row.
    fn row(&mut self, row: &ArrayRef, depth: usize, i: usize) -> Result<()> {
        let tensor = tensor_of(row)?;
        if tensor.parts().len() > self.bytes.len() {
            let name = self.name;
            return Err(fault(format!("{name}: element {i} is complex, expected a real number")));
        }
        for (axis, &extent) in tensor.shape().extents().iter().enumerate() {
            self.is_inner(depth + axis, i)?;
            self.level(depth + 1 + axis, usize::try_from(extent).unwrap_or(usize::MAX))?;
        }
        self.leaf(depth + tensor.shape().rank(), i)?;
        let parts = tensor.entries().or_fault()?;
        parts.iter().try_for_each(|part| part.refuse_tracked("list")).or_fault()?;
        let parts = parts.iter().map(|part| part.read(0..part.size()).or_fault());
        let parts = parts.collect::<Result<Vec<_>>>()?;
        (0..parts[0].len()).try_for_each(|lane| {
            let number: Vec<Scalar> = parts.iter().map(|part| part[lane]).collect();
            self.number(i, &number)
        })
    }

    /// A number by its parts; real ones have no imaginary part.
    fn number(&mut self, i: usize, parts: &[Scalar]) -> Result<()> {
        for (place, bytes) in self.bytes.iter_mut().enumerate() {
            let bits = self.dtype.encode(parts.get(place).copied().unwrap_or(Scalar::Int(0)));
            let bits =
                bits.map_err(|error| fault(format!("{}: element {i}: {error}", self.name)))?;
            bytes.extend_from_slice(&bits.to_le_bytes()[..self.dtype.bytes()]);
        }
        Ok(())
    }

    /// A list at a depth, which is as long as others there.
    fn level(&mut self, depth: usize, length: usize) -> Result<()> {
        match self.extents.get(depth) {
            None if self.extents.len() == depth => self.extents.push(length),
            Some(&known) if known == length => {}
            Some(&known) => {
                let name = self.name;
                return Err(fault_with_hint(
                    format!("{name}: a list of {length} beside one of {known}"),
                    "rows of a tensor are equally long",
                ));
            }
            None => {}
        }
        Ok(())
    }

    /// Lists may follow at a depth: there is no number.
    fn is_inner(&self, depth: usize, i: usize) -> Result<()> {
        let has_numbers = !self.bytes[0].is_empty() && self.extents.len() == depth + 1;
        if has_numbers { Err(self.mixed(i)) } else { Ok(()) }
    }

    /// Numbers may stand at a depth: there is no list.
    fn leaf(&self, depth: usize, i: usize) -> Result<()> {
        if self.extents.len() > depth + 1 { Err(self.mixed(i)) } else { Ok(()) }
    }

    fn mixed(&self, i: usize) -> Box<rhai::EvalAltResult> {
        let name = self.name;
        fault(format!("{name}: element {i} is a list beside a number, or a number beside a list"))
    }
}
