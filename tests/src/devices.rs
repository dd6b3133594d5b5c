//! The devices on which random programs run.

use std::sync::{Arc, OnceLock};

use porcini_core::backend::isa::Isa;
use porcini_core::{DeviceChoice, Runtime};

use crate::in_place::InPlace;

/// A device.
pub struct Device {
    /// What it is called in reports.
    pub name: String,
    /// Where it runs.
    pub runtime: Arc<Runtime>,
}

/// One that works in place, then the interpreter and the compiler at every width that this processor has,
/// on one thread or two.
///
/// # Panics
/// If one of them cannot be opened.
pub fn devices() -> &'static [Device] {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let widths = || Isa::ALL.into_iter().filter(|isa| isa.is_available());
        let interpreters = widths().map(DeviceChoice::Interp).zip([1, 2, 1]);
        let compilers = widths().filter(|&isa| isa != Isa::Baseline).map(DeviceChoice::Compiled);
        let compilers = compilers.flat_map(|choice| [(choice, 1), (choice, 2)]);
        let open = |(choice, threads)| Device {
            name: format!("{choice:?}, {threads} threads"),
            runtime: Runtime::new(choice, threads, None).expect("a device that is available"),
        };
        let in_place = Device {
            name: "in place".into(),
            runtime: Runtime::on(Arc::new(InPlace::new(Arc::default())), None),
        };
        std::iter::once(in_place).chain(interpreters.chain(compilers).map(open)).collect()
    })
}
