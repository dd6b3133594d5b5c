//! The connection file with which Jupyter starts a kernel: where to listen and how to sign.
//!
//! **Source**: the Jupyter client documentation, "Making kernels for Jupyter", connection files.

use std::fs::Metadata;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

/// What of a file's mode lets others read it.
const OTHERS_READ: u32 = 0o044;

/// Addresses and key of the five channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionFile {
    pub(crate) transport: String,
    pub(crate) ip: String,
    pub(crate) shell_port: u16,
    pub(crate) control_port: u16,
    pub(crate) iopub_port: u16,
    pub(crate) stdin_port: u16,
    pub(crate) heartbeat_port: u16,
    /// HMAC key; empty if messages are not signed.
    pub(crate) key: String,
}

/// A connection file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    /// Not JSON.
    #[error("not a connection file: {0}")]
    Json(#[from] serde_json::Error),
    /// A field is absent or of the wrong type.
    #[error("connection file: {field} is missing or no {expected}")]
    Field { field: &'static str, expected: &'static str },
    /// A signature scheme other than Jupyter's default.
    #[error("connection file: signature scheme {scheme}, expected hmac-sha256")]
    Scheme { scheme: String },
}

impl ConnectionFile {
    /// Reads the JSON text of a connection file.
    pub(crate) fn parse(json: &str) -> Result<Self, ConnectionError> {
        let fields: Value = serde_json::from_str(json)?;
        let text = |field: &'static str| {
            let value = fields[field].as_str().map(str::to_string);
            value.ok_or(ConnectionError::Field { field, expected: "text" })
        };
        let port = |field: &'static str| {
            let value = fields[field].as_u64().and_then(|port| u16::try_from(port).ok());
            value.ok_or(ConnectionError::Field { field, expected: "port number" })
        };
        let key = text("key")?;
        let scheme = fields["signature_scheme"].as_str().unwrap_or("hmac-sha256");
        if scheme != "hmac-sha256" && !key.is_empty() {
            return Err(ConnectionError::Scheme { scheme: scheme.into() });
        }
        Ok(Self {
            transport: text("transport")?,
            ip: text("ip")?,
            shell_port: port("shell_port")?,
            control_port: port("control_port")?,
            iopub_port: port("iopub_port")?,
            stdin_port: port("stdin_port")?,
            heartbeat_port: port("hb_port")?,
            key,
        })
    }

    /// What lets others in who should not be, each with a remedy; `about` is the file that this was read from.
    pub(crate) fn warnings(&self, path: &Path, about: &Metadata) -> Vec<String> {
        let (file, mode) = (path.display(), about.permissions().mode() & 0o777);
        let is_loopback = self.ip.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        let mut warnings = Vec::new();
        if self.key.is_empty() {
            warnings.push(format!(
                "{file}: the key is empty: messages are not signed, and whoever reaches the ports runs code; give it one"
            ));
        } else if mode & OTHERS_READ != 0 {
            warnings.push(format!(
                "{file}: others can read the key (mode {mode:o}) and run code with it; chmod 600 {file}"
            ));
        }
        if self.transport == "tcp" && !is_loopback && self.ip != "localhost" {
            warnings.push(format!(
                "listens at {}, which other machines may reach: messages are not encrypted; use 127.0.0.1",
                self.ip
            ));
        }
        warnings
    }

    /// The address of a channel, as ZeroMQ writes it.
    pub(crate) fn address(&self, port: u16) -> String {
        let separator = if self.transport == "ipc" { '-' } else { ':' };
        format!("{}://{}{separator}{port}", self.transport, self.ip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"shell_port": 5001, "iopub_port": 5002, "stdin_port": 5003,
        "control_port": 5004, "hb_port": 5005, "ip": "127.0.0.1", "key": "a-b",
        "transport": "tcp", "signature_scheme": "hmac-sha256", "kernel_name": ""}"#;

    #[test]
    fn a_connection_file_is_read() {
        let file = ConnectionFile::parse(FILE).unwrap();
        assert_eq!(file.address(file.shell_port), "tcp://127.0.0.1:5001");
        assert_eq!((file.heartbeat_port, file.key.as_str()), (5005, "a-b"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| ConnectionFile::parse(text).unwrap_err().to_string();
        assert!(error("{").starts_with("not a connection file"));
        let without_port = FILE.replace("\"hb_port\": 5005,", "");
        assert_eq!(error(&without_port), "connection file: hb_port is missing or no port number");
        assert!(error(&FILE.replace("hmac-sha256", "rsa")).contains("signature scheme rsa"));
    }

    #[test]
    fn what_lets_others_in_is_told() {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("porcini-connection-{}", std::process::id()));
        let warnings = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let file = ConnectionFile::parse(text).unwrap();
            file.warnings(&path, &std::fs::metadata(&path).unwrap())
        };
        for (text, mode, told) in [
            (FILE.to_string(), 0o600, ""),
            (FILE.replace("127.0.0.1", "::1"), 0o600, ""),
            (FILE.replace("127.0.0.1", "localhost"), 0o700, ""),
            (FILE.replace("tcp", "ipc").replace("127.0.0.1", "/tmp/k"), 0o600, ""),
            (FILE.to_string(), 0o640, "others can read the key (mode 640)"),
            (FILE.to_string(), 0o604, "others can read the key (mode 604)"),
            (FILE.replace("a-b", ""), 0o644, "the key is empty"),
            (FILE.replace("127.0.0.1", "0.0.0.0"), 0o600, "listens at 0.0.0.0"),
            (FILE.replace("127.0.0.1", "*"), 0o600, "listens at *"),
        ] {
            let found = warnings(&text, mode);
            assert_eq!(found.len(), usize::from(!told.is_empty()), "{found:?}");
            assert!(found.iter().all(|warning| warning.contains(told)), "{told}: {found:?}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
