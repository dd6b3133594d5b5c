//! Modules of CUDA C++ that users write (S27): compiled by NVRTC, or machine code and PTX as it comes.
//!
//! A launch is a call with effects: pointers to const are read, others are written; it goes to the device in program
//! order and is not waited for. What the kernel does is its author's: bits, bounds and races are not checked. What can be
//! checked before is: number, type and device of the arguments, limits of grid, block and shared memory.
//!
//! | file | what |
//! |---|---|
//! | `entries` | the kernels that PTX or machine code has |
//! | `prototype` | what kernels take: of a signature, or of the source |
//! | `launch` | arguments, limits, and the arrays that were written |

mod entries;
mod launch;
mod prototype;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use launch::{LaunchArgument, Shape};
use launch::{Ready, held};

use crate::array::Array;
use crate::backend::LoadedModule;
use crate::backend::cuda::disk_cache::{DiskCache, Key, LIMIT};
use crate::backend::cuda::{Code, Nvrtc, Source};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::session::runtime::Device;
use entries::{entries, is_compiled, is_text, parameter_bytes};
use prototype::{Declared, Parameter, agree, declared, find, parameters, signature_of};

/// The processor whose PTX is shown where there is no GPU.
const USUAL_CAPABILITY: u32 = 80;
/// Lines that an error shows of what the compiler says.
const MOST_LINES: usize = 24;

/// What a module is compiled with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Options of nvrtc: `--use_fast_math`.
    pub options: Vec<String>,
    /// Kernels as C++ names them, templates with their types: `axpy<float>`. Others are found when they are asked for.
    pub exports: Vec<String>,
    /// What the text may include, beside CUDA's own: names and texts.
    pub headers: Vec<(String, String)>,
}

/// A module. Cloning names the same one.
#[derive(Clone, Debug)]
pub struct CudaModule {
    inner: Arc<Inner>,
}

struct Inner {
    text: Text,
    options: Options,
    declared: Vec<Declared>,
    /// The kernels of compiled code, where they can be seen.
    entries: Option<Vec<String>>,
    /// The kernels that are compiled together, and so share the module's variables.
    together: Vec<String>,
    compiled: Mutex<BTreeMap<Wanted, Arc<Code>>>,
    /// What is loaded, by the names of the kernels, on which device.
    loaded: Mutex<Vec<Loaded>>,
}

/// Capability, whether it is machine code, and the names of the kernels.
type Wanted = (u32, bool, Vec<String>);

struct Loaded {
    device: Arc<Device>,
    names: Vec<String>,
    code: Arc<Code>,
    module: Arc<dyn LoadedModule>,
}

enum Text {
    Cpp(String),
    /// PTX, or machine code, as the driver takes it.
    Compiled(Vec<u8>),
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("declared", &self.declared).finish_non_exhaustive()
    }
}

/// A kernel of a module. Cloning names the same one.
#[derive(Clone, Debug)]
pub struct ModuleKernel {
    inner: Arc<KernelInner>,
}

struct KernelInner {
    module: CudaModule,
    name: String,
    parameters: Vec<Parameter>,
    /// Whether the source says what it takes.
    is_declared: bool,
    ready: Mutex<Option<Ready>>,
    launches: AtomicU64,
    compile_ns: AtomicU64,
}

impl std::fmt::Debug for KernelInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelInner").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a kernel of a module has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModuleStats {
    /// Launches.
    pub launches: u64,
    /// Time from the first one to when it was ready: compiled, or found on the disk, and loaded.
    pub compile_time: Duration,
    /// Registers of a thread.
    pub registers: usize,
}

impl Session {
    /// Compiles a module of CUDA C++. Needs no GPU: without one its PTX can be looked at.
    ///
    /// # Errors
    /// `Compilation` with what the compiler says; `Tool` where there is none.
    pub fn cuda_module(&self, source: &str, options: Options) -> Result<CudaModule> {
        if is_text(source.as_bytes()) {
            return self.cuda_binary(source.as_bytes());
        }
        let declared = declared(source);
        let plain = declared.iter().filter(|declared| declared.template.is_empty());
        let mut together = options.exports.clone();
        together.extend(plain.map(|declared| declared.name.clone()));
        let new = |together| {
            let text = Text::Cpp(source.into());
            let module = CudaModule::new(text, options.clone(), declared.clone(), together);
            module.code(self, &module.inner.together)?;
            Ok(module)
        };
        // What looks like a kernel may be none, as what stands in a namespace.
        new(together).or_else(|_| new(options.exports.clone()))
    }

