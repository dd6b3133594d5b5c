//! Modules of CUDA C++: what is checked before a launch needs no GPU; launches need one.

use porcini_core::cuda_module::{LaunchArgument, ModuleKernel, Options, Shape};
use porcini_core::device::Toolkit;
use porcini_core::{Array, DType, DeviceChoice, Error, Result, Session};
use porcini_tests::gpu;

const SOURCE: &str = r#"
#include <cuda_fp16.h>
extern "C" __global__ void axpy(const float *x, float *y, float alpha) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += alpha * x[i];
}
template <typename T> __global__ void scale(T *x, T factor, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
__global__ void halves(const __half *x, __half *y) { y[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x]); }
__constant__ float coefficients[4];
__global__ void weighted(const float *x, float *y) { y[threadIdx.x] = coefficients[threadIdx.x] * x[threadIdx.x]; }
__global__ void counted(const float *x, float *y) { y[threadIdx.x] = coefficients[0] + x[threadIdx.x]; }
extern "C" __global__ void reverse(const int *x, int *y, int n) {
  extern __shared__ int kept[];
  kept[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = kept[n - 1 - threadIdx.x];
}
"#;

fn session(choice: DeviceChoice) -> Session {
    // The compiler stands beside the Python of the tests, if nowhere else.
    let python = std::env::var_os("PORCINI_PYTHON").map(std::path::PathBuf::from);
    let beside = python.and_then(|python| Some(python.parent()?.parent()?.display().to_string()));
    let toolkit = Toolkit::new(|name| match (name, &beside) {
        ("VIRTUAL_ENV", Some(beside)) => Some(beside.clone()),
        _ => std::env::var(name).ok(),
    });
    Session::builder().device(choice).toolkit(toolkit).build().unwrap()
}

/// The module, unless there is no compiler.
fn module(session: &Session) -> Option<porcini_core::cuda_module::CudaModule> {
    match session.cuda_module(SOURCE, Options::default()) {
        Ok(module) => Some(module),
        Err(Error::Tool { reason, .. }) => {
            assert!(reason.contains("pip install nvidia-cuda-nvrtc"), "{reason}");
            gpu::say_skipped(&reason);
            None
        }
        // Its headers are a package of their own.
        Err(Error::Compilation { message, .. }) if message.contains("cuda_fp16.h") => {
            gpu::say_skipped(&message);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Launches a kernel and gives its last array.
fn launched(kernel: &ModuleKernel, args: &[LaunchArgument], shape: &Shape) -> Result<Array> {
    let session = args.iter().find_map(LaunchArgument::array).unwrap().session();
    let mut args = args.to_vec();
    kernel.launch(session, &mut args, shape)?;
    Ok(args.iter().rev().find_map(LaunchArgument::array).unwrap().clone())
}

fn array(array: &Array) -> LaunchArgument {
    LaunchArgument::Array(array.clone())
}

#[test]
fn what_does_not_fit_is_told_before_a_launch() {
    let session = session(DeviceChoice::Cpu);
    let Some(module) = module(&session) else { return };
    assert!(module.ptx(&session).unwrap().contains(".visible .entry axpy"));
    let axpy = module.kernel("axpy", None).unwrap();
    let x = session.zeros(DType::F32, 10).unwrap();
    let good = [array(&x), array(&x), LaunchArgument::Number(3.0.into())];
    let wide = session.zeros(DType::F64, 10).unwrap();
    let three = |x: i64, y: i64, z: i64| Some(vec![x, y, z]);
    let shape =
        |grid, block, shared_bytes| Shape { grid, block, shared_bytes, is_cooperative: false };
    let usual = shape(three(1, 1, 1), three(10, 1, 1), 0);
    for (args, shape, want) in [
        (good[..2].to_vec(), usual.clone(), "got 2 arguments, expected 3"),
        (
            vec![good[2].clone(), good[1].clone(), good[2].clone()],
            usual.clone(),
            "argument 0 is expected to be an array, got number",
        ),
        (
            vec![good[0].clone(), good[1].clone(), good[0].clone()],
            usual.clone(),
            "argument 2 is expected to be a number, got an array",
        ),
        (
            vec![array(&wide), good[1].clone(), good[2].clone()],
            usual.clone(),
            "argument 0 is expected to be float32, got float64",
        ),
        (good.to_vec(), shape(Some(vec![1, 1]), None, 0), "grid needs 3 integers, got 2"),
        (good.to_vec(), shape(three(0, 1, 1), None, 0), "grid 0 is not from 1 to"),
        (good.to_vec(), shape(None, three(2048, 1, 1), 0), "block 2048 > 1024 threads"),
        (good.to_vec(), shape(None, three(1 << 40, 1 << 40, 9), 0), "threads"),
        (good.to_vec(), shape(None, None, 10 << 20), "bytes of shared memory"),
        (good.to_vec(), usual, "needs an NVIDIA GPU"),
    ] {
        let error = launched(&axpy, &args, &shape).unwrap_err().to_string();
        assert!(error.starts_with("kernel `axpy`") && error.contains(want), "{error}");
    }
    for (name, signature, want) in [
        ("nope", None, "the module has no kernel `nope`"),
        (
            "axpy",
            Some("const 3x"),
            "invalid prototype \"const 3x\"; expected (const) type (*) (name)",
        ),
        ("axpy", Some("const complex *x"), "unsupported kernel argument type `complex`"),
    ] {
        let error = module.kernel(name, signature).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
    // Twice: failures are kept.
    for _ in 0..2 {
        let source = "__global__ void f(float *x) {\n  x[0] = y;\n}";
        let error = session.cuda_module(source, Options::default()).unwrap_err().to_string();
        assert!(error.contains("module.cu(2)") && error.contains("in: x[0] = y;"), "{error}");
    }
    // A kernel in a namespace is one, by its whole name or the last part.
    let source = "namespace inner { __global__ void f(float *x) { x[0] = 1; } }";
    let module = session.cuda_module(source, Options::default()).unwrap();
    assert!(module.ptx(&session).unwrap().contains(".entry"));
    assert_eq!(module.kernels(), [("inner::f".to_string(), "float *x".to_string())]);
    for name in ["f", "inner::f"] {
        assert_eq!(module.kernel(name, None).unwrap().name(), "inner::f");
    }
    let error = module.get(&session, "x", DType::F32).unwrap_err().to_string();
    assert!(error.starts_with("the module needs an NVIDIA GPU"), "{error}");
}

#[test]
fn modules_run_on_a_gpu() {
    let Some(_) = gpu::open() else { return };
    let session = session(DeviceChoice::Cuda(0));
    let Some(module) = module(&session) else { return };
    let axpy = module.kernel("axpy", Some("const float *x, float *y, float alpha")).unwrap();
    let x = session.full(DType::F32, 1, 10).unwrap();
    let mut y = session.zeros(DType::F32, 10).unwrap();
    let shape =
        Shape { grid: Some(vec![1, 1, 1]), block: Some(vec![10, 1, 1]), ..Shape::default() };
    // R46: twice, in place; a copy made between keeps its lanes, and what was recorded before sees the old ones.
    let mut before = Vec::new();
    for want in [3.0, 6.0] {
        before.push((y.try_add(1).unwrap(), y.clone()));
        let args = [array(&x), array(&y), LaunchArgument::Number(3.0.into())];
        y = launched(&axpy, &args, &shape).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), [want; 10]);
    }
    for ((recorded, copy), want) in before.iter().zip([0.0, 3.0]) {
        assert_eq!(recorded.to_vec::<f32>().unwrap(), [want + 1.0; 10]);
        assert_eq!(copy.to_vec::<f32>().unwrap(), [want; 10]);
    }
    // R47: templates by their types; a thread a lane by default.
    for dtype in [DType::F32, DType::F64] {
        let name = if dtype == DType::F32 { "scale<float>" } else { "scale<double>" };
        let scale = module.kernel(name, None).unwrap();
        let lanes = session.full(dtype, 3, 100_003).unwrap();
        let args = [
            array(&lanes),
            LaunchArgument::Number(0.5.into()),
            LaunchArgument::Number(100_003.into()),
        ];
        let scaled = launched(&scale, &args, &Shape::default()).unwrap();
        let is_scaled = scaled.eq(1.5).unwrap().reduce(porcini_core::ReduceOp::All).unwrap();
        assert_eq!(is_scaled.item(0).unwrap(), true.into(), "{dtype}");
    }
    let halves = module.kernel("halves", None).unwrap();
    let x = session.full(DType::F16, 1.5, 32).unwrap();
    let y = session.zeros(DType::F16, 32).unwrap();
    // They have no guard: as many threads as lanes.
    let threads = |n: i64| Shape { block: Some(vec![n, 1, 1]), ..Shape::default() };
    let doubled = launched(&halves, &[array(&x), array(&y)], &threads(32)).unwrap();
    assert_eq!(doubled.item(31).unwrap().to_f64(), 3.0);
    // Shared memory beyond 48 KiB.
    let reverse = module.kernel("reverse", None).unwrap();
    let x = session.arange(DType::I32, 0.into(), 1024.into(), 1.into()).unwrap();
    let y = session.zeros(DType::I32, 1024).unwrap();
    let args = [array(&x), array(&y), LaunchArgument::Number(1024.into())];
    let large = Shape { block: Some(vec![1024, 1, 1]), shared_bytes: 64 << 10, ..Shape::default() };
    let reversed = launched(&reverse, &args, &large).unwrap();
    assert_eq!(reversed.item(0).unwrap().to_f64(), 1023.0);
    // Variables of the module, which its kernels share.
    let x = session.array(&[1_f32, 2.0, 3.0, 4.0]).unwrap();
    for (name, factors, want) in [
        ("weighted", [5.0, 6.0, 7.0, 8.0], [5.0, 12.0, 21.0, 32.0]),
        ("counted", [1.0; 4], [2.0, 3.0, 4.0, 5.0]),
    ] {
        let kernel = module.kernel(name, None).unwrap();
        let written = session.array::<f32>(&factors).unwrap();
        module.set(&session, "coefficients", &written).unwrap();
        let y = session.zeros(DType::F32, 4).unwrap();
        let y = launched(&kernel, &[array(&x), array(&y)], &threads(4)).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), want, "{name}");
        let read = module.get(&session, "coefficients", DType::F32).unwrap();
        assert_eq!(read.to_vec::<f32>().unwrap(), factors);
        assert_eq!((kernel.stats().launches, kernel.types()), (1, "f32 const *, f32 *".into()));
        assert!(kernel.stats().registers > 0);
    }
    for (name, lanes, want) in
        [("other", 4, "no variable `other`"), ("coefficients", 5, "has 16 bytes")]
    {
        let lanes = session.zeros(DType::F32, lanes).unwrap();
        let error = module.set(&session, name, &lanes).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
    // A signature that the source does not have, and one that PTX does not have.
    let signature = Some("const float *x, float *y");
    assert!(module.kernel("axpy", signature).unwrap_err().to_string().contains("alpha"));
    let ptx = module.ptx(&session).unwrap();
    let compiled = session.cuda_binary(ptx.as_bytes()).unwrap();
    let mut entries = compiled.kernels().into_iter().map(|(name, _)| name);
    let entry = entries.find(|name| name.contains("axpy")).unwrap();
    let error = compiled.kernel(&entry, signature).unwrap_err().to_string();
    assert!(error.contains("8, 8, 4"), "{error}");
}

/// A thread gives long rows of launches to the driver: what comes between and behind them sees all, and a launch that is
/// refused is told.
#[test]
fn rows_of_launches_are_as_single_ones() {
    let Some(_) = gpu::open() else { return };
    let session = session(DeviceChoice::Cuda(0));
    let Some(module) = module(&session) else { return };
    let axpy = module.kernel("axpy", None).unwrap();
    let x = session.full(DType::F32, 1, 10).unwrap();
    let mut args = [
        array(&x),
        // Its one handle, so that no launch copies it; but the sum below is these zeros, too, until it is another.
        LaunchArgument::Array(session.zeros(DType::F32, 10).unwrap()),
        LaunchArgument::Number(1.0.into()),
    ];
    let shape = |blocks: i64, is_cooperative| Shape {
        grid: Some(vec![blocks, 1, 1]),
        block: Some(vec![10, 1, 1]),
        shared_bytes: 0,
        is_cooperative,
    };
    let launch = |args: &mut [LaunchArgument; 3]| {
        axpy.launch(&session, args, &shape(1, false)).unwrap();
    };
    let lanes = |args: &[LaunchArgument; 3]| args[1].array().unwrap().clone();
    let (mut want, mut total) = (0.0, 0.0);
    let mut sum = session.zeros(DType::F32, 10).unwrap();
    for row in [3_u16, 40, 1000, 5, 200, 3000, 64, 2000] {
        for _ in 0..row {
            launch(&mut args);
        }
        want += f32::from(row);
        // Another kernel reads it, then the host, and the thread sleeps before the next row.
        sum = sum.try_add(&lanes(&args)).unwrap();
        sum.eval().unwrap();
        total += want;
        assert_eq!(lanes(&args).to_vec::<f32>().unwrap(), [want; 10], "{row}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(sum.to_vec::<f32>().unwrap(), [total; 10]);
    for _ in 0..500 {
        launch(&mut args);
    }
    // More blocks than can run at once.
    let refused = axpy.launch(&session, &mut args, &shape(1 << 20, true));
    let error = refused.and_then(|()| session.sync()).unwrap_err().to_string();
    assert!(error.contains("launching a kernel"), "{error}");
    let last = lanes(&args);
    drop((axpy, module));
    assert_eq!(last.to_vec::<f32>().unwrap(), [want + 500.0; 10]);
}

/// Set in the process in which a kernel traps: the GPU fails for the whole process.
const TRAPS: &str = "PORCINI_MODULE_TRAPS";

#[test]
fn a_kernel_that_traps_is_named() {
    if std::env::var_os(TRAPS).is_some() {
        return trap();
    }
    if gpu::open().is_none() {
        return;
    }
    let (_, name) =
        concat!(module_path!(), "::a_kernel_that_traps_is_named").split_once("::").unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", name]).env(TRAPS, "1").output().unwrap();
    let [said, warned] = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
    let is_passed = output.status.success() && said.contains("1 passed");
    assert!(is_passed, "{}\n{said}{warned}", output.status);
}

fn trap() {
    let session = session(DeviceChoice::Auto);
    let source = "extern \"C\" __global__ void trap(int *x) { x[0] = 1; asm(\"trap;\"); }";
    let trap = match session.cuda_module(source, Options::default()) {
        Ok(module) => module.kernel("trap", None).unwrap(),
        Err(error) => return gpu::say_skipped(&error),
    };
    let lazy = session.arange(DType::F32, 0.into(), 4.into(), 1.into()).unwrap();
    let x = session.array(&[1, 2, 3]).unwrap();
    // Whether a launch of the row fails that sees the first one trapped, or the reading behind it.
    let mut args = [array(&x)];
    let row = (0..500).try_for_each(|_| trap.launch(&session, &mut args, &Shape::default()));
    let written = args[0].array().unwrap();
    let error = row.and_then(|()| written.to_vec::<i32>()).unwrap_err().to_string();
    assert!(error.contains("after `trap` of a CUDA module was launched"), "{error}");
    assert!(matches!(x.to_vec::<i32>(), Err(Error::Lost { .. })));
    // The session goes on, on the CPU: drivers give the process no context any more.
    assert_eq!(lazy.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0]);
}
