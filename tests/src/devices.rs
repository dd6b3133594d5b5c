//! The devices on which random programs run.

use std::sync::{Arc, OnceLock};

use porcini_core::backend::isa::Isa;
use porcini_core::backend::queue::{Queue, Worth};
use porcini_core::backend::thread_pool::Pool;
use porcini_core::backend::{self, Outside};
use porcini_core::{DeviceChoice, Runtime};

use crate::in_place::InPlace;

/// A device.
pub struct Device {
    /// What it is called in reports.
    pub name: String,
    /// Where it runs.
    pub runtime: Arc<Runtime>,
}

/// The instruction sets of this processor that the compiler makes code for.
pub fn compiled() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|&isa| isa != Isa::Baseline && isa.is_available())
}

/// One that works in place, then the interpreter and the compiler at every width that this processor has,
/// on one thread or two, and at last one whose launches are in line for three.
///
/// # Panics
/// If one of them cannot be opened.
pub fn devices() -> &'static [Device] {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let widths = Isa::ALL.into_iter().filter(|isa| isa.is_available());
        let interpreters = widths.map(DeviceChoice::Interp).zip([1, 2, 1]);
        let compilers = compiled().map(DeviceChoice::Compiled);
        let compilers = compilers.flat_map(|choice| [(choice, 1), (choice, 2)]);
        let open = |(choice, threads)| Device {
            name: format!("{choice:?}, {threads} threads"),
            runtime: Runtime::new(choice, threads, None).expect("a device that is available"),
        };
        let in_place = Device {
            name: "in place".into(),
            runtime: Runtime::on(Arc::new(InPlace::new(Arc::default())), None),
        };
        // Every launch goes through the line, however short it is.
        let worth = Worth { handing_over: 0.0, sharing: 2e3 };
        let best = backend::open(DeviceChoice::Cpu, 1, &Outside::default());
        let pool = Arc::new(Pool::new(4));
        let line = Queue::with_worth(best.expect("the processor"), pool, worth);
        let line = Device { name: "in line".into(), runtime: Runtime::on(Arc::new(line), None) };
        let opened = interpreters.chain(compilers).map(open);
        std::iter::once(in_place).chain(opened).chain(std::iter::once(line)).collect()
    })
}
