//! Functions of nested values as tests call them: by the entries of their arguments.

use porcini_core::value::{self, Argument, Form};
use porcini_core::{Array, Result, Value};

/// The entries of the results of a function of values, each a form and its entries.
///
/// # Errors
/// As [`value::call`].
pub fn call(name: &str, values: &[(Form, &[Array])]) -> Result<Vec<Array>> {
    let value = |(form, entries): &(Form, &[Array])| {
        Value::of_entries(*form, entries.iter().cloned().map(Value::from).collect())
    };
    let values: Vec<Value> = values.iter().map(value).collect::<Result<_>>()?;
    let args: Vec<Argument<'_>> = values.iter().map(Argument::from).collect();
    let results = value::call(name, &args.iter().collect::<Vec<_>>())?;
    Ok(results.iter().flat_map(Value::leaves).cloned().collect())
}
