//! Calls of reductions and scans that are recorded once (S21): for the first two calls with arrays of some types and sizes
//! texts are read, and for others the same is recorded with other arrays in it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::session::Session;
use crate::session::recorded::Recorded;

/// Kinds of calls that are remembered.
const MOST: usize = 16;

/// The kinds of calls that were met, the newest last, and what they recorded when they came again.
#[derive(Debug, Default)]
pub(super) struct Recordings(Mutex<VecDeque<(Key, Option<Arc<Recorded>>)>>);

/// What a recording depends on: the session, its flags, types and sizes.
#[derive(Clone, Debug)]
struct Key {
    session: Session,
    flags: u64,
    types: Vec<(DType, u64)>,
}

impl Recordings {
    /// The results for arrays that are in memory, of `record` or as that recorded them before.
    ///
    /// # Errors
    /// Those of `record`.
    pub(super) fn call(
        &self,
        session: &Session,
        arrays: &[Array],
        record: &mut dyn FnMut(&[Array]) -> Result<Vec<Array>>,
    ) -> Result<Vec<Array>> {
        let types = arrays.iter().map(|array| (array.dtype(), array.size())).collect();
        let key = Key { session: session.clone(), flags: session.flag_bits(), types };
        let known = self.known().iter().find(|(known, _)| known.is(&key)).map(|(_, it)| it.clone());
        match known {
            None => {
                let mut known = self.known();
                known.truncate(MOST - 1);
                known.push_front((key, None));
            }
            Some(Some(recorded)) => return recorded.call(&borrowed(arrays)),
            Some(None) => {
                let stand_ins = session.stand_ins(&borrowed(arrays))?;
                let outputs = session.recording_function(|| record(&stand_ins))?;
                let recorded = session.recorded(&borrowed(&stand_ins), &borrowed(&outputs))?;
                let recorded = Arc::new(recorded);
                if let Some((_, it)) = self.known().iter_mut().find(|(known, _)| known.is(&key)) {
                    *it = Some(recorded.clone());
                }
                return recorded.call(&borrowed(arrays));
            }
        }
        record(arrays)
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<(Key, Option<Arc<Recorded>>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Key {
    fn is(&self, other: &Self) -> bool {
        self.types == other.types && self.flags == other.flags && self.session.is(&other.session)
    }
}

fn borrowed(arrays: &[Array]) -> Vec<&Array> {
    arrays.iter().collect()
}
