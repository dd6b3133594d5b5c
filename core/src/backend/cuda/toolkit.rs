//! NVIDIA's programs for machine code: `ptxas` makes it of PTX, `nvdisasm` shows it. No GPU is needed. And its libraries.
//!
//! They come with the CUDA toolkit, and as the packages nvidia-cuda-nvcc and nvidia-cuda-nvdisasm for Python.
//! Without them nothing is missing but the sight.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// Default folders of a toolkit.
const USUAL: &str = "/usr/local/cuda";

/// Where systems keep libraries.
const SYSTEMS: [&str; 2] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"];

/// Where to look for the programs, and for NVIDIA's libraries; by default nowhere.
#[derive(Clone, Debug, Default)]
pub struct Toolkit {
    /// Folders of programs.
    folders: Vec<PathBuf>,
    /// Folders with a `lib/python3.N` below them.
    prefixes: Vec<PathBuf>,
    /// Folders of libraries.
    folders_of_libraries: Vec<PathBuf>,
    /// The file of NCCL that a user names.
    nccl: Option<PathBuf>,
}

impl Toolkit {
    /// Looks where environment variables say: in `PATH`, in the toolkit at `CUDA_HOME` or `CUDA_PATH` or at its usual
    /// place, and in the packages of the Python at `VIRTUAL_ENV`, of those in `PATH`, and of the user. Without a
    /// `PATH` there is no system, and nothing is found.
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let Some(path) = set("PATH") else { return Self::default() };
        let path: Vec<PathBuf> =
            std::env::split_paths(&path).filter(|it| !it.as_os_str().is_empty()).collect();
        let homes = [set("CUDA_HOME"), set("CUDA_PATH"), Some(USUAL.into())];
        let homes: Vec<PathBuf> = homes.into_iter().flatten().map(PathBuf::from).collect();
        let programs = homes.iter().map(|home| home.join("bin"));
        let said = set("LD_LIBRARY_PATH").unwrap_or_default();
        let said = std::env::split_paths(&said).filter(|it| !it.as_os_str().is_empty());
        let theirs = homes.iter().flat_map(|home| ["lib64", "lib"].map(|it| home.join(it)));
        let systems = SYSTEMS.into_iter().map(PathBuf::from);
        let pythons = path.iter().filter(|folder| folder.join("python3").is_file());
        let pythons = pythons.filter_map(|folder| folder.parent()).map(Path::to_path_buf);
        let user = set("HOME").map(|home| Path::new(&home).join(".local"));
        let prefixes = set("VIRTUAL_ENV").map(PathBuf::from).into_iter().chain(pythons);
        Self {
            folders_of_libraries: said.chain(theirs).chain(systems).collect(),
            prefixes: prefixes.chain(user).collect(),
            nccl: set("PORCINI_NCCL").map(PathBuf::from),
            folders: path.into_iter().chain(programs).collect(),
        }
    }

    /// The file of a program.
    ///
    /// # Errors
    /// `Tool` with what to install.
    pub fn find(&self, program: &'static str) -> Result<PathBuf> {
        let in_folders = self.folders.iter().map(|folder| folder.join(program));
        let in_packages = self.prefixes.iter().flat_map(|prefix| packages(prefix));
        let in_packages = in_packages.map(|package| package.join("bin").join(program));
        in_folders.chain(in_packages).find(|file| file.is_file()).ok_or_else(|| Error::Tool {
            program,
            reason:
                "not found in PATH, CUDA_HOME or Python's packages; install the CUDA toolkit, or: \
                     pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm"
                    .into(),
        })
    }

    /// The files of cuBLAS, newest first, in the versions that take 64-bit extents: the driver may be too old for the
    /// newest.
    pub fn cublas(&self) -> Vec<PathBuf> {
        ["libcublas.so.13", "libcublas.so.12"]
            .iter()
            .flat_map(|name| self.libraries(name))
            .collect()
    }

    /// The file of NCCL, by which GPUs of several processes send each other bytes: that of `PORCINI_NCCL`, whether it is there
    /// or not, or the first that there is.
    pub fn nccl(&self) -> Option<PathBuf> {
        match &self.nccl {
            Some(_) if self.is_without_nccl() => None,
            Some(file) => Some(file.clone()),
            None => self.libraries("libnccl.so.2").into_iter().next(),
        }
    }

    /// Whether `PORCINI_NCCL=none` does without.
    pub fn is_without_nccl(&self) -> bool {
        self.nccl.as_ref().is_some_and(|file| file.as_os_str() == "none")
    }

    /// The files of NVRTC, the compiler of CUDA C++, newest first.
    pub fn nvrtc(&self) -> Vec<PathBuf> {
        ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
            .iter()
            .flat_map(|name| self.libraries(name))
            .collect()
    }

    /// Folders with CUDA's headers, and those of its C++ library, which CUDA 13 has in a folder below.
    pub fn headers(&self) -> Vec<PathBuf> {
        let beside = self.folders.iter().filter_map(|folder| folder.parent());
        let in_packages = self.prefixes.iter().flat_map(|prefix| packages(prefix));
        let all = beside.map(Path::to_path_buf).chain(in_packages).map(|it| it.join("include"));
        let all = all.flat_map(|folder| [folder.join("cccl"), folder]);
        all.filter(|folder| ["cuda_fp16.h", "cuda/std"].iter().any(|it| folder.join(it).exists()))
            .collect()
    }

    /// The files of a library.
    fn libraries(&self, name: &str) -> Vec<PathBuf> {
        let in_packages = self.prefixes.iter().flat_map(|prefix| packages(prefix));
        let in_packages = in_packages.map(|package| package.join("lib"));
        let folders = self.folders_of_libraries.iter().cloned().chain(in_packages);
        folders.map(|folder| folder.join(name)).filter(|file| file.is_file()).collect()
    }

    /// Whether machine code can be shown.
    pub fn has_nvdisasm(&self) -> bool {
        self.find("nvdisasm").is_ok()
    }

    /// The machine code of a PTX module, for the processor that it names.
    ///
    /// # Errors
    /// `Tool`.
    pub fn assemble(&self, ptx: &str) -> Result<Vec<u8>> {
        let program = self.find("ptxas")?;
        let failed = |reason: String| Error::Tool { program: "ptxas", reason };
        let target = ptx.lines().find_map(|line| line.trim().strip_prefix(".target "));
        let target = target.ok_or_else(|| failed("the text names no target".into()))?;
        let source = file(ptx.as_bytes(), ".ptx").map_err(|error| failed(error.to_string()))?;
        let code = file(&[], ".cubin").map_err(|error| failed(error.to_string()))?;
        let arch = format!("-arch={}", target.trim());
        let arguments: [&OsStr; 4] =
            [arch.as_ref(), source.path().as_os_str(), "-o".as_ref(), code.path().as_os_str()];
        run(&program, &arguments).map_err(failed)?;
        std::fs::read(code.path()).map_err(|error| failed(error.to_string()))
    }

    /// Machine code as text: an instruction a line.
    ///
    /// # Errors
    /// `Tool`.
    pub fn disassemble(&self, code: &[u8]) -> Result<String> {
        let program = self.find("nvdisasm")?;
        let failed = |reason: String| Error::Tool { program: "nvdisasm", reason };
        let code = file(code, ".cubin").map_err(|error| failed(error.to_string()))?;
        let text = run(&program, &["-c".as_ref(), code.path().as_os_str()]).map_err(failed)?;
        Ok(instructions(&text))
    }
}

