//! What parts of the device have done for a launch, as people are told.

use super::Evaluator;
use crate::backend::PartNotes;
use crate::memory::caching_allocator::Bytes;

impl Evaluator<'_> {
    /// What parts have done for a launch; says what they have brought each other, and why not on the best way.
    pub(super) fn take_notes(&self) -> PartNotes {
        let notes = self.backend.take_notes();
        if notes.exchanged > 0 {
            self.say(1, || format!("exchange: {}", Bytes(notes.exchanged)));
        }
        if let (Some(sink), Some(why)) = (self.warnings, &notes.refusal) {
            sink(&format!(
                "GPUs of ranks do not send each other bytes by themselves, which is faster: {why}; PORCINI_NCCL=none does without"
            ));
        }
        notes
    }
}
