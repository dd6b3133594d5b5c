//! Switches of a session.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Switches of a session, by name in [`FLAGS`].
pub(crate) struct Flags([AtomicBool; FLAGS.len()]);

/// Name, initial value and meaning of each flag.
pub const FLAGS: [(&str, bool, &str); 11] = [
    ("cse", true, "equal operations are recorded once"),
    ("fold", true, "x * 1, select(true, a, b) and the like are simplified while recording"),
    ("bounds_check", true, "gathers and scatters report indices out of bounds"),
    (
        "check_duplicates",
        false,
        "a scatter that writes an element twice is an error; it evaluates to see, and says nothing in bodies that are recorded",
    ),
    ("forbid_eval", false, "an evaluation that is not asked for with eval() is an error"),
    (
        "record_loops",
        true,
        "while_loop, if_then and dispatch become kernels; if not, they run step by step, but where the order of lanes shows",
    ),
    (
        "lane_order",
        false,
        "on a GPU too, equal indices of a scatter are written, and floats added, in lane order; slower",
    ),
    (
        "fast_math",
        false,
        "Float32C divides and takes roots approximately, to 2 ulp where neither operand nor result is near the ends of its range; on a GPU subnormals become 0",
    ),
    (
        "tensor_cores",
        false,
        "on a GPU, products of real matrices of floats are cuBLAS's: f32 with factors rounded to 11 bits (tf32), f16 and f64 with sums in its order; it comes with the CUDA toolkit, PyTorch, or: pip install nvidia-cublas",
    ),
    (
        "batch",
        true,
        "what an evaluation computes many times over, from other memory and numbers, is one launch; if not, it is one kernel of all",
    ),
    (
        "async",
        true,
        "launches on the processor run on other threads while the script goes on, which waits where it reads; if not, it waits for each",
    ),
];

pub(crate) const CSE: usize = 0;
pub(crate) const FOLD: usize = 1;
pub(crate) const BOUNDS_CHECK: usize = 2;
pub(crate) const CHECK_DUPLICATES: usize = 3;
pub(crate) const FORBID_EVAL: usize = 4;
pub(crate) const RECORD_LOOPS: usize = 5;
pub(crate) const LANE_ORDER: usize = 6;
pub(crate) const FAST_MATH: usize = 7;
pub(crate) const TENSOR_CORES: usize = 8;
pub(crate) const BATCH: usize = 9;
pub(crate) const ASYNC: usize = 10;

impl Default for Flags {
    fn default() -> Self {
        Self(FLAGS.map(|(_, value, _)| AtomicBool::new(value)))
    }
}

impl Flags {
    /// The value of a flag.
    pub(crate) fn get(&self, flag: usize) -> bool {
        self.0[flag].load(Ordering::Relaxed)
    }

    /// All flags, a bit each.
    pub(crate) fn bits(&self) -> u64 {
        self.0
            .iter()
            .rev()
            .fold(0, |bits, flag| bits << 1 | u64::from(flag.load(Ordering::Relaxed)))
    }

    /// Changes a flag.
    pub(crate) fn set(&self, flag: usize, value: bool) {
        self.0[flag].store(value, Ordering::Relaxed);
    }

    /// The number of the flag called `name`.
    pub(crate) fn find(name: &str) -> Result<usize> {
        FLAGS.iter().position(|(known, ..)| *known == name).ok_or_else(|| Error::UnknownFlag {
            name: name.into(),
            known: FLAGS.map(|(known, ..)| known).join(", "),
        })
    }
}
