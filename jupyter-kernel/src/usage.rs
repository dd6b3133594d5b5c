//! What the kernel takes of the machine, for `usage_request`: jupyter-resource-usage shows it.
//!
//! **Source**: ipykernel's reply to that request.

use std::cell::Cell;
use std::num::NonZero;
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::system::uname;
use serde_json::{Value, json};

/// Remembers what was told before: a share of a processor is one since then.
#[derive(Default)]
pub(crate) struct Usage {
    last: Cell<Option<(Instant, Duration)>>,
}

impl Usage {
    /// The content of `usage_reply`.
    pub(crate) fn reply(&self) -> Value {
        json!({
            "hostname": uname().nodename().to_string_lossy(),
            "pid": process::id(),
            "kernel_cpu": self.percent(Instant::now(), processor_time()),
            "kernel_memory": resident(),
            "cpu_count": thread::available_parallelism().map_or(1, NonZero::get),
            "host_virtual_memory": host_memory(),
        })
    }

    /// Percent of a processor since the last time, for which the processors have worked so long.
    fn percent(&self, now: Instant, worked: Duration) -> f64 {
        let Some((then, before)) = self.last.replace(Some((now, worked))) else { return 0.0 };
        let passed = now.saturating_duration_since(then).as_secs_f64();
        let taken = worked.saturating_sub(before).as_secs_f64();
        if passed > 0.0 { 100.0 * taken / passed } else { 0.0 }
    }
}

/// How long processors have worked for this process; nothing where the system does not tell.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name of the program, which may hold anything: the state, ten more, then time of its own and the system's.
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / clock_ticks_per_second().max(1))
}

/// Bytes of memory that this process has.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * page_size() as u64
}

/// Memory of the machine, in bytes.
fn host_memory() -> Value {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 =
            line.trim_start_matches(':').split_whitespace().next()?.parse().ok()?;
        Some(kibibytes << 10)
    };
    let [total, free, available] =
        ["MemTotal", "MemFree", "MemAvailable"].map(|name| bytes(name).unwrap_or(0));
    let used = total.saturating_sub(available);
    let percent = 100 * used / total.max(1);
    json!({"total": total, "available": available, "percent": percent, "used": used, "free": free})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_a_share_of_the_time_since_the_last_request() {
        let (usage, start) = (Usage::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let worked = Duration::from_secs;
        let told =
            [(0, 5), (4, 7), (4, 9), (8, 17)].map(|(s, w)| usage.percent(after(s), worked(w)));
        assert_eq!(told, [0.0, 50.0, 0.0, 200.0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells() {
        let told = Usage::default().reply();
        assert!(told["kernel_memory"].as_u64() > Some(1 << 20), "{told}");
        let memory = |name: &str| told["host_virtual_memory"][name].as_u64().unwrap();
        assert!(memory("total") >= memory("available") && memory("available") > 0, "{told}");
        assert!(told["hostname"].is_string());
    }
}
