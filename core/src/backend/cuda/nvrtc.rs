//! NVIDIA's compiler of CUDA C++, NVRTC: looked for when the first module is made. It needs no GPU.
#![expect(unsafe_code, reason = "a C library")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr;

use libloading::Library;

use super::headers::{self, HALF};
use super::toolkit::Toolkit;
use crate::error::{Error, Result};

type Program = *mut std::ffi::c_void;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type AddName = unsafe extern "C" fn(Program, *const c_char) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Lowered = unsafe extern "C" fn(Program, *const c_char, *mut *const c_char) -> c_int;
type Count = unsafe extern "C" fn(*mut c_int) -> c_int;

/// The compiler of CUDA C++.
pub struct Nvrtc {
    loaded: Library,
    /// Its version: `13.0`.
    pub version: String,
    /// Folders of CUDA's headers.
    pub headers: Vec<String>,
    /// Where it was found.
    pub file: String,
}

/// What to compile.
pub struct Source<'a> {
    /// The text.
    pub text: &'a str,
    /// What it may include beside the files of CUDA: names and texts.
    pub headers: &'a [(String, String)],
    /// Options of nvrtc.
    pub options: &'a [String],
    /// Entries, as C++ names them: `axpy<float>`.
    pub names: &'a [String],
    /// 90 for 9.0.
    pub capability: u32,
    /// Machine code, or else PTX.
    pub is_binary: bool,
}

/// Compiled code.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Machine code, or PTX.
    pub bytes: Vec<u8>,
    /// Names of the entries in it, in the order in which they were asked for.
    pub names: Vec<String>,
}

impl Nvrtc {
    /// Finds the compiler.
    ///
    /// # Errors
    /// `Tool` with what to install.
    pub fn find(toolkit: &Toolkit) -> Result<Self> {
        let mut reasons = Vec::new();
        for file in toolkit.nvrtc() {
            match Self::open(&file, toolkit) {
                Ok(found) => return Ok(found),
                Err(error) => reasons.push(format!("{}: {error}", file.display())),
            }
        }
        if reasons.is_empty() {
            reasons.push("not found in LD_LIBRARY_PATH, CUDA_HOME or Python's packages".into());
        }
        let reason = reasons.join("; ");
        let reason =
            format!("{reason}; install the CUDA toolkit, or: pip install nvidia-cuda-nvrtc");
        Err(Error::Tool { program: "NVRTC", reason })
    }

    fn open(file: &Path, toolkit: &Toolkit) -> std::result::Result<Self, String> {
        // SAFETY: NVIDIA's library may be loaded; what else is under this name the user has put there.
        let library = unsafe { Library::new(file) }.map_err(|error| error.to_string())?;
        let headers = toolkit.headers().iter().map(|it| it.display().to_string()).collect();
        let file = file.display().to_string();
        let mut found = Self { loaded: library, version: String::new(), headers, file };
        let (mut major, mut minor) = (0, 0);
        let version = found.symbol::<Version>(c"nvrtcVersion")?;
        // SAFETY: writes two ints.
        let result = unsafe { version(&raw mut major, &raw mut minor) };
        if result != 0 {
            return Err(format!("status {result}"));
        }
        found.version = format!("{major}.{minor}");
        Ok(found)
    }

    fn symbol<T: Copy>(&self, name: &'static CStr) -> std::result::Result<T, String> {
        // SAFETY: callers name the type that the function has in every version from 11 on.
        let symbol = unsafe { self.loaded.get::<T>(name.to_bytes()) };
        symbol.map(|symbol| *symbol).map_err(|error| error.to_string())
    }

    /// The newest processor below a capability that the compiler knows.
    fn known(&self, capability: u32) -> std::result::Result<u32, String> {
        let mut n = 0;
        let count = self.symbol::<Count>(c"nvrtcGetNumSupportedArchs")?;
        // SAFETY: writes one int.
        if unsafe { count(&raw mut n) } != 0 {
            return Ok(capability);
        }
        let mut known: Vec<c_int> = vec![0; usize::try_from(n).unwrap_or(0)];
        let list = self.symbol::<Count>(c"nvrtcGetSupportedArchs")?;
        // SAFETY: writes as many ints as the count said.
        if unsafe { list(known.as_mut_ptr()) } != 0 {
            return Ok(capability);
        }
        let known = known.into_iter().filter_map(|known| u32::try_from(known).ok());
        Ok(known.filter(|&known| known <= capability).max().unwrap_or(capability))
    }

