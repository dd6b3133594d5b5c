//! Which GPUs of a host are to be one device.

use std::fmt;
use std::str::FromStr;

/// GPUs that a device has at most.
const MOST: usize = 16;

/// Numbers of GPUs, or all that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpus {
    numbers: [u8; MOST],
    /// How many; 0 for all.
    n: u8,
}

impl Gpus {
    /// All GPUs of the host.
    pub const ALL: Self = Self { numbers: [0; MOST], n: 0 };

    /// The numbers, where there are so many GPUs.
    pub fn numbers(self, there: u32) -> Vec<u32> {
        match self.n {
            0 => (0..there).take(MOST).collect(),
            n => self.numbers[..usize::from(n)].iter().copied().map(u32::from).collect(),
        }
    }
}

impl FromStr for Gpus {
    type Err = ();

    /// `*`, `0-3`, `0,2`, or both: `0-1,4`.
    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "*" {
            return Ok(Self::ALL);
        }
        let mut gpus = Self::ALL;
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let [first, last] = [first, last].map(str::parse::<u8>);
            let numbers = first.map_err(|_| ())?..=last.map_err(|_| ())?;
            if numbers.is_empty() {
                return Err(());
            }
            for number in numbers {
                *gpus.numbers.get_mut(usize::from(gpus.n)).ok_or(())? = number;
                gpus.n += 1;
            }
        }
        Ok(gpus)
    }
}

impl fmt::Display for Gpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = &self.numbers[..usize::from(self.n)];
        let is_row = numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        match numbers {
            [] => f.write_str("*"),
            [one] => write!(f, "{one}"),
            [first, .., last] if is_row => write!(f, "{first}-{last}"),
            [first, others @ ..] => {
                write!(f, "{first}")?;
                others.iter().try_for_each(|number| write!(f, ",{number}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_shown() {
        let shown = |text: &str| text.parse::<Gpus>().map(|gpus| gpus.to_string());
        for text in ["*", "0", "0-3", "0,2", "3,1", "0,0"] {
            assert_eq!(shown(text).as_deref(), Ok(text));
        }
        assert_eq!(shown("0-1,2").as_deref(), Ok("0-2"));
        assert_eq!(shown("0-1,4").as_deref(), Ok("0,1,4"));
        for text in ["", "a", "3-1", "0-", "-1", "0,", "0-16", "0-255", "256", "0 1"] {
            assert_eq!(shown(text), Err(()), "{text}");
        }
        assert_eq!(Gpus::ALL.numbers(2), [0, 1]);
        assert_eq!("1-2".parse::<Gpus>().unwrap().numbers(8), [1, 2]);
    }
}
