//! Kernelspecs: what tells Jupyter how to start this kernel.
//!
//! **Source**: the Jupyter client documentation, "Making kernels for Jupyter", kernel specs.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::kernel_info::LANGUAGE;
use crate::wire::PROTOCOL;

/// Name of the kernel if none is given.
pub(crate) const NAME: &str = "porcini";

const LOGOS: [(&str, &[u8]); 3] = [
    ("logo-32x32.png", include_bytes!("../logos/logo-32x32.png")),
    ("logo-64x64.png", include_bytes!("../logos/logo-64x64.png")),
    ("logo-svg.svg", include_bytes!("../logos/logo-svg.svg")),
];

/// Where a kernelspec goes.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    User,
    /// Below a folder such as `/usr/local`.
    Prefix(PathBuf),
    /// The virtual or Conda environment that is active.
    Environment,
}

/// What is installed.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) name: String,
    pub(crate) display_name: String,
    /// Arguments of `run`.
    pub(crate) settings: Vec<String>,
}

/// A kernelspec that cannot be written or removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    #[error("the name {0:?} is none for a kernel (letters, digits, . _ -)")]
    Name(String),
    #[error("no home folder: set HOME or JUPYTER_DATA_DIR, or use --prefix FOLDER")]
    NoHome,
    #[error(
        "no environment is active: VIRTUAL_ENV and CONDA_PREFIX are not set; use --prefix FOLDER"
    )]
    NoEnvironment,
    #[error("no kernel {name} in {}", folder.display())]
    Missing { name: String, folder: PathBuf },
    #[error("{} holds another kernel; choose another --name", folder.display())]
    Foreign { folder: PathBuf },
    #[error("{}: {cause}", path.display())]
    Write { path: PathBuf, cause: io::Error },
    #[error("cannot tell where this program is: {0}")]
    Program(io::Error),
}

/// Writes a kernelspec; its folder.
pub(crate) fn install(place: &Place, spec: &Spec) -> Result<PathBuf, InstallError> {
    let folder = folder(place, &spec.name)?;
    let file = folder.join("kernel.json");
    if file.exists() && !is_ours(&file) {
        return Err(InstallError::Foreign { folder });
    }
    let program = program().map_err(InstallError::Program)?;
    let mut argv = vec![program.display().to_string(), "run".into(), "{connection_file}".into()];
    argv.extend(spec.settings.iter().cloned());
    let kernel = json!({
        "argv": argv,
        "display_name": spec.display_name,
        "language": LANGUAGE,
        "interrupt_mode": "message",
        "kernel_protocol_version": PROTOCOL,
        "metadata": {"debugger": false},
    });
    let write = |path: PathBuf, contents: &[u8]| {
        std::fs::write(&path, contents).map_err(|cause| InstallError::Write { path, cause })
    };
    std::fs::create_dir_all(&folder)
        .map_err(|cause| InstallError::Write { path: folder.clone(), cause })?;
    write(file, format!("{kernel:#}\n").as_bytes())?;
    for (name, contents) in LOGOS {
        write(folder.join(name), contents)?;
    }
    Ok(folder)
}

/// Removes a kernelspec; the folder that it was in.
pub(crate) fn uninstall(place: &Place, name: &str) -> Result<PathBuf, InstallError> {
    let folder = folder(place, name)?;
    let file = folder.join("kernel.json");
    if !file.exists() {
        return Err(InstallError::Missing { name: name.into(), folder });
    }
    if !is_ours(&file) {
        return Err(InstallError::Foreign { folder });
    }
    std::fs::remove_dir_all(&folder)
        .map_err(|cause| InstallError::Write { path: folder.clone(), cause })?;
    Ok(folder)
}

/// The folders in which Jupyter looks for kernels, as far as they can be known without it.
pub(crate) fn search_path() -> Vec<PathBuf> {
    let listed = env::var_os("JUPYTER_PATH").unwrap_or_default();
    let listed = env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
    let own = [Place::User, Place::Environment].into_iter().filter_map(|place| data(&place).ok());
    let system = ["/usr/local/share/jupyter", "/usr/share/jupyter"].map(PathBuf::from);
    listed.chain(own).chain(system).map(|folder| folder.join("kernels")).collect()
}

/// Whether a kernelspec starts this kernel: its program may be an older one, elsewhere.
pub(crate) fn is_ours(file: &Path) -> bool {
    program_of(file)
        .is_some_and(|program| program.file_stem().is_some_and(|stem| stem == "porcini-jupyter"))
}

/// The program that a kernelspec starts.
pub(crate) fn program_of(file: &Path) -> Option<PathBuf> {
    let spec: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    spec["argv"][0].as_str().map(PathBuf::from)
}

fn folder(place: &Place, name: &str) -> Result<PathBuf, InstallError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(InstallError::Name(name.into()));
    }
    // Jupyter compares names in lower case.
    Ok(data(place)?.join("kernels").join(name.to_ascii_lowercase()))
}

/// Jupyter's data folder in a place.
fn data(place: &Place) -> Result<PathBuf, InstallError> {
    let variable =
        |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let share = |prefix: PathBuf| prefix.join("share").join("jupyter");
    match place {
        Place::Prefix(folder) => Ok(share(folder.clone())),
        Place::Environment => variable("VIRTUAL_ENV")
            .or_else(|| variable("CONDA_PREFIX"))
            .map(share)
            .ok_or(InstallError::NoEnvironment),
        Place::User => variable("JUPYTER_DATA_DIR")
            .or_else(|| {
                let apple = cfg!(target_os = "macos").then(|| variable("HOME")).flatten();
                apple.map(|home| home.join("Library").join("Jupyter"))
            })
            .or_else(|| variable("XDG_DATA_HOME").map(|folder| folder.join("jupyter")))
            .or_else(|| variable("HOME").map(|home| share(home.join(".local"))))
            .ok_or(InstallError::NoHome),
    }
}

/// This program as it was called: a link that a package manager keeps stays right after an update, the file
/// behind it may not.
fn program() -> io::Result<PathBuf> {
    let called = PathBuf::from(env::args_os().next().unwrap_or_default());
    if called.components().count() > 1 {
        return std::path::absolute(called);
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).map(|folder| folder.join(&called)).find(|p| p.is_file());
    found.map_or_else(env::current_exe, std::path::absolute)
}
