//! From tree to trace: what functions return.

use super::item::Item;
use super::record::{Flow, Recorder};
use super::tree::Expression;
use super::trouble::{Span, Trouble};
use crate::array::Array;
use crate::dtype::DType;

impl Recorder<'_> {
    /// Gives a value, and leaves the function.
    pub(super) fn leave(&mut self, value: Option<&Expression>, at: Span) -> Result<Flow, Trouble> {
        let has_result = self.frame.gives_value;
        match value {
            Some(value) if has_result => {
                let item = self.value(value)?;
                let item = match self.type_of_result(&item, value.at)? {
                    Some(dtype) => item.converted(self.session, dtype),
                    None => Ok(item),
                };
                let new = item.and_then(|item| item.array(self.session));
                let new = new.map_err(|trouble| trouble.within(value.at))?;
                // Who has not returned yet has no value that counts.
                self.frame.value = Some(match (&self.frame.returned, &self.frame.value) {
                    (Some(returned), Some(old)) => self.select(returned, old, &new)?,
                    _ => new,
                });
            }
            Some(value) => {
                let what = "the function is `void`: it gives its results through `out` parameters";
                return Err(Trouble::new(value.at, what));
            }
            None if has_result => {
                return Err(Trouble::new(at, "got no value, expected one: return x;"));
            }
            None => {}
        }
        let active = self.active()?;
        self.frame.returned = Some(self.or(self.frame.returned.as_ref(), &active)?);
        Ok(Flow::Ends)
    }

    /// The type that what is returned there converts to. Of `auto` the first says it, and others agree, as in C++; literals
    /// take it where they can.
    fn type_of_result(&mut self, item: &Item, at: Span) -> Result<Option<DType>, Trouble> {
        if self.frame.result.is_some() {
            return Ok(self.frame.result);
        }
        let own = self.type_alone(item);
        let Some(first) = self.frame.value.as_ref().map(Array::dtype) else {
            self.frame.first_return = Some(at);
            return Ok(own);
        };
        let Some(own) = own.filter(|own| *own != first && !item.takes(first)) else {
            return Ok(Some(first));
        };
        let text = &self.frame.program.text;
        let before = self.frame.first_return.map_or(1, |before| before.shown_in(text).0);
        let [own, first] = [own, first].map(DType::numpy_name);
        let what = format!("`auto` is {first} by the `return` in line {before}, and got {own}");
        let remedy = format!("say the type of the result, or convert: return {first}(x);");
        Err(Trouble::new(at, what).with(Some(remedy)))
    }
}
