//! A device as it was asked for, which several processes may share.

use std::str::FromStr;

use porcini_core::device::{Launched, RanksOn};
use porcini_core::{DeviceChoice, Error};

/// A device that somebody named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    device: DeviceChoice,
    /// `cuda`, not `cuda:0`: each of several processes has a GPU of its own then.
    is_some_gpu: bool,
}

impl FromStr for Asked {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(Self { device: name.parse()?, is_some_gpu: name == "cuda" })
    }
}

impl Asked {
    /// Whether it is a device of one process alone.
    pub(crate) fn is_own(self) -> bool {
        !self.is_some_gpu
    }

    /// What each of several processes computes on, if these can share it.
    fn each(self) -> Option<RanksOn> {
        match self.device {
            _ if self.is_some_gpu => Some(RanksOn::Gpus),
            DeviceChoice::Auto | DeviceChoice::Cpu => Some(RanksOn::Processors),
            _ => None,
        }
    }
}

/// The device of `--ranks N` beside what was asked for.
pub(crate) fn of_ranks(ranks: u16, asked: Option<Asked>) -> Result<DeviceChoice, String> {
    let on = asked.map_or(Ok(RanksOn::Processors), |asked| {
        let refused = || {
            let device = asked.device;
            format!("--ranks: each computes on processors, or with --device cuda on a GPU, and not on {device}")
        };
        asked.each().ok_or_else(refused)
    });
    Ok(DeviceChoice::ranks(ranks, on?))
}

/// The device of one process, or of all that a launcher has started if these can share it.
pub(crate) fn of_processes(launched: Option<Launched>, asked: Option<Asked>) -> DeviceChoice {
    let each = asked.map_or(Some(RanksOn::Processors), Asked::each);
    match launched.zip(each) {
        Some((launched, on)) => DeviceChoice::launched(launched, on),
        None => asked.map_or(DeviceChoice::Auto, |asked| asked.device),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_share_what_no_number_names() {
        let launched = Launched::of(|name| match name {
            "PMI_RANK" => Some("1".into()),
            "PMI_SIZE" => Some("4".into()),
            _ => None,
        });
        let launched = launched.unwrap();
        let each = |name: Option<&str>| {
            let asked = name.map(|name| name.parse::<Asked>().unwrap());
            let shared = of_processes(Some(launched), asked).to_string();
            (shared, of_ranks(2, asked).map(|device| device.to_string()).ok())
        };
        for name in [None, Some("auto"), Some("cpu")] {
            assert_eq!(each(name), ("mpi:4".into(), Some("ranks:2".into())), "{name:?}");
        }
        assert_eq!(each(Some("cuda")), ("mpi:4:cuda".into(), Some("ranks:2:cuda".into())));
        for name in ["cuda:0", "cuda:1", "cpu:2", "ranks:3"] {
            assert_eq!(each(Some(name)), (name.into(), None));
        }
        assert_eq!(of_processes(None, Some("cuda".parse().unwrap())), DeviceChoice::Cuda(0));
        assert_eq!(of_processes(None, None), DeviceChoice::Auto);
    }
}