/// The folders of NVIDIA's packages for the Pythons below a prefix.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let pythons = children(&prefix.join("lib")).into_iter().filter(|python| {
        python.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3"))
    });
    let sites =
        pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|it| python.join(it)));
    sites.flat_map(|site| children(&site.join("nvidia"))).collect()
}

/// Entries of a folder, sorted.
fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// A file that vanishes when it is dropped.
fn file(contents: &[u8], suffix: &str) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("porcini").suffix(suffix).tempfile()?;
    file.write_all(contents)?;
    Ok(file)
}

/// Runs a program; its output, or else its error messages.
fn run(program: &Path, arguments: &[&OsStr]) -> std::result::Result<String, String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaints = String::from_utf8_lossy(&output.stderr);
    Err(match complaints.trim() {
        "" => output.status.to_string(),
        said => said.into(),
    })
}

/// The entries, labels and instructions of a listing, without directives and addresses.
fn instructions(listing: &str) -> String {
    let mut text = String::new();
    for line in listing.lines().map(str::trim) {
        let line = match line.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) {
            // They fill up the last line of the instruction cache.
            Some((_, instruction)) if instruction.trim() == "NOP;" => continue,
            Some((_, instruction)) => {
                format!("    {}", instruction.trim().trim_end_matches(';').trim_end())
            }
            // The entry's name comes twice, also as that of its section.
            None if line.ends_with(':') && !line.starts_with(".text.") => line.into(),
            None => continue,
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_stripped() {
        let listing = "\t.target\tsm_75\n\t.section\t.text.k,\"ax\"\nk:\n.text.k:\n        /*0000*/               \
                       @P0 EXIT ;\n.L_x_0:\n        /*0010*/                   BRA `(.L_x_0);\n        /*0020*/     NOP;\n";
        assert_eq!(instructions(listing), "k:\n    @P0 EXIT\n.L_x_0:\n    BRA `(.L_x_0)\n");
    }

    #[test]
    fn programs_are_found_where_variables_say() {
        let root = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        };
        let packaged = make("env/lib/python3.11/site-packages/nvidia/cu13/bin/nvdisasm");
        let installed = make("cuda/bin/ptxas");
        let folder = |name: &str| Some(root.path().join(name).display().to_string());
        let toolkit = Toolkit::new(|name| match name {
            "PATH" => folder("bin"),
            "CUDA_HOME" => folder("cuda"),
            "VIRTUAL_ENV" => folder("env"),
            _ => None,
        });
        assert_eq!(toolkit.find("nvdisasm").unwrap(), packaged);
        assert_eq!(toolkit.find("ptxas").unwrap(), installed);
        make("env/bin/python3");
        let toolkit = Toolkit::new(|name| folder("env/bin").filter(|_| name == "PATH"));
        assert_eq!(toolkit.find("nvdisasm").unwrap(), packaged);
        let error = Toolkit::default().find("nvdisasm").unwrap_err().to_string();
        assert!(error.contains("pip install") && !error.contains('\n'), "{error}");
        let library = make("env/lib/python3.11/site-packages/nvidia/cublas/lib/libnv.so.1");
        let newer = make("cuda/lib64/libnv.so.1");
        let toolkit = Toolkit::new(|name| match name {
            "PATH" => folder("env/bin"),
            "CUDA_HOME" => folder("cuda"),
            _ => None,
        });
        assert_eq!(toolkit.libraries("libnv.so.1"), [newer, library]);
        assert!(Toolkit::default().libraries("libnv.so.1").is_empty());
        // Who names a library has that or none.
        let nccl = make("cuda/lib64/libnccl.so.2");
        let named = |file: &'static str| {
            Toolkit::new(move |name| match name {
                "PATH" => folder("env/bin"),
                "CUDA_HOME" => folder("cuda"),
                "PORCINI_NCCL" => Some(file.into()),
                _ => None,
            })
        };
        assert_eq!(named("").nccl(), Some(nccl));
        assert_eq!(named("/there/or/not").nccl(), Some("/there/or/not".into()));
        assert!(named("none").nccl().is_none() && named("none").is_without_nccl());
        let nowhere = Toolkit::new(|name| folder("cuda").filter(|_| name == "CUDA_HOME"));
        assert!(nowhere.find("ptxas").is_err());
    }

    #[test]
    fn what_programs_complain_of_is_told() {
        let toolkit = Toolkit::new(|name| std::env::var(name).ok());
        if toolkit.find("ptxas").is_ok() {
            let error = toolkit.assemble(".version 7.0\n.target sm_75\nnonsense\n").unwrap_err();
            assert!(error.to_string().starts_with("cannot run ptxas: "), "{error}");
        }
        assert!(toolkit.assemble("").is_err());
    }
}
