//! `for i in progress(range(n))`: how far a loop is, once it takes longer than a second.

use std::rc::Rc;
use std::time::Duration;

use rhai::Dynamic;

use super::registry::Registry;
use crate::fault::fault;
use crate::value::range::Range;
use crate::value::type_name;
use crate::world::host::Host;

/// Quiet at first, and between two reports.
const PATIENCE: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);
/// Characters of the bar.
const WIDTH: usize = 30;

/// Items of a loop, counted as they are taken.
#[derive(Clone)]
struct Progress {
    items: Items,
    host: Rc<dyn Host>,
}

/// Where the items come from; a range makes them one by one.
#[derive(Clone)]
enum Items {
    List(Rc<rhai::Array>),
    Range(Range),
}

impl Items {
    fn n(&self) -> u64 {
        match self {
            Self::List(list) => list.len() as u64,
            Self::Range(range) => range.n(),
        }
    }

    fn get(&self, i: u64) -> Option<Dynamic> {
        match self {
            Self::List(list) => list.get(usize::try_from(i).ok()?).cloned(),
            Self::Range(range) if i < range.n() => {
                let offset = range.step.wrapping_mul(i.cast_signed());
                Some(range.start.wrapping_add(offset).into())
            }
            Self::Range(_) => None,
        }
    }
}

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "progress",
        "(list)",
        "The items of a list or range for a loop, with a bar on a terminal or in a notebook once it takes longer \
         than a second.\n\n\
         >> s = 0; for i in progress(range(4)) { s += i }; s\n6",
    );
    registry.any("progress", 1, |context, _, args| {
        let items = if let Some(list) = args[0].read_lock::<rhai::Array>() {
            Items::List(Rc::new(list.clone()))
        } else if let Some(range) = args[0].read_lock::<Range>() {
            Items::Range(*range)
        } else if let Some(range) = args[0].read_lock::<std::ops::Range<i64>>() {
            Items::Range(Range { start: range.start, stop: range.end, step: 1 })
        } else {
            let got = type_name(args[0]);
            return Err(fault(format!(
                "progress: got {got}, expected a list or a range: progress(range(10))"
            )));
        };
        Ok(Progress { items, host: context.host.clone() })
    });
    registry.engine.register_type_with_name::<Progress>("progress");
    registry.engine.register_iterator::<Progress>();
}

impl IntoIterator for Progress {
    type Item = Dynamic;
    type IntoIter = Taken;

    fn into_iter(self) -> Taken {
        let start = self.host.clock();
        Taken { progress: self, next: 0, start, reported: None }
    }
}

/// What is left of the items.
struct Taken {
    progress: Progress,
    next: u64,
    start: Duration,
    reported: Option<Duration>,
}

impl Iterator for Taken {
    type Item = Dynamic;

    fn next(&mut self) -> Option<Dynamic> {
        let now = self.progress.host.clock();
        let due = match self.reported {
            None => now.saturating_sub(self.start) >= PATIENCE,
            Some(last) => now.saturating_sub(last) >= EVERY,
        };
        let item = self.progress.items.get(self.next);
        if due && item.is_some() {
            self.reported = Some(now);
            let spent = now.saturating_sub(self.start);
            self.progress.host.progress(&bar(self.next, self.progress.items.n(), spent));
        }
        self.next += 1;
        item
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.reported.is_some() {
            // Nothing is left of the bar.
            self.progress.host.progress("");
        }
    }
}

/// `  42 % |============                  | 42 of 100, 3 s, 4 s left`
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "characters of a bar, percents, seconds"
)]
fn bar(done: u64, n: u64, spent: Duration) -> String {
    let part = done as f64 / n.max(1) as f64;
    let filled = "=".repeat((part * WIDTH as f64) as usize);
    let left = match done {
        0 => String::new(),
        _ => {
            let left = spent.as_secs_f64() * (1.0 - part) / part;
            format!(", {} left", time(left.round() as u64))
        }
    };
    let (percent, spent) = (part * 100.0, time(spent.as_secs()));
    format!("{percent:>3.0} % |{filled:<WIDTH$}| {done} of {n}, {spent}{left}")
}

fn time(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        let blank = " ".repeat(WIDTH);
        assert_eq!(bar(0, 4, Duration::from_secs(1)), format!("  0 % |{blank}| 0 of 4, 1 s"));
        let half = "=".repeat(WIDTH / 2) + &*" ".repeat(WIDTH / 2);
        assert_eq!(
            bar(2, 4, Duration::from_secs(3)),
            format!(" 50 % |{half}| 2 of 4, 3 s, 3 s left")
        );
        assert!(bar(1, 1000, Duration::from_secs(80)).ends_with("1 min 20 s, 22 h 12 min left"));
    }
}
