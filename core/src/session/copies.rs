//! Arrays that are copies of what the host has.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::array::{Array, bytes};
use crate::backend::{FileLanes, SharedFile};
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::table::Table;
use crate::memory::buffer::Buffer;
use crate::session::runtime::Device;
use crate::session::{CONVERTED, PIECE, Session};

/// Bytes that are worth more than one thread.
const SHARED: u64 = 4 << 20;

impl Session {
    /// So many bytes of device memory, and the device.
    fn room(&self, bytes: u64) -> Result<(Buffer, Arc<Device>)> {
        let device = self.device()?;
        if self.knows(&device) {
            self.with_table(Table::sweep);
            // Where there is no room, the evaluator says who has it.
            if let Ok(buffer) = device.memory.alloc(bytes) {
                return Ok((buffer, device));
            }
        }
        self.with_device(|| self.with_evaluator(|evaluator| evaluator.alloc(bytes)))
    }

    /// An array with the given lanes.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn array<T: Element>(&self, lanes: &[T]) -> Result<Array> {
        let width = T::DTYPE.bytes();
        let bytes = (lanes.len() as u64).saturating_mul(width as u64);
        let (buffer, device) = self.room(bytes)?;
        let mut converted = vec![0; lanes.len().saturating_mul(width).min(CONVERTED)];
        let pieces = lanes.chunks(CONVERTED / width);
        for (piece, start) in pieces.zip((buffer.address()..).step_by(CONVERTED)) {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let converted = &mut converted[..piece.len() * width];
            bytes::put(piece, converted);
            device.backend.memory().write(start, converted)?;
        }
        Ok(self.adopt(T::DTYPE, lanes.len() as u64, buffer))
    }

    /// An array of lanes that lie in a file, little-endian from a byte on: each part of the device reads its own. `None`
    /// where some part does not reach the file, or finds another one, and of truth values, which somebody must look at.
    ///
    /// # Errors
    /// `OutOfMemory`, `Interrupted`, a failure of the device.
    pub fn from_file(
        &self,
        dtype: DType,
        n: u64,
        file: &SharedFile,
        start: u64,
    ) -> Result<Option<Array>> {
        let bytes = n.saturating_mul(dtype.bytes() as u64);
        if dtype == DType::Mask || start.saturating_add(bytes) > file.size() {
            return Ok(None);
        }
        let (buffer, device) = self.room(bytes)?;
        let lanes = FileLanes { file: file.clone(), dtype, start, n };
        let is_done = device.backend.memory().load(buffer.address(), &lanes)?;
        Ok(is_done.then(|| self.adopt(dtype, n, buffer)))
    }

    /// An array from little-endian lanes of `dtype`; masks are bytes 0 or 1.
    ///
    /// # Errors
    /// `Argument` if the bytes are no whole number of lanes, `OutOfMemory`.
    pub fn from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<Array> {
        self.from_pieces(dtype, &[bytes])
    }

    /// An array from pieces of little-endian lanes of `dtype`, one behind the other.
    ///
    /// # Errors
    /// As [`Session::from_bytes`].
    pub fn from_pieces(&self, dtype: DType, pieces: &[&[u8]]) -> Result<Array> {
        if let Some(piece) = pieces.iter().find(|piece| !piece.len().is_multiple_of(dtype.bytes()))
        {
            return Err(Error::Argument {
                op: "from_bytes",
                what: format!("{} bytes are no whole number of {} lanes", piece.len(), dtype),
            });
        }
        let bytes = pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        let (buffer, device) = self.room(bytes)?;
        let memory = device.backend.memory();
        let write = |start: u64, piece: &[u8]| {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            if dtype == DType::Mask {
                let truth: Vec<u8> = piece.iter().map(|&byte| u8::from(byte != 0)).collect();
                memory.write(start, &truth)
            } else {
                memory.write(start, piece)
            }
        };
        let places = pieces.iter().flat_map(|piece| piece.chunks(PIECE)).scan(
            buffer.address(),
            |start, piece| {
                let place = *start;
                *start += piece.len() as u64;
                Some((place, piece))
            },
        );
        let places = Mutex::new(places);
        let go = || {
            loop {
                let next = places.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((start, piece)) = next else { return Ok(()) };
                write(start, piece)?;
            }
        };
        // Most of the time takes memory that is touched for the first time.
        let is_shared = bytes >= SHARED && device.backend.gpu().is_none();
        thread::scope(|scope| {
            let beside = if is_shared { self.threads() - 1 } else { 0 };
            // A thread that the system refuses is one fewer.
            let spawn = |_| thread::Builder::new().spawn_scoped(scope, go).ok();
            let others: Vec<_> = (0..beside).filter_map(spawn).collect();
            let done = go();
            let others = others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            others.fold(done, Result::and)
        })?;
        Ok(self.adopt(dtype, bytes / dtype.bytes() as u64, buffer))
    }
}
