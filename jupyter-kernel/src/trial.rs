//! Whether a kernelspec starts: it is started as Jupyter does, and asked to end.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::connection_file::ConnectionFile;
use crate::socket::leave_message;
use crate::wire::Wire;

/// How long a kernel may take to start and to end, and how often somebody looks.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(10);
/// Bytes that are read of what it says.
const MOST_SAID: u64 = 1 << 20;

/// Starts what a kernelspec says, until somebody stops it; what it warned of, or why it did not start.
pub(crate) fn start(spec: &Value, is_stopped: &AtomicBool) -> Result<String, String> {
    let path = env::temp_dir().join(format!("porcini-doctor-{}.json", Uuid::new_v4().simple()));
    let said = start_with(&path, spec, is_stopped);
    drop(remove_file(&path));
    let (status, said) = said.map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(reason(&said).into());
    }
    let warnings = said.lines().filter(|line| line.contains("warning: "));
    Ok(warnings.collect::<Vec<_>>().join("\n"))
}

/// How a kernel ended that was asked to, and what it said.
fn start_with(
    path: &Path,
    spec: &Value,
    is_stopped: &AtomicBool,
) -> io::Result<(ExitStatus, String)> {
    let connection = connection()?.to_string();
    let mut file = own_file(path)?;
    // Kernels remove what is left of others, and that is not locked.
    drop(file.try_lock());
    file.write_all(connection.as_bytes())?;
    let connection = ConnectionFile::parse(&connection).map_err(io::Error::other)?;
    let end = json!({"restart": false});
    let end = Wire::new(&connection.key).write(&[], "shutdown_request", &Value::Null, &end);
    // On shell, where cells are answered. The kernel need not be there.
    let sent = leave_message(&connection.address(connection.shell_port), end)?;
    // No pipe: what the kernel has started may hold it open.
    let told = path.with_extension("said");
    let (said, heard) = (own_file(&told)?, File::open(&told));
    remove_file(&told)?;
    let kernel = command(spec, path).stderr(said).spawn()?;
    let status = wait(kernel, is_stopped)?;
    drop(sent);
    let mut bytes = Vec::new();
    heard?.take(MOST_SAID).read_to_end(&mut bytes)?;
    Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
}

/// A new file that nobody else reads.
fn own_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Channels at ports that nobody listens at, as Jupyter finds them.
fn connection() -> io::Result<Value> {
    let listeners: io::Result<Vec<_>> =
        (0..5).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect();
    let listeners = listeners?;
    let ports = listeners.iter().map(|one| Ok(one.local_addr()?.port()));
    let ports = ports.collect::<io::Result<Vec<_>>>()?;
    Ok(json!({
        "transport": "tcp", "ip": "127.0.0.1", "key": Uuid::new_v4().simple().to_string(),
        "shell_port": ports[0], "iopub_port": ports[1], "stdin_port": ports[2],
        "control_port": ports[3], "hb_port": ports[4],
    }))
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
        .stdout(Stdio::null());
    command
}

/// Waits for the end of a kernel, or ends it.
fn wait(mut kernel: Child, is_stopped: &AtomicBool) -> io::Result<ExitStatus> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = kernel.try_wait()? {
            return Ok(status);
        }
        let is_stopped = is_stopped.load(Ordering::Relaxed);
        if is_stopped || Instant::now() >= end {
            drop(kernel.kill().and_then(|()| kernel.wait()));
            let late = format!("it has not answered for {} s", PATIENCE.as_secs());
            return Err(io::Error::other(if is_stopped { "stopped".into() } else { late }));
        }
        thread::sleep(LOOK);
    }
}

/// Why arguments are not taken, without what a program says of its use.
pub(crate) fn reason(said: &str) -> &str {
    said.split("\n\nUsage:").next().unwrap_or(said).trim_start_matches("error: ").trim()
}
