//! `porcini doctor`: what was found on this machine, and what to do about what was not.

mod gpu;

use std::io::IsTerminal;
use std::path::PathBuf;

use porcini_core::device::{self, Isa};
use porcini_core::memory::caching_allocator::Bytes;
use porcini_script::{Interpreter, Options};

use crate::{print, settings};

/// A line of the report: what, what was found, and advice if something is missing.
struct Finding {
    what: String,
    found: String,
    advice: Option<String>,
}

/// Prints the report; 0 if nothing needs attention, else 1.
pub(crate) fn run(host: std::rc::Rc<dyn porcini_script::Host>, options: &Options) -> u8 {
    let mut findings = vec![finding("version", env!("CARGO_PKG_VERSION"))];
    findings.extend(devices(host.clone(), options));
    findings.extend(gpu::findings(&*host));
    findings.push(ranks());
    findings.push(terminal());
    findings.extend(files());
    let mut code = 0;
    for finding in findings {
        print::value(&format!("{:<10} {}", finding.what, finding.found));
        if let Some(advice) = finding.advice {
            print::value(&format!("{:<10} = help: {advice}", ""));
            code = 1;
        }
    }
    code
}

fn finding(what: &str, found: impl Into<String>) -> Finding {
    Finding { what: what.into(), found: found.into(), advice: None }
}

fn devices(host: std::rc::Rc<dyn porcini_script::Host>, options: &Options) -> Vec<Finding> {
    let names = Isa::ALL.into_iter().filter(|isa| isa.is_available()).map(|isa| isa.to_string());
    let mut findings = vec![finding("processor", names.collect::<Vec<_>>().join(", "))];
    findings.extend(device::gives_executable_memory().map(code));
    match Interpreter::new(host, options) {
        Ok(interpreter) => {
            let session = interpreter.session();
            findings.push(finding("device", session.device_name()));
            // That of a GPU is known when it is opened.
            let limit = session.memory_info().limit;
            if limit > 0 {
                findings.push(finding("memory", format!("{} for arrays", Bytes(limit))));
            }
        }
        Err(error) => findings.push(Finding {
            what: "device".into(),
            found: error.message.clone(),
            advice: error.hints.first().cloned().or_else(|| Some("porcini --device cpu".into())),
        }),
    }
    findings
}

/// Whether compiled code can run.
fn code(is_given: bool) -> Finding {
    if is_given {
        return finding("code", "kernels are compiled");
    }
    let found = "the system refuses executable memory; kernels are interpreted, which is slower";
    let advice = "allow it: systemd has MemoryDenyWriteExecute, SELinux deny_execmem, containers a seccomp profile";
    Finding { what: "code".into(), found: found.into(), advice: Some(advice.into()) }
}

/// What launchers of MPI would find.
fn ranks() -> Finding {
    let libraries = device::mpi_libraries();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |name: &&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let launchers: Vec<&str> = ["mpirun", "mpiexec", "srun"].into_iter().filter(is_there).collect();
    let or_none = |names: Vec<&str>| match names.is_empty() {
        true => "none".to_string(),
        false => names.join(", "),
    };
    let (launchers, libraries) = (or_none(launchers), or_none(libraries));
    let gpus = if device::has_cuda() { "; with --device cuda each has a GPU" } else { "" };
    finding(
        "ranks",
        format!(
            "launchers {launchers}; libraries of MPI {libraries}; --ranks N needs neither{gpus}"
        ),
    )
}

fn terminal() -> Finding {
    let term = std::env::var("TERM").unwrap_or_else(|_| "unset".into());
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    let found = format!(
        "input {}, output {}, TERM {term}, {} columns, colour {}",
        yes(std::io::stdin().is_terminal()),
        yes(std::io::stdout().is_terminal()),
        print::width(),
        yes(print::colours(&std::io::stdout())),
    );
    finding("terminal", found)
}

/// A history that has no folder.
fn unkept(why: String) -> Finding {
    let found = "it is not kept".into();
    Finding { what: "history".into(), found, advice: Some(why) }
}

fn files() -> Vec<Finding> {
    let known = |what: &'static str, path: Option<PathBuf>| match path {
        Some(path) => {
            let state = if path.exists() { "" } else { " (not there yet)" };
            finding(what, format!("{}{state}", path.display()))
        }
        None => Finding {
            what: what.into(),
            found: "no folder".into(),
            advice: Some("set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME".into()),
        },
    };
    let mut findings = vec![
        known("settings", settings::config_file()),
        known("init", settings::init_file()),
        settings::history_file().map_or_else(unkept, |file| known("history", file)),
    ];
    let wrong = settings::config_file().map(|file| settings::Settings::read(&file).1);
    let wrong = wrong.filter(|wrong| !wrong.is_empty());
    if let (Some(wrong), Some(settings)) = (wrong, findings.first_mut()) {
        settings.advice = Some(wrong.join("; "));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn refused_memory_is_told() {
        assert_eq!(code(true).advice, None);
        let refused = code(false);
        assert!(refused.found.contains("interpreted") && refused.advice.is_some());
    }
}
