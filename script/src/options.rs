//! How an interpreter is set up, and what the environment says about it.

use std::sync::Arc;

use porcini_core::device::Isa;
#[cfg(unix)]
use porcini_core::device::{Rank, Toolkit};
pub use porcini_core::runtime::MOST_THREADS;
use porcini_core::{DeviceChoice, Runtime, Session};

use crate::world::bounds::Bounds;
#[cfg(unix)]
use crate::world::folders;

/// A process of so many threads as a rank, set up by its environment.
#[cfg(unix)]
pub fn rank(threads: usize, variable: impl Fn(&str) -> Option<String>) -> Rank {
    let rank = Rank::new(threads, &variable);
    rank.cache_folder(folders::of_kernels(&variable)).toolkit(Toolkit::new(&variable))
}

/// A variable of the process's environment. What is no UTF-8 shows as `\u{fffd}`, so that whoever reads it says that it is wrong.
pub fn environment_variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// How an interpreter is set up.
#[derive(Clone, Default)]
pub struct Options {
    /// Where kernels run.
    pub device: DeviceChoice,
    /// Threads that run kernels; by default one per processor.
    pub threads: Option<usize>,
    /// What is logged, 0–5.
    pub log_level: u8,
    /// Bytes of device memory that may be in use.
    pub memory_limit: Option<u64>,
    /// What starts the ranks of `ranks:N` elsewhere, as `srun -n {}`; by default they are processes of this machine.
    pub launcher: Option<String>,
    /// A device shared with other interpreters, in place of the three settings above it.
    pub runtime: Option<Arc<Runtime>>,
    /// A session whose arrays scripts share with somebody else, in place of all these settings.
    pub session: Option<Session>,
    /// Runs scripts that are not trusted, within bounds.
    pub sandbox: Option<Bounds>,
}

impl Options {
    /// Heeds the variables `PORCINI_THREADS`, `PORCINI_MEMORY_LIMIT`, `PORCINI_PARTS`, `PORCINI_CPU` and `PORCINI_LAUNCHER`; what is
    /// wrong with them, to be shown.
    pub fn read_environment(&mut self, variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.launcher.is_none() {
            self.launcher = variable("PORCINI_LAUNCHER").filter(|words| !words.trim().is_empty());
        }
        let threads = variable("PORCINI_THREADS").filter(|text| !text.trim().is_empty());
        if let Some(text) = threads.filter(|_| self.threads.is_none()) {
            let number = text.trim().parse::<u16>().ok();
            let number = number.filter(|number| (1..=MOST_THREADS).contains(number));
            self.threads = number.map(usize::from);
            if number.is_none() {
                warnings.push(format!(
                    "PORCINI_THREADS={text} is no number from 1 to {MOST_THREADS}; ignored"
                ));
            }
        }
        let limit = variable("PORCINI_MEMORY_LIMIT").filter(|text| !text.trim().is_empty());
        if let Some(text) = limit.filter(|_| self.memory_limit.is_none()) {
            self.memory_limit = parse_bytes(&text);
            if self.memory_limit.is_none() {
                warnings.push(format!(
                    "PORCINI_MEMORY_LIMIT={text} is no size (bytes, 512M, 1.5G); ignored"
                ));
            }
        }
        if let Some(parts) = variable("PORCINI_PARTS")
            && matches!(self.device, DeviceChoice::Auto | DeviceChoice::Cpu)
        {
            match format!("cpu:{parts}").parse() {
                Ok(device) => self.device = device,
                Err(error) => warnings.push(format!("PORCINI_PARTS={parts}: {error}; ignored")),
            }
        }
        let wanted = variable("PORCINI_CPU");
        if let Some(wanted) = wanted
            && matches!(self.device, DeviceChoice::Auto | DeviceChoice::Cpu)
        {
            match wanted.as_str() {
                "avx512" => self.device = DeviceChoice::Compiled(Isa::Avx512),
                "avx2" => self.device = DeviceChoice::Compiled(Isa::Avx2),
                "neon" => self.device = DeviceChoice::Compiled(Isa::Neon),
                "interp" => self.device = DeviceChoice::Interp(Isa::detect()),
                _ => warnings.push(format!(
                    "PORCINI_CPU={wanted} is none of avx512, avx2, neon, interp; ignored"
                )),
            }
        }
        warnings
    }
}

/// Bytes from `1048576`, `512M`, `1.5G`, `4GiB`. Parts of a byte are none.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let (number, unit) = text.split_at(text.find(|c| !is_digit(c)).unwrap_or(text.len()));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let shift = match unit.to_ascii_lowercase().trim() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    let is_split = shift == 0 && part.contains(|c| c != '0');
    if is_split || part.contains('.') || whole.len() + part.len() == 0 {
        return None;
    }
    let count = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u64>().ok() };
    // As many digits as fit beside the largest unit.
    let digits = part.get(..6).unwrap_or(part);
    let scale = digits.chars().fold(1, |scale: u64, _| scale * 10);
    count(whole)?.checked_mul(1 << shift)?.checked_add((count(digits)? << shift) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_units() {
        assert_eq!(parse_bytes("512M"), Some(512 << 20));
        assert_eq!(parse_bytes("4 GiB"), Some(4 << 30));
        assert_eq!(parse_bytes("100"), Some(100));
        assert_eq!(parse_bytes("1.5G"), Some(3 << 29));
        assert_eq!(parse_bytes("0.25 KiB"), Some(256));
        assert_eq!(parse_bytes(".5G"), Some(1 << 29));
        assert_eq!(parse_bytes("1."), Some(1));
        for wrong in ["4X", "1.5.2G", "1.1234567.8G", ".", "G", "1.5", ".5 B"] {
            assert_eq!(parse_bytes(wrong), None, "{wrong}");
        }
        assert_eq!(parse_bytes(""), None);
    }

    #[test]
    fn threads_of_the_environment_give_way_to_others() {
        let read = |threads: Option<usize>, text: &str| {
            let mut options = Options { threads, ..Options::default() };
            let variable = |name: &str| (name == "PORCINI_THREADS").then(|| text.to_string());
            let warnings = options.read_environment(variable);
            (options.threads, warnings)
        };
        assert_eq!(read(None, "3"), (Some(3), vec![]));
        assert_eq!(read(Some(2), "3"), (Some(2), vec![]));
        assert_eq!(read(None, " "), (None, vec![]));
        for wrong in ["0", "x", "-1", "99999"] {
            let (threads, warnings) = read(None, wrong);
            assert!(threads.is_none() && warnings[0].contains(wrong), "{warnings:?}");
        }
    }

    #[test]
    fn the_environment_is_heeded_or_named() {
        let read = |limit: &str, cpu: &str| {
            let mut options = Options::default();
            let given = [("PORCINI_MEMORY_LIMIT", limit), ("PORCINI_CPU", cpu)];
            let variable = |name: &str| {
                let found = given.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_string())
            };
            let warnings = options.read_environment(variable);
            (options.memory_limit, options.device, warnings)
        };
        assert_eq!(read("1G", "avx2"), (Some(1 << 30), DeviceChoice::Compiled(Isa::Avx2), vec![]));
        assert_eq!(read("1G", "neon").1, DeviceChoice::Compiled(Isa::Neon));
        assert_eq!(read(" ", "avx2").0, None);
        assert_eq!(read(" ", "avx2").2, Vec::<String>::new());
        let (limit, device, warnings) = read("much", "fast");
        assert_eq!((limit, device), (None, DeviceChoice::Auto));
        assert!(warnings[0].contains("much") && warnings[1].contains("fast"), "{warnings:?}");
    }
}
