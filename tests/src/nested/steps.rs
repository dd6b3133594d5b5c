//! The steps of programs over nested values.

use porcini_core::{DType, Scalar};
use porcini_script::Interpreter;

use crate::data::{self, Values};

/// What an input array holds.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Lane type.
    pub dtype: DType,
    /// Which values.
    pub values: Values,
    /// Determines them.
    pub seed: u64,
    /// How many lanes.
    pub n: usize,
}

/// A step: an expression of earlier ones.
#[derive(Clone, Debug)]
pub struct Step {
    /// As a script writes it: `v3` is an earlier step, `#` the next of the numbers.
    pub text: String,
    /// Numbers that the script writes.
    pub numbers: Vec<Scalar>,
    /// Of an input array, whose name is the text.
    pub data: Option<Data>,
}

impl Step {
    /// The steps it uses.
    pub fn operands(&self) -> Vec<usize> {
        let words = self.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter_map(|word| word.strip_prefix('v')?.parse().ok()).collect()
    }

    /// The expression.
    pub fn script(&self) -> String {
        let mut numbers = self.numbers.iter();
        let mut text = String::new();
        for (i, part) in self.text.split('#').enumerate() {
            if i > 0 {
                text += &numbers.next().map_or_else(String::new, written);
            }
            text += part;
        }
        text
    }

    /// Other numbers in the text.
    pub fn change_numbers(&mut self) {
        for number in &mut self.numbers {
            match number {
                Scalar::Int(number) => *number ^= 1,
                Scalar::Float(number) => *number += 1.0,
                _ => {}
            }
        }
    }

    /// Gives an interpreter the input array, if this is one.
    ///
    /// # Errors
    /// There is no memory.
    pub fn give_data(&self, interpreter: &mut Interpreter) -> Result<(), String> {
        let Some(Data { dtype, values, seed, n }) = self.data else { return Ok(()) };
        let lanes = data::lanes(dtype, values, seed, n);
        let array = interpreter.session().from_bytes(dtype, &data::to_bytes(dtype, &lanes));
        interpreter.set_array(&self.text, array.map_err(|error| error.to_string())?);
        Ok(())
    }
}

/// A number as a script writes it where anything may stand before it.
fn written(number: &Scalar) -> String {
    match number {
        Scalar::Float(number) => format!("({number:?})"),
        number => format!("({number})"),
    }
}
