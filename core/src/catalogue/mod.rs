//! Functions of whole arrays, a row each: reductions, prefix sums, sorts, statistics, lanes in other places, gathers and
//! scatters, parts of vectors.
//!
//! A [`Row`] has the name, the parameters with their kinds, the help text and the meaning; front ends register it,
//! convert arguments by the kinds and write help from it. What works lane by lane has rows of its own kind: operations
//! in `ir/op.rs`, functions in `trace/functions.rs`, those of vectors, matrices and numbers in `trace/nested/`.
//!
//! ```
//! use porcini_core::value::Argument;
//! use porcini_core::{Session, catalogue};
//!
//! # fn main() -> porcini_core::Result<()> {
//! let session = Session::new()?;
//! let x = session.array(&[3, 1, 4])?;
//! let row = catalogue::find("roll").unwrap();
//! let y = row.call(&session, &[&Argument::from(&x), &Argument::from(1)])?.array()?;
//! assert_eq!(y.to_vec::<i32>()?, [4, 3, 1]);
//! # Ok(())
//! # }
//! ```

mod across_lanes;
mod along;
mod call;
mod cengine;
mod derivatives;
mod distinct;
mod filled;
mod linear;
mod makers;
mod memory;
mod moments;
mod neighbours;
mod patterns;
mod peaks;
mod rearrange;
mod signals;
mod statistics;
mod tensor_shapes;
mod tensors;
mod two_results;
mod vectors;
mod windows;

pub use across_lanes::ACROSS_LANES;
pub use along::TENSOR_AXES;
pub use call::{Answer, Call};
pub use cengine::{CENGINE, CENGINE_TENSORS, NEW, New};
pub use derivatives::DERIVATIVES;
pub use distinct::TENSOR_DISTINCT;
pub use filled::FILLED;
pub use linear::{FOURIER, LINEAR};
pub use makers::{MAKERS, TENSOR_MAKERS};
pub use memory::MEMORY;
pub use moments::TENSOR_MOMENTS;
pub use neighbours::TENSOR_NEIGHBOURS;
pub use patterns::TENSOR_PATTERNS;
pub use rearrange::REARRANGE;
pub use signals::TENSOR_SIGNALS;
pub use statistics::{TENSOR_CHOICES, TENSOR_STATISTICS};
pub use tensor_shapes::TENSOR_SHAPES;
pub use tensors::{TENSOR_PRODUCTS, TENSOR_REARRANGE};
pub use two_results::PAIRS;
pub use vectors::{SHAPES, VECTORS};

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::value::Argument;

/// A function of whole arrays.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name of the script function. Rows of one name take different numbers of arguments.
    pub name: &'static str,
    /// Names and kinds of what it takes.
    pub parameters: &'static [(&'static str, Kind)],
    /// How many of them must be given. Where another one is left out in front of one that is given, the number true stands
    /// for it, of a [`Kind::Bool`] false; what stands last is not given.
    pub n_required: usize,
    /// Help text: what it does, an empty line, an example.
    doc: &'static str,
    /// What holds for several functions; part of the help text.
    note: &'static str,
    meaning: Meaning,
}

type Meaning = fn(&Call<'_, '_>) -> Result<Answer>;

