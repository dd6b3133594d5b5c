//! What the report says about GPUs: the driver, each GPU, compiled kernels on disk, programs that show machine code.
//! No GPU is opened, and a driver that does not answer is not waited for without end.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use porcini_core::device::{
    CACHE_LIMIT, DiskCache, GpuInfo, OLDEST_CAPABILITY, Survey, has_cuda, survey_cuda,
};
use porcini_core::memory::caching_allocator::Bytes;
use porcini_script::Host;

use super::{Finding, finding};

/// A driver that takes longer is broken: a sound one starts in a second.
const PATIENCE: Duration = Duration::from_secs(10);
/// NVIDIA, as devices on the PCI bus name their maker.
const NVIDIA: &str = "0x10de";

pub(super) fn findings(host: &dyn Host) -> Vec<Finding> {
    let mut findings = driver();
    findings.push(kernels(host));
    findings.push(machine_code(host));
    findings.push(cublas(host));
    findings.push(nvrtc(host));
    findings.push(nccl(host));
    findings
}

fn driver() -> Vec<Finding> {
    let none = |reason: &str, advice: Option<&str>| {
        let found = format!("none: {reason}");
        vec![Finding { what: "cuda".into(), found, advice: advice.map(Into::into) }]
    };
    if !has_cuda() {
        let library = "the driver's library, libcuda.so.1, is not there";
        return if Path::new("/proc/driver/nvidia/version").exists() {
            none(
                library,
                Some("the system has a driver; start the container with its GPUs (--gpus all)"),
            )
        } else if is_on_bus(Path::new("/sys/bus/pci/devices")) {
            none(library, Some("there is an NVIDIA GPU; install its driver, 525 or newer"))
        } else {
            none(library, None)
        };
    }
    let (sender, answer) = mpsc::channel();
    // The thread may be left behind, so nobody may be there for its answer.
    let ask = move || drop(sender.send(survey_cuda()));
    if let Err(error) = std::thread::Builder::new().spawn(ask) {
        let advice = "more processes (ulimit -u), or more memory (ulimit -v)";
        return none(&format!("no thread to ask the driver: {error}"), Some(advice));
    }
    match answer.recv_timeout(PATIENCE) {
        Ok(Ok(survey)) => survey_findings(survey),
        Ok(Err(reason)) => {
            none(&reason, Some("nvidia-smi tells more; --device cpu works meanwhile"))
        }
        Err(_) => none(
            &format!("the driver did not answer in {} s", PATIENCE.as_secs()),
            Some("restart the machine, or reinstall the driver; --device cpu works meanwhile"),
        ),
    }
}

fn survey_findings(survey: Survey) -> Vec<Finding> {
    let mut findings = vec![finding("cuda", format!("driver {}", survey.driver))];
    for (number, gpu) in survey.gpus.into_iter().enumerate() {
        let what = format!("cuda:{number}");
        findings.push(match gpu {
            Ok(gpu) => described(what, &gpu),
            Err(found) => Finding { what, found, advice: Some("nvidia-smi tells more".into()) },
        });
    }
    match findings.len() {
        1 => findings.push(finding("", "no GPU; kernels run on the processor")),
        2 => {}
        _ => findings.push(together(survey.apart)),
    }
    findings
}

/// Several GPUs as one device.
fn together(apart: Option<[usize; 2]>) -> Finding {
    let how = match apart {
        None => "all reach each other's memory".into(),
        Some([one, other]) => {
            format!("cuda:{one} and cuda:{other} copy over the bus, which is slow")
        }
    };
    finding("cuda:*", format!("all GPUs as one device; {how}"))
}

fn described(what: String, gpu: &GpuInfo) -> Finding {
    let GpuInfo { name, compute_capability, memory } = gpu;
    let (major, minor) = (compute_capability / 10, compute_capability % 10);
    let found = format!("{name}, compute capability {major}.{minor}, {}", Bytes(*memory));
    let too_old = *compute_capability < OLDEST_CAPABILITY;
    Finding { what, found, advice: too_old.then(|| "7.5 is needed; use --device cpu".into()) }
}

/// Whether a PCI device is a display or computing device of NVIDIA.
fn is_on_bus(devices: &Path) -> bool {
    let is_gpu = |device: &Path| {
        let says = |file: &str, start: &str| {
            std::fs::read_to_string(device.join(file)).is_ok_and(|text| text.starts_with(start))
        };
        says("vendor", NVIDIA) && (says("class", "0x03") || says("class", "0x12"))
    };
    std::fs::read_dir(devices).is_ok_and(|it| it.flatten().any(|entry| is_gpu(&entry.path())))
}

