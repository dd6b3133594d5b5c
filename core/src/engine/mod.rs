//! An engine for operators and types of users (S28): what is pushed is done when somebody wants it, operations of one
//! operator and signature together.
//!
//! Arrays need none: what is recorded makes batches by itself. It is for what is no array, or is computed by other code.
//!
//! # Example
//! ```
//! use std::sync::Arc;
//!
//! use porcini_core::Result;
//! use porcini_core::engine::{Engine, Input, Object, Operator};
//!
//! struct Word(String);
//!
//! impl Object for Word {
//!     fn kind(&self) -> String {
//!         format!("word of {} letters", self.0.len())
//!     }
//! }
//!
//! /// Turns words around.
//! struct Turn;
//!
//! impl Operator<Word> for Turn {
//!     fn name(&self) -> &str {
//!         "turn"
//!     }
//!
//!     fn exec(&self, inputs: &[&Word]) -> Result<Word> {
//!         Ok(Word(inputs[0].0.chars().rev().collect()))
//!     }
//! }
//!
//! # fn main() -> Result<()> {
//! let mut engine = Engine::new();
//! let turn = Arc::new(Turn);
//! let mut turned = Vec::new();
//! for word in ["live", "stressed", "evil"] {
//!     let word = Input::Object(Arc::new(Word(word.into())));
//!     turned.push(engine.push(turn.clone(), vec![word])?);
//! }
//! assert_eq!(engine.get(&turned[1])?.0, "desserts");
//! engine.flush()?;
//! assert_eq!(engine.stats()[1].largest, 2, "live and evil");
//! # Ok(())
//! # }
//! ```

mod agenda;
mod operators;
mod order;

pub use agenda::{Agenda, Doer, Handle, Input, Member, Row, State};
pub use operators::{Engine, Object, Operator, Statistics};