/// What a parameter takes. Some say in what words an error names the parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An array or nested value.
    Value,
    /// An array; of a nested value each component by itself, in as many lanes as the value has.
    Each,
    /// An array or nested value of truth values, or one such.
    Mask,
    /// An array or nested value which is written: every name of it sees that. In a body that is recorded, only what is of
    /// it can be (S21).
    Target,
    /// The same of what becomes known of it; its lanes stay.
    Marked,
    /// A tensor; an array or complex number is one.
    Tensor,
    /// A one-dimensional array.
    Array,
    /// The same, or an integer for one lane.
    Index,
    /// An array that says which lanes take part, or a bool for all.
    Active,
    /// An array, nested value or number.
    Operand,
    /// An integer.
    Integer,
    /// An integer or a list of integers: `"a shape"`.
    Integers(&'static str),
    /// An axis or a list of axes; all if it is left out.
    Axes,
    /// An integer from 0 up: `"a size"`.
    Count(&'static str),
    /// A number: `"as a bound"`.
    Number(&'static str),
    /// A number, or numbers in a list, an array or a tensor: `"as a part"`.
    Numbers(&'static str),
    /// A number or a truth value: `"as a value"`.
    Scalar(&'static str),
    /// A bool: `"first"`.
    Bool(&'static str),
    /// One of these words, by its place among them.
    Word(&'static [&'static str]),
    /// A list of arrays or nested values, each an argument.
    List,
}

impl Kind {
    /// Whether it takes arrays only.
    pub const fn is_value(self) -> bool {
        matches!(
            self,
            Self::Value
                | Self::Each
                | Self::Mask
                | Self::Target
                | Self::Marked
                | Self::Tensor
                | Self::Array
        )
    }
}

/// A table of rows: the doc comment, `name(parameter: Kind; optional: Kind) = |call| meaning`, or `=> method` for a
/// method of the recorder, which then is one of [`Array`](crate::Array) too; what it is told stands behind it. A row of
/// tensors that says what it gives, `-> Tensor`, is a method of [`Tensor`](crate::tensor::Tensor) too.
macro_rules! table {
    ($(#[doc = $about:literal])+ $visibility:vis $table:ident; $(
        $(#[doc = $doc:literal])+
        $name:ident $parameters:tt $(-> $result:ident)? $(= |$call:ident| $meaning:expr)? $(=> $method:ident $(($how:expr))?)?;
    )*) => {
        $(#[doc = $about])+
        $visibility const $table: &[Row] = &[$(Row {
            name: stringify!($name),
            parameters: table!(@parameters $parameters),
            n_required: table!(@required $parameters),
            doc: concat!($($doc, "\n"),+),
            note: "",
            meaning: table!(@meaning $name $parameters $(= |$call| $meaning)? $(=> $method)?),
        },)*];

        #[allow(rustdoc::broken_intra_doc_links, reason = "the arrays of examples stand in brackets")]
        impl $crate::array::Array {
            $(table!(@method [$($doc)+] $name $parameters $(=> $method $(($how))?)?);)*
        }

        #[allow(rustdoc::broken_intra_doc_links, reason = "the arrays of examples stand in brackets")]
        impl $crate::tensor::Tensor {
            $(table!(@of_tensors [$($doc)+] $name $parameters $($result)?);)*
        }
    };
    (@of_tensors $doc:tt $name:ident $parameters:tt) => {};
    (@of_tensors [$($doc:literal)+] $name:ident ($own:ident: Tensor $(, $other:ident: Tensor)?) $result:ident) => {
        #[doc = concat!($($doc, "\n",)+ "\nThe example is a script's.")]
        ///
        /// # Errors
        /// `Forms` for other shapes; `Argument` where there is no result; `UnsupportedType` for masks; `OutOfMemory`;
        /// `Interrupted`.
        pub fn $name(&self $(, $other: &Self)?) -> Result<$result> {
            self.call(stringify!($name), &[$($other.into())?])?.try_into()
        }
    };
    (@parameters (
        $($name:ident: $kind:ident $(($words:expr))?),*
        $(; $($more:ident: $other:ident $(($words_of_other:expr))?),*)?
    )) => {
        &[
            $((stringify!($name), Kind::$kind $(($words))?),)*
            $($((stringify!($more), Kind::$other $(($words_of_other))?),)*)?
        ]
    };
    (@required ($($name:ident: $kind:ident $(($words:expr))?),* $(; $($more:tt)*)?)) => {
        <[&str]>::len(&[$(stringify!($name)),*])
    };
    (@meaning $name:ident $parameters:tt = |$call:ident| $meaning:expr) => {
        |$call| Ok(Answer::from($meaning?))
    };
    (@meaning $name:ident ($x:ident: $array:ident) => $method:ident) => {
        |call| Ok(call.array(0)?.$name()?.into())
    };
    (@meaning $name:ident ($x:ident: $array:ident, $n:ident: $($kind:tt)+) => $method:ident) => {
        |call| Ok(call.array(0)?.$name(call.integer(1)?)?.into())
    };
    (@type Count) => { u64 };
    (@type Integer) => { i64 };
    (@method $doc:tt $name:ident $parameters:tt) => {};
    (@method [$($doc:literal)+] $name:ident (
        $x:ident: $array:ident $(, $n:ident: $kind:ident $(($words:literal))?)?
    ) => $method:ident $(($how:expr))?) => {
        $(#[doc = $doc])+
        ///
        /// # Errors
        /// `UnsupportedType`; `Argument` for a number that it does not take.
        pub fn $name(&self $(, $n: table!(@type $kind))?) -> $crate::error::Result<Self> {
            let words: &[u64] = &[$(u64::from_ne_bytes($n.to_ne_bytes()))?];
            self.session().compose(stringify!($name), words, &[self], move |recorder, args| {
                recorder.$method(args[0] $(, $n)? $(, $how)?)
            })
        }
    };
}
use table;

/// The words of a table that says what each means, for [`Kind::Word`].
const fn words<T, const N: usize>(meanings: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut words = [""; N];
    let mut i = 0;
    while i < N {
        words[i] = meanings[i].0;
        i += 1;
    }
    words
}

/// Every row of arrays and vectors.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    [PAIRS, FILLED, SHAPES, ACROSS_LANES, MEMORY, REARRANGE, VECTORS, DERIVATIVES]
        .into_iter()
        .flatten()
}

/// Every row of tensors; where the first argument is one, they go before others of the name.
pub fn tensor_rows() -> impl Iterator<Item = &'static Row> {
    let tables = [
        TENSOR_SHAPES,
        TENSOR_REARRANGE,
        TENSOR_PRODUCTS,
        TENSOR_AXES,
        TENSOR_CHOICES,
        TENSOR_DISTINCT,
        TENSOR_STATISTICS,
        TENSOR_MOMENTS,
        TENSOR_NEIGHBOURS,
        TENSOR_PATTERNS,
        TENSOR_SIGNALS,
        LINEAR,
        FOURIER,
    ];
    tables.into_iter().flatten()
}

/// The first row called `name`: of arrays and vectors if there is such, else of tensors. [`Tensor::call`] takes those of
/// tensors first.
///
/// [`Tensor::call`]: crate::tensor::Tensor::call
pub fn find(name: &str) -> Option<&'static Row> {
    rows().chain(tensor_rows()).find(|row| row.name == name)
}

impl Row {
    /// Parameters as scripts write them: `(x, n)`.
    pub fn signature(&self) -> String {
        let names: Vec<&str> = self.parameters.iter().map(|(name, _)| *name).collect();
        format!("({})", names.join(", "))
    }

    /// The help text.
    pub fn doc(&self) -> String {
        match self.doc.split_once("\n\n") {
            Some((meaning, example)) if !self.note.is_empty() => {
                format!("{meaning}\n{}\n\n{example}", self.note)
            }
            _ => self.doc.into(),
        }
    }

    /// Calls the function; integers, bools and words are numbers among the arguments, and what is left out at the end
    /// is not among them.
    ///
    /// # Errors
    /// `Argument` for too few or too many arguments, or those of another kind; what the function fails with.
    pub fn call(&self, session: &Session, args: &[&Argument<'_>]) -> Result<Answer> {
        self.call_of(None, session, args)
    }

    /// Calls the function as one of a type: those of [`MAKERS`] make arrays of it.
    ///
    /// # Errors
    /// As [`Row::call`].
    ///
    /// # Panics
    /// If a row of [`MAKERS`] is given no type.
    pub fn call_of(
        &self,
        dtype: Option<DType>,
        session: &Session,
        args: &[&Argument<'_>],
    ) -> Result<Answer> {
        let (op, n) = (self.name, args.len());
        if !self.takes(n) {
            let what = format!("got {n} arguments, expected {}", self.signature());
            return Err(Error::Argument { op, what });
        }
        let call = Call { op, session, dtype, args };
        if matches!(self.parameters, [(_, Kind::Target), ..]) {
            return self.change(&call);
        }
        self.make(&call).map_err(|error| self.told(session, error))
    }

    /// What becomes of arguments that stay what they are.
    fn make(&self, call: &Call<'_, '_>) -> Result<Answer> {
        let Call { op, session, dtype, args } = *call;
        if !matches!(self.parameters, [(_, Kind::Each), ..]) || !args[0].is_nested() {
            return (self.meaning)(call);
        }
        let wide = call.widened(args[0])?;
        let each = Argument::from(&wide).each(op, |x| {
            let x = x.into();
            let args: Vec<&Argument<'_>> =
                [&x].into_iter().chain(args[1..].iter().copied()).collect();
            (self.meaning)(&Call { op, session, dtype, args: &args })?.array()
        });
        each.map(Answer::Value)
    }

    /// An error in the words of who called a function that changes nothing, and has to evaluate what it reads.
    fn told(&self, session: &Session, error: Error) -> Error {
        let what = self.name;
        match error {
            // What the function makes itself is written to, as the entries of a diagonal.
            Error::NotState { region, line, .. } => Error::Recording { what, region, line },
            // Of truth values others can be chosen without looking at them.
            Error::StandIn { line } if !matches!(self.parameters, [(_, Kind::Mask)]) => {
                let error = Error::EvaluatesStandIn { op: what, line };
                if session.records_function() {
                    session.fail_recording(error.clone());
                }
                error
            }
            other => other,
        }
    }

    /// Whether it takes so many arguments.
    fn takes(&self, n: usize) -> bool {
        let takes_list = self.parameters.iter().any(|(_, kind)| *kind == Kind::List);
        takes_list || (self.n_required..=self.parameters.len()).contains(&n)
    }

    /// Changes the first argument: all rows that write come through here.
    fn change(&self, call: &Call<'_, '_>) -> Result<Answer> {
        let mut targets = call.args.iter().take(1).flat_map(|target| target.leaves());
        targets.try_for_each(|target| call.session.check_change(self.name, target))?;
        match (self.meaning)(call)? {
            Answer::Written(value, rest) => Ok(Answer::Written(value.own()?, rest)),
            other => Ok(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_left_out_comes_last() {
        for row in rows() {
            let kinds = row.parameters.iter().map(|(_, kind)| kind);
            assert!(row.n_required <= row.parameters.len(), "{}", row.name);
            assert!(kinds.skip(1).all(|kind| *kind != Kind::Each), "{}", row.name);
        }
    }
}