fn kernels(host: &dyn Host) -> Finding {
    let what = "kernels";
    let Some(folder) = host.cache_folder() else {
        let advice = Some("set HOME or PORCINI_CACHE_DIR".into());
        let found = "those of GPUs are not kept: no folder".into();
        return Finding { what: what.into(), found, advice };
    };
    let place = folder.display().to_string();
    match DiskCache::new(folder, CACHE_LIMIT).check() {
        Ok(bytes) => {
            finding(what, format!("{place}, {} of at most {}", Bytes(bytes), Bytes(CACHE_LIMIT)))
        }
        Err(error) => Finding {
            what: what.into(),
            found: format!("{place}: {error}; those of GPUs are compiled by each process"),
            advice: Some("set PORCINI_CACHE_DIR to a folder of your own".into()),
        },
    }
}

fn machine_code(host: &dyn Host) -> Finding {
    let toolkit = host.toolkit();
    let found = ["ptxas", "nvdisasm"].map(|name| match toolkit.find(name) {
        Ok(file) => file.display().to_string(),
        Err(_) => format!("no {name}"),
    });
    let [ptxas, nvdisasm] = &found;
    let missing = found.iter().any(|it| it.starts_with("no "));
    let remedy = "; for sass(x): pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm";
    finding("toolkit", format!("{ptxas}, {nvdisasm}{}", if missing { remedy } else { "" }))
}

fn cublas(host: &dyn Host) -> Finding {
    let found = host.toolkit().cublas().first().map_or_else(
        || "none; for set_flag(\"tensor_cores\", true): pip install nvidia-cublas".into(),
        |file| file.display().to_string(),
    );
    finding("cuBLAS", found)
}

fn nvrtc(host: &dyn Host) -> Finding {
    let found = host.toolkit().nvrtc().first().map_or_else(
        || "none; for cuda_module(source): pip install nvidia-cuda-nvrtc".into(),
        |file| file.display().to_string(),
    );
    finding("NVRTC", found)
}

fn nccl(host: &dyn Host) -> Finding {
    let toolkit = host.toolkit();
    let found = match toolkit.nccl() {
        Some(file) if file.is_file() => file.display().to_string(),
        Some(file) => format!("{}, as PORCINI_NCCL says, which is not there", file.display()),
        None if toolkit.is_without_nccl() => "none, as PORCINI_NCCL says".into(),
        None => "none; for long arrays between GPUs of several ranks: pip install nvidia-nccl-cu13"
            .into(),
    };
    finding("NCCL", found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_found_on_the_bus() {
        let bus = tempfile::tempdir().unwrap();
        assert!(!is_on_bus(&bus.path().join("nowhere")) && !is_on_bus(bus.path()));
        let add = |name: &str, vendor: &str, class: &str| {
            let device = bus.path().join(name);
            std::fs::create_dir(&device).unwrap();
            std::fs::write(device.join("vendor"), vendor).unwrap();
            std::fs::write(device.join("class"), class).unwrap();
        };
        add("0", "0x8086\n", "0x030000\n");
        add("1", "0x10de\n", "0x040300\n");
        assert!(!is_on_bus(bus.path()), "a sound card");
        add("2", "0x10de\n", "0x030200\n");
        assert!(is_on_bus(bus.path()));
    }

    #[test]
    fn what_is_found_is_told() {
        let gpu = |name: &str, compute_capability, memory| {
            Ok(GpuInfo { name: name.into(), compute_capability, memory })
        };
        let gpus = vec![gpu("H200", 90, 141 << 30), gpu("P4", 61, 8 << 30), Err("silent".into())];
        let apart = Some([0, 1]);
        let told = survey_findings(Survey { driver: "580.1 (CUDA 13.0)".into(), gpus, apart });
        let lines = told.iter().map(|it| format!("{} {}", it.what, it.found)).collect::<Vec<_>>();
        let want = [
            "cuda driver 580.1 (CUDA 13.0)",
            "cuda:0 H200, compute capability 9.0, 141 GiB",
            "cuda:1 P4, compute capability 6.1, 8 GiB",
            "cuda:2 silent",
            "cuda:* all GPUs as one device; cuda:0 and cuda:1 copy over the bus, which is slow",
        ];
        assert_eq!(lines, want);
        let advised = told.iter().map(|it| it.advice.is_some()).collect::<Vec<_>>();
        assert_eq!(advised, [false, false, true, true, false]);
        let none = Survey { driver: String::new(), gpus: Vec::new(), apart: None };
        assert_eq!(survey_findings(none).len(), 2);
    }
}