    /// A module of PTX or of machine code, as a file holds them.
    ///
    /// # Errors
    /// `Kernel` for what is none of them.
    pub fn cuda_binary(&self, code: &[u8]) -> Result<CudaModule> {
        if !is_compiled(code) {
            let what = "the module is neither PTX (.version ..) nor machine code".into();
            let remedy = Some("nvcc -ptx, -cubin or -fatbin makes one of a source".into());
            return Err(Error::Kernel { what, remedy });
        }
        let mut code = code.to_vec();
        if is_text(&code) && !code.ends_with(&[0]) {
            // The driver reads to a zero.
            code.push(0);
        }
        let text = Text::Compiled(code);
        Ok(CudaModule::new(text, Options::default(), Vec::new(), Vec::new()))
    }
}

impl CudaModule {
    fn new(text: Text, options: Options, declared: Vec<Declared>, together: Vec<String>) -> Self {
        let (compiled, loaded) = (Mutex::default(), Mutex::default());
        let entries = match &text {
            Text::Cpp(_) => None,
            Text::Compiled(code) => entries(code),
        };
        let inner = Inner { text, options, declared, entries, together, compiled, loaded };
        Self { inner: Arc::new(inner) }
    }

    /// The source; of compiled code nothing.
    pub fn source(&self) -> &str {
        match &self.inner.text {
            Text::Cpp(text) => text,
            Text::Compiled(_) => "",
        }
    }

    /// Names and signatures of the kernels that the source declares, templates with the names of their types; of compiled code
    /// the names alone.
    pub fn kernels(&self) -> Vec<(String, String)> {
        let name = |one: &Declared| match one.template.is_empty() {
            true => one.name.clone(),
            false => format!("{}<{}>", one.name, one.template.join(", ")),
        };
        let seen = self.inner.entries.iter().flatten().map(|name| (name.clone(), "..".into()));
        let declared = self.inner.declared.iter().map(|one| (name(one), one.signature.clone()));
        seen.chain(declared).collect()
    }

    /// A kernel by its name, templates with their types: `axpy<float>`. Its signature may be left out where the source
    /// says it.
    ///
    /// # Errors
    /// `Kernel` for a name that the source does not declare, or a signature that is none.
    pub fn kernel(&self, name: &str, signature: Option<&str>) -> Result<ModuleKernel> {
        let inner = &self.inner;
        let found = signature_of(&inner.declared, name);
        let (plain, types) = name.split_at(name.find('<').unwrap_or(name.len()));
        let (plain, declared) = (plain.trim(), find(&inner.declared, plain.trim()));
        let entries = inner.entries.iter().flatten();
        let known = inner.declared.iter().map(|one| &one.name).chain(entries);
        let known: Vec<&str> = known.map(String::as_str).collect();
        // What a fatbin has cannot be seen.
        let is_seen = matches!(inner.text, Text::Cpp(_)) || inner.entries.is_some();
        if is_seen && declared.is_none() && !known.contains(&name) {
            let what = format!("the module has no kernel `{plain}`");
            let remedy = match known[..] {
                [] => "it declares none: __global__ void f(float *x) { … }".into(),
                _ => format!("it has {}", known.join(", ")),
            };
            return Err(Error::Kernel { what, remedy: Some(remedy) });
        }
        if let Some(Declared { template, .. }) = declared.filter(|it| !it.template.is_empty())
            && types.is_empty()
        {
            let what = format!("kernel `{plain}` is a template of {}", template.join(", "));
            let remedy = format!("say the types: m.kernel(\"{plain}<float>\")");
            return Err(Error::Kernel { what, remedy: Some(remedy) });
        }
        let is_declared = signature.is_none();
        let in_source = found.as_ref().and_then(|found| Some((found, parameters(found).ok()?)));
        let signature =
            signature.map(Into::into).or(found.clone()).ok_or_else(|| Error::Kernel {
                what: format!("kernel `{name}`: the module does not say what it takes"),
                remedy: Some(
                    "give its signature: m.kernel(name, \"const float *x, float *y\")".into(),
                ),
            })?;
        let parameters = parameters(&signature)?;
        if let Some((source, own)) = in_source
            && !agree(&parameters, &own)
        {
            let what =
                format!("kernel `{name}` takes ({source}), the signature says ({signature})");
            let remedy = format!("leave it out: m.kernel(\"{name}\")");
            return Err(Error::Kernel { what, remedy: Some(remedy) });
        }
        self.check_bytes(name, &signature, &parameters)?;
        let inner = KernelInner {
            module: self.clone(),
            name: declared.map_or(name.into(), |declared| format!("{}{types}", declared.name)),
            parameters,
            is_declared,
            ready: Mutex::default(),
            launches: AtomicU64::default(),
            compile_ns: AtomicU64::default(),
        };
        Ok(ModuleKernel { inner: Arc::new(inner) })
    }

