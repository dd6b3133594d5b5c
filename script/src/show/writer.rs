//! The one way from values to text: what is written is counted, and every so often somebody looks whether to go on.

use std::{fmt, io};

use porcini_core::memory::caching_allocator::Bytes;
use rhai::EvalAltResult;

use crate::fault::{IntoFault, Result, check_interrupt, fault, fault_with_hint};

/// Bytes of a text at most, where nobody sets another bound.
pub(crate) const MOST_BYTES: usize = 256 << 20;
/// Bytes of the text of an error at most.
const MOST_OF_AN_ERROR: usize = 16 << 10;
/// Bytes of a character at most.
const LONGEST_CHARACTER: usize = 4;
/// Pieces of text between two looks whether to go on.
const PATIENCE: u32 = 1000;

/// A text in the making that has an end. Ctrl-C and the time and memory of a sandbox, which all raise the same flag,
/// stop it.
///
/// As [`fmt::Write`] and [`io::Write`] it takes what other libraries print; why it stopped, [`Writer::finish`] says.
pub(crate) struct Writer {
    text: String,
    most: usize,
    /// Characters of the last line.
    column: usize,
    /// Blanks in front of further lines.
    margin: usize,
    /// Pieces since the last look.
    pieces: u32,
    /// Why nothing more is taken.
    stopped: Option<Box<EvalAltResult>>,
}

impl Writer {
    /// An empty text of at most so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { text: String::new(), most, column: 0, margin: 0, pieces: 0, stopped: None }
    }

    /// Adds a piece of text.
    pub(crate) fn put(&mut self, piece: &str) -> Result<()> {
        match piece.rsplit_once('\n') {
            Some((_, last)) => self.column = self.margin + last.chars().count(),
            None => self.column += piece.chars().count(),
        }
        if self.margin > 0 && piece.contains('\n') {
            let margin = self.margin;
            return self.add(&piece.replace('\n', &format!("\n{:margin$}", "")));
        }
        self.add(piece)
    }

    /// Characters of the last line.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    /// What is written stands below each other: further lines begin where the first does.
    pub(crate) fn below(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let margin = std::mem::replace(&mut self.margin, self.column);
        let written = write(self);
        self.margin = margin;
        written
    }

    fn add(&mut self, piece: &str) -> Result<()> {
        self.look()?;
        let fits = start(piece, self.left());
        let room = self.text.try_reserve(fits.len());
        room.map_err(|_| fault(format!("no memory for more than {}", self.bytes())))?;
        self.text.push_str(fits);
        if fits.len() == piece.len() { Ok(()) } else { Err(too_long(self.most)) }
    }

    /// Looks now and then whether to go on: for work that writes little.
    pub(crate) fn look(&mut self) -> Result<()> {
        self.pieces += 1;
        if self.pieces < PATIENCE {
            return Ok(());
        }
        self.pieces = 0;
        check_interrupt()
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.text.len() as u64)
    }

    /// Bytes that may still be written.
    pub(crate) fn left(&self) -> usize {
        self.most - self.text.len()
    }

    /// The text, or why it was stopped.
    pub(crate) fn finish(self) -> Result<String> {
        match self.stopped {
            Some(why) => Err(why),
            None => Ok(self.text),
        }
    }

    /// What came of core's writing here: why no more was taken, if it was.
    pub(crate) fn outcome(&mut self, written: porcini_core::Result<()>) -> Result<()> {
        self.stopped.take().map_or_else(|| written.or_fault(), Err)
    }

    /// Why something that takes [`fmt::Write`] could not write here.
    pub(crate) fn why(&mut self) -> Box<EvalAltResult> {
        self.stopped.take().unwrap_or_else(|| fault("a value has no text"))
    }

    fn taken(&mut self, piece: &str) -> bool {
        if self.stopped.is_none() {
            self.stopped = self.put(piece).err();
        }
        self.stopped.is_none()
    }
}

impl fmt::Write for Writer {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.taken(piece) { Ok(()) } else { Err(fmt::Error) }
    }
}

impl io::Write for Writer {
    /// Takes pieces that are whole characters.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(piece)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        // What is called interrupted would be tried again.
        if self.taken(text) { Ok(piece.len()) } else { Err(io::Error::other("stopped")) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text that `write` writes, of at most so many bytes.
pub(crate) fn written(
    most: usize,
    write: impl FnOnce(&mut Writer) -> Result<()>,
) -> Result<String> {
    let mut out = Writer::new(most);
    write(&mut out)?;
    out.finish()
}

/// The beginning of the text that `write` writes, short enough for an error; `None` if it cannot be written.
pub(crate) fn beginning(write: impl FnOnce(&mut Writer) -> Result<()>) -> Option<String> {
    let mut out = Writer::new(MOST_OF_AN_ERROR);
    match write(&mut out) {
        Ok(()) => Some(out.text),
        Err(_) if out.left() < LONGEST_CHARACTER => Some(out.text + " .."),
        Err(_) => None,
    }
}

/// The beginning of a text that may be long, for errors.
pub(crate) fn cut(text: String) -> String {
    if text.len() > MOST_OF_AN_ERROR + LONGEST_CHARACTER {
        return format!("{} ..", start(&text, MOST_OF_AN_ERROR));
    }
    text
}

/// The first so many bytes of a text, whole characters.
pub(crate) fn start(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rfind(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

fn too_long(most: usize) -> Box<EvalAltResult> {
    let most = Bytes(most as u64);
    fault_with_hint(
        format!("the text of this value is longer than {most} of output, the most at once"),
        "set_print(#{threshold: 20}) shows the ends of long arrays; write_npy and write_csv keep all \
         lanes; --max-output is the bound of a sandbox",
    )
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_text_has_an_end() {
        let text = written(5, |out| {
            out.put("ab")?;
            assert!(write!(out as &mut dyn fmt::Write, "{}", 1).is_ok());
            assert!(out.write_all("é".as_bytes()).is_ok());
            Ok(())
        });
        assert_eq!(text.unwrap(), "ab1é");
        assert!(written(5, |out| out.put("abcde")).is_ok());
        assert!(written(5, |out| out.put("abcdef")).is_err());
        // Why a library could not write is told in the end.
        let late = written(1, |out| {
            assert!(out.write_str("ab").is_err() && out.write_str("a").is_err());
            Ok(())
        });
        assert!(late.is_err());
    }

    #[test]
    fn errors_are_cut_between_characters() {
        assert_eq!(cut("short".into()), "short");
        let long = format!("a{}", "é".repeat(MOST_OF_AN_ERROR));
        assert!(cut(long.clone()).ends_with("éé .."));
        assert_eq!(beginning(|out| out.put(&long)), Some(cut(long)));
        assert_eq!(beginning(|out| out.put("a")).as_deref(), Some("a"));
        assert_eq!(beginning(|_| Err(fault("no text"))), None);
    }
}
