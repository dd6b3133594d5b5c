//! The `porcini-jupyter` binary.
//!
//! This version reads the connection file and says which channels it was asked to open; the channels
//! themselves are not part of it yet (CHANGELOG, "Known limits"). The interpreter behind them is the one
//! of the shell.

mod connection_file;

use std::io::Write as _;
use std::process::ExitCode;

use connection_file::ConnectionFile;

const USAGE: &str = "usage: porcini-jupyter CONNECTION_FILE | --version";
/// Exit code of wrong usage.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let (text, code) = match argument.as_deref() {
        Some("--version") => {
            let version = format!("porcini-jupyter {}\n", env!("CARGO_PKG_VERSION"));
            return match std::io::stdout().write_all(version.as_bytes()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            };
        }
        Some(path) => (describe(path), 1),
        None => (USAGE.into(), WRONG_USAGE),
    };
    // Without standard error there is nobody to tell.
    drop(writeln!(std::io::stderr(), "{text}"));
    ExitCode::from(code)
}

/// What the connection file asks for, and why nothing is served.
fn describe(path: &str) -> String {
    let json = match std::fs::read_to_string(path) {
        Ok(json) => json,
        Err(error) => return format!("{path}: {error}\n{USAGE}"),
    };
    match ConnectionFile::parse(&json) {
        Ok(file) => {
            let channels = [
                ("shell", file.shell_port),
                ("control", file.control_port),
                ("iopub", file.iopub_port),
                ("stdin", file.stdin_port),
                ("heartbeat", file.heartbeat_port),
            ];
            let channels = channels.map(|(name, port)| format!("{name} {}", file.address(port)));
            let signing = if file.key.is_empty() { "unsigned" } else { "signed" };
            format!(
                "asked for {} ({signing}); this version has no notebook channels, use the shell: porcini",
                channels.join(", ")
            )
        }
        Err(error) => format!("{path}: {error}"),
    }
}
