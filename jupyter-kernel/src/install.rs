//! Kernelspecs: what tells Jupyter how to start this kernel.
//!
//! **Source**: the Jupyter client documentation, "Making kernels for Jupyter", kernel specs.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::kernel_info::LANGUAGE;
use crate::wire::PROTOCOL;

/// Name of the kernel if none is given.
pub(crate) const NAME: &str = "porcini";
/// The same of one for notebooks in Rust.
pub(crate) const RUST_NAME: &str = "porcini-rust";
/// The same of one for notebooks that are not trusted.
pub(crate) const SANDBOX_NAME: &str = "porcini-sandbox";
/// The kernel for notebooks in Rust, a program of its own.
pub(crate) const EVCXR: &str = "evcxr_jupyter";
/// What starts that kernel, and this program as it.
pub(crate) const CONTROL_FILE: &str = "--control_file";
/// What that reads before the first cell; it also marks the kernelspecs that are ours.
const EVCXR_START: &str = "init.evcxr";

const LOGOS: [(&str, &[u8]); 3] = [
    ("logo-32x32.png", include_bytes!("../logos/logo-32x32.png")),
    ("logo-64x64.png", include_bytes!("../logos/logo-64x64.png")),
    ("logo-svg.svg", include_bytes!("../logos/logo-svg.svg")),
];

/// Where a kernelspec goes.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
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
    pub(crate) starts: Starts,
}

/// What a kernelspec starts.
#[derive(Clone, Debug)]
pub(crate) enum Starts {
    /// This program, with arguments of `run`, and so much memory for arrays.
    Us { settings: Vec<String>, memory_limit: Option<String> },
    /// evcxr with `porcini-core` loaded, from this folder.
    Rust { core: Option<PathBuf> },
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
    #[error("--sandbox={}: {cause}", folder.display())]
    Sandbox { folder: PathBuf, cause: io::Error },
    #[error("settings of the kernel (behind --): {0}")]
    Settings(String),
    #[error("{}: {cause}", path.display())]
    Write { path: PathBuf, cause: io::Error },
    #[error("cannot tell where this program is: {0}")]
    Program(io::Error),
    #[error(
        "{EVCXR} is not on the search path: cargo install --locked {EVCXR}, or build this program with --features evcxr"
    )]
    NoEvcxr,
    #[error(
        "--ranks: each computes on processors, or with -- --device cuda on a GPU, and not on {0}"
    )]
    Ranks(String),
    #[error("{} does not hold porcini-core: name its folder with --core", folder.display())]
    NoCore { folder: PathBuf },
}

/// Writes a kernelspec; its folder.
pub(crate) fn install(place: &Destination, spec: &Spec) -> Result<PathBuf, InstallError> {
    let folder = folder(place, &spec.name)?;
    let file = folder.join("kernel.json");
    if file.exists() && !is_ours(&file) {
        return Err(InstallError::Foreign { folder });
    }
    let write = |path: PathBuf, contents: &[u8]| {
        porcini_script::folders::replace(&path, contents)
            .map_err(|cause| InstallError::Write { path, cause })
    };
    let make_folder = || {
        let made = std::fs::create_dir_all(&folder);
        made.map_err(|cause| InstallError::Write { path: folder.clone(), cause })
    };
    let kernel = match &spec.starts {
        Starts::Us { settings, memory_limit } => {
            let program = program().map_err(InstallError::Program)?;
            make_folder()?;
            let mut kernel = kernel(&program, spec, settings);
            if let Some(limit) = memory_limit {
                kernel["env"] = json!({"PORCINI_MEMORY_LIMIT": limit});
            }
            kernel
        }
        Starts::Rust { core } => {
            let evcxr = evcxr()?;
            let core = core_folder(core.as_deref())?;
            make_folder()?;
            let core = core.display().to_string();
            let dependency = format!(":dep porcini-core = {{ path = {core:?} }}\n");
            write(folder.join(EVCXR_START), dependency.as_bytes())?;
            write(folder.join("prelude.rs"), b"use porcini_core::*;\n")?;
            rust_kernel(&evcxr, spec, &folder)
        }
    };
    write(file, format!("{kernel:#}\n").as_bytes())?;
    for (name, contents) in LOGOS {
        write(folder.join(name), contents)?;
    }
    Ok(folder)
}

/// The setting that runs a kernel in a sandbox: its folder from the root on, for kernels start anywhere.
pub(crate) fn sandbox_setting(folder: Option<&Path>) -> Result<String, InstallError> {
    let Some(folder) = folder else { return Ok("--sandbox".into()) };
    let real = folder.canonicalize();
    let real = real.map_err(|cause| InstallError::Sandbox { folder: folder.into(), cause })?;
    Ok(format!("--sandbox={}", real.display()))
}

fn kernel(program: &Path, spec: &Spec, settings: &[String]) -> Value {
    let mut argv = vec![program.display().to_string(), "run".into(), "{connection_file}".into()];
    argv.extend(settings.iter().cloned());
    json!({
        "argv": argv,
        "display_name": spec.display_name,
        "language": LANGUAGE,
        "interrupt_mode": "message",
        "kernel_protocol_version": PROTOCOL,
        "metadata": {"debugger": false},
    })
}

