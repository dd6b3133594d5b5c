//! The memory of a device.

use std::ops::Range;
use std::sync::Arc;

use super::shared_file::{FileLanes, read_at, write_at};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::ir::bytes::quieten;

/// Bytes that are moved between two looks at the interrupt flag: of a message both sides have room for as many beside.
pub(super) const AT_ONCE: usize = 1 << 23;

/// Bytes that are left, and of whose memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes.
    pub bytes: u64,
    /// Whose they are, as people read it: `the system`.
    pub whose: &'static str,
}

/// What shows another process that it reaches the memory of this one: a number that nobody guesses is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reach {
    pub(super) process: u32,
    pub(super) address: u64,
    pub(super) number: u64,
}

/// Bytes that another process has, or gets.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Piece {
    /// The process.
    pub process: Reach,
    /// Their address in its memory.
    pub there: u64,
    /// Their address in that of who copies.
    pub here: u64,
    /// How many.
    pub bytes: u64,
}

/// Bytes that go to another rank as a message, or come from it.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Parcel {
    /// The other rank.
    pub rank: usize,
    /// Their address here.
    pub here: u64,
    /// How many.
    pub bytes: u64,
}

/// Bytes that count as used until this is dropped.
pub type Counted = Box<dyn Send + Sync>;

/// Who counts what sessions use of the memory of a device.
pub trait Counts: Send + Sync {
    /// Counts bytes that lie elsewhere in that memory, for `a sort`.
    ///
    /// # Errors
    /// `OutOfMemory` beyond the limit of sessions.
    fn count(self: Arc<Self>, bytes: u64, purpose: &str) -> Result<Counted>;
}

/// The memory of a device, in blocks at addresses, which are believed: those of [`Memory::alloc_raw`], within their
/// blocks. So outside of this package only tests see it (feature `internals`).
pub trait Memory: Send + Sync {
    /// A zeroed block, aligned to at least 64 bytes, or `None` if the device refuses. Kernels read vectors: what is asked
    /// for is a multiple of that.
    fn alloc_raw(&self, bytes: usize) -> Option<u64>;
    /// Gives a block back.
    fn free_raw(&self, address: u64, bytes: usize);
    /// Why it refuses everything, if the device is gone.
    fn failure(&self) -> Option<Error> {
        None
    }
    /// A block whose bytes have memory when [`Memory::back`] has been asked for them, or `None` if the device refuses.
    fn reserve_raw(&self, bytes: usize) -> Option<u64> {
        self.alloc_raw(bytes)
    }
    /// Has bytes of a block that was reserved be there, zeroed if nobody asked before; whether there is so much memory.
    ///
    /// # Errors
    /// A failure of the device.
    fn back(&self, _block: u64, _bytes: Range<u64>) -> Result<bool> {
        Ok(true)
    }
    /// Writes `n` elements of `bytes` bytes each, all with the low bits of `pattern`.
    ///
    /// # Errors
    /// A failure of the device.
    fn fill(&self, address: u64, pattern: u64, bytes: usize, n: u64) -> Result<()>;
    /// Takes note of `n` elements of `bytes` bytes that work writes, all of them, before any is read: nothing to do where
    /// memory may be written without having been.
    ///
    /// # Errors
    /// A failure of the device.
    fn expect_writes(&self, address: u64, bytes: usize, n: u64) -> Result<()> {
        self.fill(address, 0, bytes, n)
    }
    /// Copies within the device.
    ///
    /// # Errors
    /// A failure of the device.
    fn copy(&self, target: u64, source: u64, bytes: usize) -> Result<()>;
    /// Copies from the host.
    ///
    /// # Errors
    /// `Interrupted`, a failure of the device.
    fn write(&self, target: u64, source: &[u8]) -> Result<()>;
    /// Copies to the host what all work launched before made.
    ///
    /// # Errors
    /// `Interrupted`, a failure of the device.
    fn read(&self, source: u64, target: &mut [u8]) -> Result<()>;
    /// Whether nothing launched before still writes to a block, as far as is known without waiting; if not, it is seen
    /// to.
    fn is_ready(&self, _address: u64) -> bool {
        true
    }
    /// Waits until what was launched before has written a block.
    ///
    /// # Errors
    /// `Interrupted`, a failure of the device.
    fn wait(&self, _address: u64) -> Result<()> {
        Ok(())
    }
    /// Takes note of a block of others, which work will read; whether it can be read where it is.
    fn borrow_block(&self, _address: u64, _bytes: usize) -> bool {
        true
    }
    /// Waits until nothing reads a block of others any more, and forgets it.
    fn return_block(&self, _address: u64) {}
    /// Has all bytes from an address on where the address says, for those who read memory themselves.
    ///
    /// # Errors
    /// `Interrupted`, `OutOfMemory`, a failure of the device.
    fn bring_here(&self, _address: u64, _bytes: u64) -> Result<()> {
        Ok(())
    }
    /// Reads lanes of a file into a block, each part its own; whether every part could, of the same file.
    ///
    /// # Errors
    /// `Interrupted`, `OutOfMemory`, a failure of the device.
    fn load(&self, target: u64, lanes: &FileLanes) -> Result<bool> {
        let mut piece = Vec::new();
        lanes.in_pieces(false, |file, at, bytes| {
            piece.resize(exactly(bytes.end - bytes.start), 0);
            let read = read_at(file, &mut piece, at);
            if read.is_ok() {
                self.write(target + bytes.start, &piece)?;
            }
            Ok(read)
        })
    }
    /// Writes lanes of a block into a file that is as long already, each part its own; whether every part could. Every NaN is the quiet NaN.
    ///
    /// # Errors
    /// As [`Memory::load`].
    fn save(&self, source: u64, lanes: &FileLanes) -> Result<bool> {
        let mut piece = Vec::new();
        lanes.in_pieces(true, |file, at, bytes| {
            piece.resize(exactly(bytes.end - bytes.start), 0);
            self.read(source + bytes.start, &mut piece)?;
            quieten(lanes.dtype, &mut piece);
            Ok(write_at(file, &piece, at))
        })
    }
    /// What the device could still hand out, besides what it has.
    fn capacity(&self) -> Capacity;
    /// Whose it is, as people read it.
    fn owner(&self) -> String {
        self.capacity().whose.into()
    }
    /// Whether addresses are pointers of this process.
    fn is_host(&self) -> bool {
        false
    }
}
