//! Messages between ranks about what is in their memory, or in that of their GPUs: then by way of the host's.

use std::io;

use super::channel::Channel;
use crate::backend::memory::AT_ONCE;
use crate::backend::{Memory, Parcel};
use crate::error::{Error, Result};

/// Exchanges parcels that are sent and received; what the leader is told.
///
/// # Errors
/// Others may wait for ever.
pub(super) fn exchange(
    channel: &mut impl Channel,
    [sends, receives]: [&[Parcel]; 2],
) -> io::Result<Result<()>> {
    match channel.exchange(sends, receives) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Err(Error::Interrupted)),
        exchanged => exchanged.map(Ok),
    }
}

/// The same of what is in the memory of a GPU: a piece of each parcel, then the next of each.
///
/// # Errors
/// As [`exchange`].
pub(super) fn exchange_over_host(
    channel: &mut impl Channel,
    memory: &dyn Memory,
    parcels: [&[Parcel]; 2],
) -> io::Result<Result<()>> {
    let longest = parcels.into_iter().flatten().map(|parcel| parcel.bytes).max().unwrap_or(0);
    let mut done = Ok(());
    for first in (0..longest).step_by(AT_ONCE) {
        let [mut sent, mut received] = [staged(parcels[0], first)?, staged(parcels[1], first)?];
        let read = |piece: &mut Staged| memory.read(piece.address, &mut piece.bytes);
        done = done.and_then(|()| sent.iter_mut().try_for_each(read));
        let [sends, receives] = [&mut sent, &mut received]
            .map(|pieces| pieces.iter_mut().map(Staged::parcel).collect::<Vec<_>>());
        // Whatever failed, others count on every message.
        let exchanged = exchange(channel, [&sends, &receives])?;
        let write = |piece: &Staged| memory.write(piece.address, &piece.bytes);
        done = done.and(exchanged).and_then(|()| received.iter().try_for_each(write));
    }
    Ok(done)
}

/// A piece of a parcel in the memory of the host.
struct Staged {
    rank: usize,
    /// Where it is on the GPU.
    address: u64,
    bytes: Vec<u8>,
}

impl Staged {
    fn parcel(&mut self) -> Parcel {
        let here = self.bytes.as_mut_ptr().expose_provenance() as u64;
        Parcel { rank: self.rank, here, bytes: self.bytes.len() as u64 }
    }
}

/// The pieces of parcels that begin behind so many of their bytes: both sides cut them alike.
fn staged(parcels: &[Parcel], first: u64) -> io::Result<Vec<Staged>> {
    let longer = parcels.iter().filter(|parcel| first < parcel.bytes);
    let staged = longer.map(|parcel| {
        let n = (parcel.bytes - first).min(AT_ONCE as u64);
        let n = usize::try_from(n).map_err(io::Error::other)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(n).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        bytes.resize(n, 0);
        Ok(Staged { rank: parcel.rank, address: parcel.here + first, bytes })
    });
    staged.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::channel::Idle;
    use super::*;
    use crate::backend::host::{HostMemory, pointer};

    /// A connection to itself: what is sent comes back, in the order of parcels; at a given exchange it is interrupted.
    struct Mirror {
        exchanges: usize,
        interrupted: Option<usize>,
    }

    impl Channel for Mirror {
        fn send(&mut self, _: &[u8], _: &[u8], _: Idle<'_>) -> io::Result<()> {
            Ok(())
        }

        fn receive(&mut self, _: &mut Vec<u8>, _: &mut Vec<u8>, _: Idle<'_>) -> io::Result<()> {
            Ok(())
        }

        fn is_there(&mut self, _: Duration) -> io::Result<bool> {
            Ok(false)
        }

        fn exchange(&mut self, sends: &[Parcel], receives: &[Parcel]) -> io::Result<()> {
            self.exchanges += 1;
            for (sent, received) in sends.iter().zip(receives) {
                assert_eq!(sent.bytes, received.bytes);
                let mut bytes = vec![0; usize::try_from(sent.bytes).unwrap()];
                HostMemory.read(sent.here, &mut bytes).unwrap();
                HostMemory.write(received.here, &bytes).unwrap();
            }
            match self.interrupted == Some(self.exchanges) {
                true => Err(io::ErrorKind::Interrupted.into()),
                false => Ok(()),
            }
        }
    }

    #[test]
    fn parcels_go_in_pieces_and_all_of_them_whatever_happens() {
        let n = AT_ONCE + 5;
        let mut blocks = [vec![7_u8; n], vec![9; 3], vec![0; n], vec![0; 3]];
        let parcels = blocks.each_mut().map(|block| Parcel {
            rank: 1,
            here: block.as_mut_ptr().expose_provenance() as u64,
            bytes: block.len() as u64,
        });
        // Of what was interrupted nothing is told but that.
        for interrupted in [Some(1), None] {
            let mut mirror = Mirror { exchanges: 0, interrupted };
            let parcels = [&parcels[..2], &parcels[2..]];
            let told = exchange_over_host(&mut mirror, &HostMemory, parcels).unwrap();
            assert_eq!(told.err(), interrupted.map(|_| Error::Interrupted));
            assert_eq!(mirror.exchanges, 2);
        }
        assert!(pointer(parcels[0].here) == blocks[0].as_mut_ptr());
        assert!(blocks[2] == blocks[0] && blocks[3] == blocks[1]);
    }
}