fn rust_kernel(evcxr: &Path, spec: &Spec, folder: &Path) -> Value {
    json!({
        "argv": [evcxr.display().to_string(), CONTROL_FILE, "{connection_file}"],
        "display_name": spec.display_name,
        "language": "rust",
        "interrupt_mode": "message",
        "env": {
            "EVCXR_CONFIG_DIR": folder.display().to_string(),
            // There evcxr finds no kernelspec of its own, which it would make start this program.
            "JUPYTER_PATH": folder.display().to_string(),
        },
    })
}

/// The program that runs cells in Rust: this one if evcxr is part of it.
fn evcxr() -> Result<PathBuf, InstallError> {
    if cfg!(feature = "evcxr") {
        return program().map_err(InstallError::Program);
    }
    on_search_path(Path::new(EVCXR)).ok_or(InstallError::NoEvcxr)
}

/// The sources of `porcini-core`: those named, else those of this build.
fn core_folder(named: Option<&Path>) -> Result<PathBuf, InstallError> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("core");
    let folder = named.map_or(built, Path::to_path_buf);
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let found = folder.canonicalize().ok().filter(|_| manifest.contains("\"porcini-core\""));
    found.ok_or(InstallError::NoCore { folder })
}

/// Removes a kernelspec; the folder that it was in.
pub(crate) fn uninstall(place: &Destination, name: &str) -> Result<PathBuf, InstallError> {
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
    let places =
        [Some(Destination::User), Some(Destination::Environment), home().map(Destination::Prefix)];
    let own = places.into_iter().flatten().filter_map(|place| data(&place).ok());
    let system = ["/usr/local/share/jupyter", "/usr/share/jupyter"].map(PathBuf::from);
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in listed.chain(own).chain(system).map(|folder| folder.join("kernels")) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The environment that this program lives in, active or not: `e` of `e/bin/porcini-jupyter`.
pub(crate) fn home() -> Option<PathBuf> {
    Some(program().ok()?.parent()?.parent()?.to_path_buf())
}

/// What a kernel in a sandbox is called after, so that each folder has its own: the last name of the folder.
pub(crate) fn sandbox_label(setting: &str) -> Option<String> {
    let (_, folder) = setting.split_once('=')?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    Some(Path::new(folder).file_name()?.to_string_lossy().chars().map(plain).collect())
}

/// Fails if a kernel of this name has another sandbox.
pub(crate) fn check_sandbox(
    place: &Destination,
    name: &str,
    setting: &str,
) -> Result<(), InstallError> {
    let folder = folder(place, name)?;
    let known = argument(&folder.join("kernel.json"), 3);
    match known.is_some_and(|known| known != setting) {
        true => Err(InstallError::Foreign { folder }),
        false => Ok(()),
    }
}

/// The device of so many ranks; what each of them is to compute on is taken out of the settings.
pub(crate) fn device_of_ranks(
    ranks: u16,
    settings: &mut Vec<String>,
) -> Result<String, InstallError> {
    let is_device = |word: &String| word == "--device" || word.starts_with("--device=");
    let Some(start) = settings.iter().position(is_device) else {
        return Ok(format!("ranks:{ranks}"));
    };
    let n_words = if settings[start] == "--device" { 2 } else { 1 };
    let end = settings.len().min(start + n_words);
    let named = settings.drain(start..end).next_back().unwrap_or_default();
    match named.trim_start_matches("--device=") {
        "cuda" => Ok(format!("ranks:{ranks}:cuda")),
        "auto" | "cpu" => Ok(format!("ranks:{ranks}")),
        other => Err(InstallError::Ranks(other.into())),
    }
}

/// Whether a kernelspec is one that `install` wrote: its program may be an older one, elsewhere.
pub(crate) fn is_ours(file: &Path) -> bool {
    let stem =
        argument(file, 0).and_then(|program| Some(Path::new(&program).file_stem()?.to_owned()));
    let has_start = || file.with_file_name(EVCXR_START).exists();
    stem.is_some_and(|stem| stem == "porcini-jupyter" || (stem == EVCXR && has_start()))
}

/// What a kernelspec says.
pub(crate) fn spec(file: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

/// What a kernelspec starts: its program, then the arguments.
pub(crate) fn argument(file: &Path, i: usize) -> Option<String> {
    spec(file)?["argv"][i].as_str().map(String::from)
}

fn folder(place: &Destination, name: &str) -> Result<PathBuf, InstallError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(InstallError::Name(name.into()));
    }
    // Jupyter compares names in lower case.
    Ok(data(place)?.join("kernels").join(name.to_ascii_lowercase()))
}

/// Jupyter's data folder in a place.
fn data(place: &Destination) -> Result<PathBuf, InstallError> {
    let variable =
        |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let share = |prefix: PathBuf| prefix.join("share").join("jupyter");
    match place {
        Destination::Prefix(folder) => Ok(share(folder.clone())),
        Destination::Environment => variable("VIRTUAL_ENV")
            .or_else(|| variable("CONDA_PREFIX"))
            .map(share)
            .ok_or(InstallError::NoEnvironment),
        Destination::User => variable("JUPYTER_DATA_DIR")
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
    on_search_path(&called).map_or_else(env::current_exe, std::path::absolute)
}

fn on_search_path(program: &Path) -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}