    /// Refuses a signature whose parameters are not as long as those in the module's PTX.
    fn check_bytes(&self, name: &str, signature: &str, parameters: &[Parameter]) -> Result<()> {
        let own = match &self.inner.text {
            Text::Compiled(code) => parameter_bytes(code, name),
            Text::Cpp(_) => None,
        };
        let said: Vec<usize> = parameters.iter().map(Parameter::bytes).collect();
        let Some(own) = own.filter(|own| *own != said) else { return Ok(()) };
        let listed = |bytes: &[usize]| match bytes {
            [] => "none".into(),
            _ => bytes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        let what = format!(
            "kernel `{name}`: its PTX has parameters of bytes: {}; the signature ({signature}) of bytes: {}",
            listed(&own),
            listed(&said)
        );
        let remedy = "an array is 8 bytes, a number those of its type";
        Err(Error::Kernel { what, remedy: Some(remedy.into()) })
    }

    /// The PTX of the module, for the processor of the session, or one of capability 8.0 without a GPU.
    ///
    /// # Errors
    /// As [`Session::cuda_module`]; `Kernel` for machine code.
    pub fn ptx(&self, session: &Session) -> Result<String> {
        let code = self.code_for(session, &self.inner.together, false)?;
        if !is_text(&code.bytes) {
            let what = "the module is machine code, which has no PTX".into();
            return Err(Error::Kernel { what, remedy: Some("m.sass shows it".into()) });
        }
        Ok(String::from_utf8_lossy(&code.bytes).trim_end_matches('\0').into())
    }

    /// The machine code of the module as text.
    ///
    /// # Errors
    /// `Tool` where no program is there that shows it.
    pub fn sass(&self, session: &Session) -> Result<String> {
        let toolkit = session.runtime().toolkit();
        if let Text::Compiled(code) = &self.inner.text
            && code.starts_with(b"\x7fELF")
        {
            return toolkit.disassemble(code);
        }
        toolkit.disassemble(&toolkit.assemble(&self.ptx(session)?)?)
    }

    /// The code for the session's processor.
    fn code(&self, session: &Session, names: &[String]) -> Result<Arc<Code>> {
        self.code_for(session, names, session.device()?.backend.gpu().is_some())
    }

    fn code_for(&self, session: &Session, names: &[String], is_binary: bool) -> Result<Arc<Code>> {
        let text = match &self.inner.text {
            Text::Cpp(text) => text,
            Text::Compiled(code) => {
                return Ok(Arc::new(Code { bytes: code.clone(), names: names.to_vec() }));
            }
        };
        let device = session.device()?;
        let capability = device.backend.gpu().map_or(USUAL_CAPABILITY, |gpu| gpu.capability());
        let mut compiled = self.inner.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (capability, is_binary, names.to_vec());
        if let Some(code) = compiled.get(&key) {
            return Ok(code.clone());
        }
        let Options { options, headers, .. } = &self.inner.options;
        let source = Source { text, headers, options, names, capability, is_binary };
        let code = Arc::new(compile(session, &source)?);
        compiled.insert(key, code.clone());
        Ok(code)
    }

    /// Lanes of a variable of the module, `__constant__` or `__device__`, as they are now. Kernels that are no templates, and
    /// those of `exports`, share its variables.
    ///
    /// **Evaluation**: at once, on the device; nothing is waited for.
    ///
    /// # Errors
    /// `Kernel` for another name or size; as launches.
    pub fn get(&self, session: &Session, name: &str, dtype: DType) -> Result<Array> {
        let [address, bytes] = self.variable(session, name)?;
        let width = dtype.bytes() as u64;
        if bytes % width != 0 {
            let what = format!("`{name}` has {bytes} bytes, no lanes of {}", dtype.numpy_name());
            return Err(Error::Kernel { what, remedy: None });
        }
        let handle = session.with_evaluator(|evaluator| {
            let buffer = evaluator.alloc(bytes)?;
            evaluator.backend.memory().copy(buffer.address(), address, exactly(bytes))?;
            let (buffer, size) = (Arc::new(buffer), bytes / width);
            Ok(session.with_table(|table| held(table, dtype, size, buffer)))
        })?;
        Ok(Array::adopt(session.clone(), handle))
    }

    /// Writes the first lanes of a variable of the module, before the launches that follow.
    ///
    /// # Errors
    /// As [`CudaModule::get`]; `Kernel` for more lanes than it has.
    pub fn set(&self, session: &Session, name: &str, value: &Array) -> Result<()> {
        let [address, bytes] = self.variable(session, name)?;
        let (n, dtype) = (value.size(), value.dtype());
        let given = n * dtype.bytes() as u64;
        if given > bytes {
            let dtype = dtype.numpy_name();
            let what = format!("`{name}` has {bytes} bytes, got {n} lanes of {dtype}: {given}");
            return Err(Error::Kernel { what, remedy: None });
        }
        let source = value.address()?;
        session.with_evaluator(|evaluator| {
            evaluator.backend.memory().copy(address, source, exactly(given))
        })
    }

    fn variable(&self, session: &Session, name: &str) -> Result<[u64; 2]> {
        let (module, _) = self.loaded(session, None)?;
        module.variable(name).ok_or_else(|| Error::Kernel {
            what: format!("the module has no variable `{name}`"),
            remedy: Some(format!(
                "one that no kernel uses is dropped: __constant__ float {name}[4];"
            )),
        })
    }

    /// The module on the session's device, with a kernel if one is asked for; and what that is called in its code.
    fn loaded(
        &self,
        session: &Session,
        name: Option<&str>,
    ) -> Result<(Arc<dyn LoadedModule>, String)> {
        let device = session.device()?;
        let mut loaded = self.inner.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.retain(|one| !one.device.is_lost());
        let is_cpp = matches!(self.inner.text, Text::Cpp(_));
        // The module's variables are those of the kernels that are compiled together.
        let has_variables = |one: &Loaded| !is_cpp || one.names == self.inner.together;
        let is_here = |one: &&Loaded| {
            Arc::ptr_eq(&one.device, &device) && (name.is_some() || has_variables(one))
        };
        let known = loaded.iter().filter(is_here).find_map(|one| {
            Some((one.module.clone(), self.entry_of(&one.names, &one.code, name)?))
        });
        if let Some(known) = known {
            return Ok(known);
        }
        let gpu = device.backend.gpu().ok_or_else(|| needs_gpu(session, name))?;
        let mut names = self.inner.together.clone();
        if let Some(name) = name
            && !names.iter().any(|known| known == name)
        {
            names = vec![name.into()];
        }
        let code = self.code(session, &names)?;
        let module = gpu.load(&code.bytes)?;
        let entry = self.entry_of(&names, &code, name).unwrap_or_default();
        loaded.push(Loaded { device: device.clone(), names, code, module: module.clone() });
        Ok((module, entry))
    }

    /// What a kernel is called in code that was compiled for some.
    fn entry_of(&self, names: &[String], code: &Code, name: Option<&str>) -> Option<String> {
        let Some(name) = name else { return Some(String::new()) };
        if matches!(self.inner.text, Text::Compiled(_)) {
            return Some(name.into());
        }
        let at = names.iter().position(|known| known == name)?;
        code.names.get(at).cloned()
    }
}

fn needs_gpu(session: &Session, kernel: Option<&str>) -> Error {
    let who = kernel.map_or("the module".into(), |name| format!("kernel `{name}`"));
    let device = session.device_name();
    Error::Kernel {
        what: format!("{who} needs an NVIDIA GPU, and this session is on {device}"),
        remedy: Some(
            "start with --device cuda; kernel(\"T f(T x) { … }\") runs on every device".into(),
        ),
    }
}

/// Code from the disk, or from the compiler, which then is kept there.
fn compile(session: &Session, source: &Source<'_>) -> Result<Code> {
    let nvrtc = Nvrtc::find(session.runtime().toolkit())?;
    let disk = session.runtime().cache_folder().map(|folder| DiskCache::new(folder, LIMIT));
    let headers: Vec<String> =
        source.headers.iter().map(|(name, text)| format!("{name}\0{text}")).collect();
    let (headers, options, names) =
        (headers.join("\0"), source.options.join("\0"), source.names.join("\0"));
    let target = format!("{} {}", source.capability, source.is_binary);
    let parts = ["nvrtc", &nvrtc.version, &target, source.text, &options, &names, &headers];
    let key = Key::of(&parts);
    if let Some(kept) =
        disk.as_ref().and_then(|disk| disk.get(key)).and_then(|kept| unpacked(&kept))
    {
        return Ok(kept);
    }
    let told = |message: String| {
        let device = format!("NVRTC {}", nvrtc.version);
        Error::Compilation { device, message }
    };
    let failed = Key::of(&[&parts[..], &["failed", &nvrtc.headers.join("\0")]].concat());
    if let Some(message) = disk.as_ref().and_then(|disk| disk.get(failed)) {
        return Err(told(String::from_utf8_lossy(&message).into()));
    }
    let code = nvrtc.compile(source).map_err(|said| {
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let mut message = lines[..lines.len().min(MOST_LINES)].join("\n");
        if lines.len() > MOST_LINES {
            message = format!("{message}\n.. {} more lines", lines.len() - MOST_LINES);
        }
        let first = source.text.lines().nth(line_of(&said).unwrap_or(0));
        if let Some(line) = first.filter(|_| line_of(&said).is_some()) {
            message = format!("{message}\n  in: {}", line.trim());
        }
        if let Some(Ok(path)) = disk.as_ref().map(|disk| disk.save_source(key, "cu", source.text)) {
            message = format!("{message}\n  the whole source is in {}", path.display());
        }
        // What is wrong with the text alone stays wrong, whatever files there are.
        let names_files = |option: &String| option.contains("-I") || option.contains("include");
        let is_of_text = line_of(&said).is_some() && !said.contains("open source file");
        if let (true, Some(disk)) = (is_of_text && !source.options.iter().any(names_files), &disk) {
            // Where nothing can be written, it is found out again.
            drop(disk.put(failed, message.as_bytes()));
        }
        told(message)
    })?;
    if let Some(disk) = &disk {
        // Where nothing can be written, code lives as long as the process.
        drop(disk.put(key, &packed(&code)));
    }
    Ok(code)
}

/// The line, from 0, that the compiler complains of first: `module.cu(3): error: …`.
fn line_of(said: &str) -> Option<usize> {
    let (_, behind) = said.split_once("module.cu(")?;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<usize>().ok()?.checked_sub(1)
}

/// Names, one a line, a zero, and the code.
fn packed(code: &Code) -> Vec<u8> {
    [code.names.join("\n").as_bytes(), &[0], &code.bytes].concat()
}

fn unpacked(kept: &[u8]) -> Option<Code> {
    let end = kept.iter().position(|&byte| byte == 0)?;
    let names = std::str::from_utf8(&kept[..end]).ok()?;
    let names = names.lines().map(Into::into).collect();
    Some(Code { bytes: kept[end + 1..].to_vec(), names })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let code = Code { bytes: vec![7, 0, 8], names: vec!["_Z1f".into(), "g".into()] };
        let kept = unpacked(&packed(&code)).unwrap();
        assert_eq!((kept.bytes, kept.names), (code.bytes, code.names));
        assert!(unpacked(b"no zero").is_none());
        assert_eq!(line_of("module.cu(3): error: x"), Some(2));
        assert_eq!(line_of("other"), None);
    }
}
