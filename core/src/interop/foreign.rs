//! Memory of others as arrays, without a copy: what Rust code owns, `ndarray`s, DLPack tensors.
//!
//! Such a block is read where it lies and never written; its owner is dropped with the last array that needs
//! it. It does not count as device memory.

use std::sync::Arc;

use ndarray::{ArrayBase, Data, Dimension};

use crate::array::Array;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::memory::buffer::{Buffer, Release};
use crate::session::Session;

/// Gathers of small elements read the 4 bytes around each.
const LEAST_ALIGNMENT: usize = 4;

impl Session {
    /// An array over the memory that `owner` holds: a `Vec`, a `Box` or an `Arc` of a slice …
    ///
    /// Without a copy if the device reads the host's memory and the elements start at a multiple of 4 bytes;
    /// `owner` is then dropped with the last array that needs it, or by the last thread that looked whether it could
    /// still help with a kernel of it. It may hold arrays of the session; when it is dropped it may evaluate none.
    ///
    /// # Errors
    /// `OutOfMemory` where a copy is made.
    ///
    /// # Example
    /// ```
    /// # fn main() -> porcini_core::Result<()> {
    /// let session = porcini_core::Session::new()?;
    /// let measured = vec![1.0_f32, 2.0, 3.0];
    /// let address = measured.as_ptr() as u64;
    /// let array = session.wrap(measured)?;
    /// assert_eq!(array.address()?, address);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wrap<T: Element>(
        &self,
        owner: impl AsRef<[T]> + Send + Sync + 'static,
    ) -> Result<Array> {
        // Elements may lie in the owner itself: it must not move any more.
        let owner = Arc::new(owner);
        let elements = (*owner).as_ref();
        match self.borrowed(T::DTYPE, elements, owner.clone()) {
            Some(array) => Ok(array),
            None => self.array(elements),
        }
    }

    /// As [`Session::wrap`], of lanes as bytes in this machine's order, wherever they start: what is not aligned as its type
    /// is copied, and so are masks, of which others may have bytes besides 0 and 1.
    ///
    /// # Errors
    /// `Argument` if the bytes are no whole number of lanes; `OutOfMemory` where a copy is made.
    pub fn wrap_bytes(
        &self,
        dtype: DType,
        owner: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Result<Array> {
        let owner = Arc::new(owner);
        let bytes = (*owner).as_ref();
        let may_stay = dtype != DType::Mask && bytes.len().is_multiple_of(dtype.bytes());
        let borrowed = may_stay.then(|| self.borrowed(dtype, bytes, owner.clone())).flatten();
        borrowed.map_or_else(|| self.from_bytes(dtype, bytes), Ok)
    }

    /// An array with the elements of an `ndarray` in row-major order; of several dimensions, one behind the
    /// other. Without a copy as [`Session::wrap`], if they lie in memory in this order.
    ///
    /// # Errors
    /// As [`Session::wrap`].
    pub fn wrap_ndarray<T, S, D>(&self, array: ArrayBase<S, D>) -> Result<Array>
    where
        T: Element,
        S: Data<Elem = T> + Send + Sync + 'static,
        D: Dimension + Send + Sync + 'static,
        ArrayBase<S, D>: Send + Sync,
    {
        if array.is_standard_layout() {
            self.wrap(RowMajor(array))
        } else {
            self.from_ndarray(&array.view())
        }
    }

    /// An array over elements that `owner` keeps where they are; `None` if they must be copied.
    pub(crate) fn borrowed<T>(
        &self,
        dtype: DType,
        elements: &[T],
        owner: Arc<impl Send + Sync + 'static>,
    ) -> Option<Array> {
        let alignment = dtype.bytes().max(LEAST_ALIGNMENT);
        let stays = elements.as_ptr().addr().is_multiple_of(alignment) && !elements.is_empty();
        // A device that does not open is told of by the copy.
        if !stays || !self.device().is_ok_and(|device| device.backend.memory().is_host()) {
            return None;
        }
        let bytes = size_of_val(elements);
        let address = elements.as_ptr().expose_provenance() as u64;
        let buffer = Buffer::foreign(address, bytes, Arc::new(Held(owner)));
        Some(self.adopt(dtype, (bytes / dtype.bytes()) as u64, buffer))
    }
}

impl Array {
    /// The same lanes, which nobody else can change: those in memory of others are copied, any others shared until they are
    /// written. Tracked ones stay what they are.
    ///
    /// # Errors
    /// `OutOfMemory`; what went wrong on the device.
    pub fn owned(&self) -> Result<Self> {
        let is_lent = self.session().with_table(|table| {
            let variable = table.get(self.id());
            let data = variable.data.as_ref().filter(|_| !variable.tracked);
            data.is_some_and(|data| !data.may_be_overwritten())
        });
        if is_lent { self.copied() } else { Ok(self.clone()) }
    }
}

/// Elements that lie in memory in row-major order.
struct RowMajor<S: Data, D>(ArrayBase<S, D>);

impl<S: Data, D: Dimension> AsRef<[S::Elem]> for RowMajor<S, D> {
    fn as_ref(&self) -> &[S::Elem] {
        self.0.as_slice().unwrap_or_default()
    }
}

/// What owns a block of others.
struct Held<O>(#[expect(dead_code, reason = "dropped with it")] Arc<O>);

impl<O: Send + Sync> Release for Held<O> {
    /// The block goes back when the owner is dropped.
    fn release(&self, _: u64, _: usize) {}
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::interop::view::View;

    /// Lanes of an array, with what else keeps it.
    struct Kept {
        lanes: View<f32>,
        _array: Array,
    }

    impl AsRef<[f32]> for Kept {
        fn as_ref(&self) -> &[f32] {
            &self.lanes
        }
    }

    /// An owner calls the session when it is dropped, wherever that is.
    #[test]
    fn owners_have_arrays_of_the_session() {
        let (done, is_done) = channel();
        thread::spawn(move || {
            let session = Session::new().unwrap();
            let array = session.array(&[1.0_f32; 64]).unwrap();
            let kept = || Kept { lanes: array.view().unwrap(), _array: array.clone() };
            drop(session.wrap(kept()).unwrap());
            let sum = session.wrap(kept()).unwrap().hsum().unwrap();
            let again = session.wrap(Kept { _array: sum.clone(), ..kept() }).unwrap();
            let sums = (sum.item(0).unwrap(), again.try_add(&sum).unwrap().item(63).unwrap());
            drop((again, sum, session));
            done.send((sums.0.to_f64(), sums.1.to_f64())).unwrap();
        });
        assert_eq!(is_done.recv_timeout(Duration::from_secs(60)).unwrap(), (64.0, 65.0));
    }
}
