//! The processor to compile for, and the head of a module for it.

/// The processor to compile for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// 75 for `sm_75`.
    pub compute_capability: u32,
    /// Version of the PTX language; it must know the processor.
    pub ptx_version: (u32, u32),
}

impl Target {
    /// The oldest processor supported, and what is printed where no device says otherwise. Version 7.0
    /// is the first that also knows `sm_80`, and older drivers take it.
    pub const SM_75: Self = Self { compute_capability: 75, ptx_version: (7, 0) };

    /// The best target for a processor: the newest that the language of the oldest supported driver knows;
    /// the driver takes it on to newer ones.
    pub fn of_device(compute_capability: u32) -> Self {
        let known = [90, 89, 87, 86, 80].into_iter().find(|&known| known <= compute_capability);
        Self { compute_capability: known.unwrap_or(75), ptx_version: (8, 0) }
    }

    /// The lines before the entries of a module.
    pub fn header(self) -> String {
        let Self { compute_capability, ptx_version: (major, minor) } = self;
        format!(".version {major}.{minor}\n.target sm_{compute_capability}\n.address_size 64\n\n")
    }
}