    /// Compiles a text.
    ///
    /// # Errors
    /// What the compiler says, by lines of the text.
    pub fn compile(&self, source: &Source<'_>) -> std::result::Result<Code, String> {
        let zero =
            |text: &str| CString::new(text).map_err(|_| "a zero byte in the text".to_string());
        let text = zero(source.text)?;
        let given = source.headers.iter().map(|(name, text)| (&**name, &**text));
        let has_half = self.headers.iter().any(|folder| Path::new(folder).join(HALF.0).is_file())
            || source.headers.iter().any(|(name, _)| name == HALF.0);
        let own = [HALF].into_iter().filter(|_| !has_half);
        let pairs = given.chain(own).map(|(name, text)| Ok((zero(name)?, zero(text)?)));
        let pairs: Vec<(CString, CString)> = pairs.collect::<std::result::Result<_, String>>()?;
        let names: Vec<*const c_char> = pairs.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<*const c_char> = pairs.iter().map(|(_, text)| text.as_ptr()).collect();
        let (create, destroy) = (
            self.symbol::<Create>(c"nvrtcCreateProgram")?,
            self.symbol::<Destroy>(c"nvrtcDestroyProgram")?,
        );
        let mut program = ptr::null_mut();
        let n_headers = c_int::try_from(pairs.len()).unwrap_or(0);
        // SAFETY: the texts end with a zero, and live until the program is destroyed.
        let created = unsafe {
            create(
                &raw mut program,
                text.as_ptr(),
                c"module.cu".as_ptr(),
                n_headers,
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        if created != 0 {
            return Err(format!("NVRTC makes no program (status {created})"));
        }
        let code = self.compiled(program, source);
        // SAFETY: the program has no user any more.
        let _ = unsafe { destroy(&raw mut program) };
        code
    }

    fn compiled(&self, program: Program, source: &Source<'_>) -> std::result::Result<Code, String> {
        let zero =
            |text: &str| CString::new(text).map_err(|_| "a zero byte in an option".to_string());
        let add = self.symbol::<AddName>(c"nvrtcAddNameExpression")?;
        let entries = source.names.iter().map(|name| zero(name));
        let entries = entries.collect::<std::result::Result<Vec<CString>, _>>()?;
        for entry in &entries {
            // SAFETY: the program is valid, and the name is copied.
            let _ = unsafe { add(program, entry.as_ptr()) };
        }
        let capability = self.known(source.capability)?;
        let kind =
            if source.is_binary && capability == source.capability { "sm" } else { "compute" };
        let mut options = vec![format!("--gpu-architecture={kind}_{capability}")];
        if !source.options.iter().any(|option| option.contains("std=")) {
            options.push("--std=c++17".into());
        }
        options.extend(self.headers.iter().map(|folder| format!("-I{folder}")));
        options.extend_from_slice(source.options);
        let options = options.iter().map(|option| zero(option));
        let options = options.collect::<std::result::Result<Vec<CString>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let compile = self.symbol::<Compile>(c"nvrtcCompileProgram")?;
        let n_options = c_int::try_from(pointers.len()).unwrap_or(0);
        // SAFETY: the options end with zeros, and are read during the call only.
        let result = unsafe { compile(program, n_options, pointers.as_ptr()) };
        if result != 0 {
            let log = self.bytes(program, c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog")?;
            let log = String::from_utf8_lossy(&log);
            let log = log.trim_end_matches('\0').trim();
            let remedy = headers::remedy(log).map_or(String::new(), |told| format!("\n  {told}"));
            return Err(match log {
                "" => format!("status {result}"),
                log => format!("{log}{remedy}"),
            });
        }
        let is_binary = kind == "sm";
        let bytes = match is_binary {
            true => self.bytes(program, c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN")?,
            false => self.bytes(program, c"nvrtcGetPTXSize", c"nvrtcGetPTX")?,
        };
        let lowered = self.symbol::<Lowered>(c"nvrtcGetLoweredName")?;
        let names = entries.iter().map(|entry| {
            let mut name = ptr::null();
            // SAFETY: writes one pointer.
            let result = unsafe { lowered(program, entry.as_ptr(), &raw mut name) };
            if result != 0 || name.is_null() {
                return Err(format!("the text has no kernel {}", entry.to_string_lossy()));
            }
            // SAFETY: the name ends with a zero and lives as long as the program.
            Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
        });
        Ok(Code { bytes, names: names.collect::<std::result::Result<_, _>>()? })
    }

    /// What the compiler made, by the functions that tell its size and write it.
    fn bytes(
        &self,
        program: Program,
        size: &'static CStr,
        get: &'static CStr,
    ) -> std::result::Result<Vec<u8>, String> {
        let (size, get) = (self.symbol::<Size>(size)?, self.symbol::<Text>(get)?);
        let mut n = 0;
        // SAFETY: writes one word.
        let sized = unsafe { size(program, &raw mut n) };
        let mut bytes = vec![0_u8; n];
        // SAFETY: writes as many bytes as the compiler said.
        if sized != 0 {
            return Err(format!("status {sized}"));
        }
        // SAFETY: there is room for as many bytes as the compiler said.
        let got = unsafe { get(program, bytes.as_mut_ptr().cast()) };
        if got == 0 { Ok(bytes) } else { Err(format!("status {got}")) }
    }
}
