//! Whether a kernelspec starts: it is started as Jupyter does, and asked to end.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use serde_json::{Value, json};

use crate::connection_file::ConnectionFile;
use crate::socket::leave_message;
use crate::wire::Wire;

/// How long a kernel may take to start and to end, and how often somebody looks.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(10);

/// Starts what a kernelspec says; what it warned of, or why it did not start.
pub(crate) fn start(spec: &Value) -> Result<String, String> {
    let folder = env::temp_dir().join(format!("porcini-doctor-{}", process::id()));
    let made = DirBuilder::new().mode(0o700).create(&folder).map_err(|error| error.to_string());
    let said = made.and_then(|()| start_in(&folder, spec));
    drop(fs::remove_dir_all(folder));
    said
}

fn start_in(folder: &Path, spec: &Value) -> Result<String, String> {
    let path = folder.join("connection.json");
    let connection = connection(folder).to_string();
    let mut file = OpenOptions::new();
    let file = file.write(true).create_new(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(connection.as_bytes())).map_err(|e| e.to_string())?;
    let connection = ConnectionFile::parse(&connection).map_err(|error| error.to_string())?;
    let child = command(spec, &path).spawn().map_err(|error| error.to_string())?;
    let end = json!({"restart": false});
    let end = Wire::new(&connection.key).write(&[], "shutdown_request", &Value::Null, &end);
    // On shell, where cells are answered.
    let sent = leave_message(&connection.address(connection.shell_port), end);
    let said = wait(child);
    drop(sent);
    said
}

/// Channels that are files in a folder.
fn connection(folder: &Path) -> Value {
    json!({
        "transport": "ipc", "ip": folder.join("channel"), "key": uuid::Uuid::new_v4().simple().to_string(),
        "shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5,
    })
}

fn command(spec: &Value, connection: &Path) -> Command {
    let file = connection.display().to_string();
    let words = spec["argv"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut words = words.map(|word| word.replace("{connection_file}", &file));
    let mut command = Command::new(words.next().unwrap_or_default());
    let variables = spec["env"].as_object().into_iter().flatten();
    command
        .args(words)
        .envs(variables.filter_map(|(name, value)| Some((name, value.as_str()?))))
        .env("JPY_PARENT_PID", process::id().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Waits for the end of a kernel; what it warned of, or why it failed.
fn wait(mut kernel: Child) -> Result<String, String> {
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match kernel.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() < end => thread::sleep(LOOK),
            None => {
                drop(kernel.kill().and_then(|()| kernel.wait()));
                return Err(format!("it has not answered for {} s", PATIENCE.as_secs()));
            }
        }
    };
    let said = said(&mut kernel).map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(reason(&said).into());
    }
    let warnings = said.lines().filter(|line| line.contains("warning: "));
    Ok(warnings.collect::<Vec<_>>().join("\n"))
}

fn said(kernel: &mut Child) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = kernel.stderr.take() {
        stream.read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Why arguments are not taken, without what a program says of its use.
pub(crate) fn reason(said: &str) -> &str {
    said.split("\n\nUsage:").next().unwrap_or(said).trim_start_matches("error: ").trim()
}
