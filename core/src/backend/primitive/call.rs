//! One launch of a primitive, on any device.

use smallvec::SmallVec;

use crate::dtype::DType;
use crate::error::Result;
use crate::ir::primitive::Primitive;
use crate::memory::buffer::Buffer;

/// An array in a device's memory.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct MemoryArray {
    /// Address of the first element.
    pub address: u64,
    /// Number of elements.
    pub size: u64,
    /// Type of the elements.
    pub dtype: DType,
}

impl MemoryArray {
    /// Bytes of all elements, saturating.
    pub fn bytes(&self) -> u64 {
        self.size.saturating_mul(self.dtype.bytes() as u64)
    }
}

/// One launch of a primitive. Operands of size 1 stand for all lanes where the primitive takes several.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct PrimitiveCall {
    /// What to do.
    pub primitive: Primitive,
    /// What it reads.
    pub operands: SmallVec<[MemoryArray; 4]>,
    /// What it writes, distinct from all operands and not empty.
    pub result: MemoryArray,
    /// Where the imaginary part goes, if the primitive is the real part of a product and that is wanted as well.
    pub imag: Option<MemoryArray>,
    /// The number of the first lane, where lanes are numbered: not 0 for those of a later part.
    pub lane_base: u64,
}

impl PrimitiveCall {
    /// What it writes.
    pub fn results_mut(&mut self) -> impl Iterator<Item = &mut MemoryArray> {
        [&mut self.result].into_iter().chain(&mut self.imag)
    }
}

/// Hands out working memory of a number of bytes: device memory, within the session's limit.
pub type Room<'a> = &'a dyn Fn(u64) -> Result<Buffer>;
