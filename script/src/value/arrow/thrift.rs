//! Thrift's compact protocol as far as numbers go: what headers of Parquet say before memory is taken for it.
//!
//! Sizes of lists and texts are compared with the bytes that are left, and levels are counted.

/// Levels of structures and lists that are read; headers have a handful.
const DEEPEST: usize = 64;

/// Calls `visit` with the integers of the structure that bytes begin with, each with the numbers of the fields that lead
/// to it (what lists hold has the number of the list), and with nothing where a structure ends. `None` if it breaks off.
pub(super) fn integers(bytes: &[u8], visit: &mut dyn FnMut(&[i16], Option<i64>)) -> Option<()> {
    Walk { bytes, path: Vec::new(), visit }.structure()
}

/// An integer of seven bits a byte, the lowest first, and the bytes behind it.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

struct Walk<'a, 'v> {
    /// What is left.
    bytes: &'a [u8],
    path: Vec<i16>,
    visit: &'v mut dyn FnMut(&[i16], Option<i64>),
}

impl Walk<'_, '_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    fn skip(&mut self, n: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    fn zigzag(&mut self) -> Option<i64> {
        let number = varint(&mut self.bytes)?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn structure(&mut self) -> Option<()> {
        let mut last = 0_i16;
        loop {
            let head = self.byte()?;
            if head & 0x0f == 0 {
                (self.visit)(&self.path, None);
                return Some(());
            }
            last = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).ok()?,
                step => last.checked_add(step.into())?,
            };
            self.path.push(last);
            // The truth of a field is its type.
            if !matches!(head & 0x0f, 1 | 2) {
                self.value(head & 0x0f)?;
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8) -> Option<()> {
        if self.path.len() > DEEPEST {
            return None;
        }
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let number = self.zigzag()?;
                (self.visit)(&self.path, Some(number));
                Some(())
            }
            7 => self.skip(8),
            8 => {
                let n = varint(&mut self.bytes)?;
                self.skip(n)
            }
            9 | 10 => {
                let head = self.byte()?;
                let n = match head >> 4 {
                    15 => varint(&mut self.bytes)?,
                    n => n.into(),
                };
                self.items(n, &[head & 0x0f])
            }
            11 => match varint(&mut self.bytes)? {
                0 => Some(()),
                n => {
                    let kinds = self.byte()?;
                    self.items(n, &[kinds >> 4, kinds & 0x0f])
                }
            },
            12 => self.structure(),
            13 => self.skip(16),
            _ => None,
        }
    }

    /// So many times a value of each kind: there is none that takes no byte.
    fn items(&mut self, n: u64, kinds: &[u8]) -> Option<()> {
        // Lists of lists are levels too.
        let level = *self.path.last()?;
        for _ in 0..n {
            for &kind in kinds {
                match kind {
                    9..=11 => {
                        self.path.push(level);
                        self.value(kind)?;
                        self.path.pop();
                    }
                    kind => self.value(kind)?,
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integers of a structure, and where structures end.
    fn seen(bytes: &[u8]) -> Option<Vec<(Vec<i16>, Option<i64>)>> {
        let mut seen = Vec::new();
        integers(bytes, &mut |path, number| seen.push((path.to_vec(), number)))?;
        Some(seen)
    }

    #[test]
    fn integers_are_found_behind_all_else() {
        let bytes = [
            0x11, // 1: true
            0x18, 2, b'a', b'b', // 2: text
            0x19, 0x25, 6, 1, // 3: list of 3, -1
            0x1c, 0x07, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0x15, 8,
            0, // 4: structure of 6: float, 7: 4
            0x1b, 1, 0x58, 2, 1, b'x', // 5: map of 1 to text
            0x19, 0x1c, 0, // 6: list of an empty structure
            0,
        ];
        let want = [
            (vec![3], Some(3)),
            (vec![3], Some(-1)),
            (vec![4, 7], Some(4)),
            (vec![4], None),
            (vec![5], Some(1)),
            (vec![6], None),
            (vec![], None),
        ];
        assert_eq!(seen(&bytes).unwrap(), want);
        for n in 0..bytes.len() {
            assert_eq!(seen(&bytes[..n]), None, "{n}");
        }
    }

    #[test]
    fn lengths_and_levels_are_not_believed() {
        assert_eq!(seen(&[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0]), None);
        assert_eq!(seen(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0]), None);
        assert_eq!(seen(&vec![0x1c; 1 << 20]), None);
        assert_eq!(seen(&vec![0x19; 1 << 20]), None);
    }
}
