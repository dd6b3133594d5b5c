//! What others made and nobody needs any more: owners of wrapped memory, derivatives with closures. To drop one may call
//! the session, so that it happens when the table is unlocked.

use super::{Session, lock};

/// While it lives, others leave what they have to who made it.
struct Dropping<'s>(&'s Session);

impl Drop for Dropping<'_> {
    fn drop(&mut self) {
        lock(&self.0.0.table).others_are_dropped();
    }
}

impl Session {
    /// Drops what others made, and what that leaves behind, one after the other: a chain of owners takes no stack.
    pub(super) fn drop_of_others(&self) {
        loop {
            let others = lock(&self.0.table).take_of_others();
            let Some(others) = others else { return };
            let _dropping = Dropping(self);
            drop(others);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::array::Array;
    use crate::session::Session;

    /// Lanes of an array, and another array.
    struct Behind(Vec<f32>, #[expect(dead_code, reason = "it is kept")] Option<Array>);

    impl AsRef<[f32]> for Behind {
        fn as_ref(&self) -> &[f32] {
            &self.0
        }
    }

    #[test]
    fn chains_of_owners_take_no_stack() {
        let session = Session::new().unwrap();
        let mut last = None;
        for _ in 0..100_000 {
            last = Some(session.wrap(Behind(vec![1.0; 16], last)).unwrap());
        }
        drop(last);
        assert_eq!(session.array(&[1.0_f32]).unwrap().to_vec::<f32>().unwrap(), [1.0]);
    }
}
