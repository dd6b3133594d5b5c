//! Modules of CUDA C++ that scripts write.

use std::any::TypeId;

use porcini_core::Value;
use porcini_core::cuda_module::{CudaModule, LaunchArgument, ModuleKernel, Options, Shape};
use rhai::{Dynamic, ImmutableString, Map};
use smallvec::SmallVec;

use super::files;
use super::kernels::lane_type;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::cuda_module::{ModuleKernelRef, ModuleRef};
use crate::value::{ArrayRef, Node, scalar, type_name};

/// Names of files that hold a module end so.
const FILES: [&str; 4] = [CPP, ".ptx", ".cubin", ".fatbin"];
/// Of these, those of sources.
const CPP: &str = ".cu";

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.engine.register_type_with_name::<ModuleRef>("cuda_module");
    registry.engine.register_type_with_name::<ModuleKernelRef>("cuda_kernel");
    documented(registry);
    of_variables(registry);
    registry.any("cuda_module", 1, |context, _, args| module(context, args[0], &Map::new()));
    registry.any("cuda_module", 2, |context, _, args| {
        let options = args[1].read_lock::<Map>().map(|options| options.clone());
        let got = || fault(format!("cuda_module: got {}, expected a map", type_name(args[1])));
        module(context, args[0], &options.ok_or_else(got)?)
    });
    let of_module = TypeId::of::<ModuleRef>();
    for arity in [2, 3] {
        registry.typed("kernel", of_module, arity, |context, _, args| {
            let module = of_script("kernel", args[0])?;
            let name = text("kernel", "a name", args[1])?;
            let signature = match args.get(2) {
                Some(signature) => Some(text("kernel", "a signature", signature)?),
                None => None,
            };
            let kernel = module.kernel(&name, signature.as_deref()).or_fault()?;
            context.module_kernels.borrow_mut().push(kernel.clone());
            Ok(ModuleKernelRef(kernel))
        });
    }
    registry.typed("get", of_module, 3, |context, _, args| {
        let module = of_script("get", args[0])?;
        let (name, dtype) = (text("get", "a name", args[1])?, text("get", "a type", args[2])?);
        let dtype = lane_type("get", &dtype)?;
        Ok(ArrayRef::from(Value::Array(module.get(&context.session, &name, dtype).or_fault()?)))
    });
    registry.typed("set", of_module, 3, |context, _, args| {
        let module = of_script("set", args[0])?;
        let name = text("set", "a name", args[1])?;
        let value = args[2].read_lock::<ArrayRef>().map(|array| array.clone());
        let got = || fault(format!("set: got {}, expected an array", type_name(args[2])));
        let value = value.ok_or_else(got)?.array("set")?;
        module.set(&context.session, &name, &value).or_fault()
    });
    for arity in 2..=5 {
        let of_kernel = TypeId::of::<ModuleKernelRef>();
        registry.typed("launch", of_kernel, arity, |context, call, args| {
            context.at(call);
            let kernel = args[0].read_lock::<ModuleKernelRef>().map(|kernel| kernel.0.clone());
            let kernel = kernel.ok_or_else(|| fault("launch: expected a kernel of a module"))?;
            launch(context, &kernel, args[1], &shape(&args[2..])?)
        });
    }
    members(registry);
}

fn documented(registry: &mut Registry<'_>) {
    registry.doc(
        "cuda_module",
        "(source, options)",
        "Compiles CUDA C++ by NVRTC, which comes with the CUDA toolkit or by pip install nvidia-cuda-nvrtc; porcini doctor says \
         where it is. PTX is taken as it is, and so are files: cuda_module(\"axpy.cubin\"), or .ptx, .fatbin, .cu. Options: #{options: [\"--use_fast_math\"], exports: [\"axpy<float>\"], headers: \
         #{\"mine.h\": \"..\"}}. m.kernel(\"axpy<float>\", \"const float *x, float *y, float alpha\") is a kernel; its signature may \
         be left out where the source says it. m.set(\"coef\", x) writes a __constant__ or __device__ variable, \
         m.get(\"coef\", \"f32\") gives its lanes; kernels that are no templates, and those of exports, share them. \
         m.source, m.kernels, m.ptx and m.sass can be looked at without a GPU; kernel_stats() counts launches. \
         kernel(text) is for kernels that run on every device and fuse.\n\n\
         m = cuda_module(`extern \"C\" __global__ void axpy(const float *x, float *y, float alpha) {\n  \
         int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] += alpha * x[i];\n}`)\n\
         x = FloatC::ones(10); y = FloatC::zeros(10)\n\
         m.kernel(\"axpy\").launch([x, y, 3.0], [1, 1, 1], [10, 1, 1])\n\n\
         >> m = cuda_module(\".version 7.8\\n.target sm_80\\n.address_size 64\\n.visible .entry f(.param .u32 n) { ret; }\"); \
         m.kernel(\"f\", \"int n\").name\nf",
    );
    registry.doc(
        "launch",
        "(kernel, arguments, grid, block, shared)",
        "Launches a kernel of a CUDA module on a list of arrays and numbers, without waiting: launch([x, y, 3.0], [1, 1, 1], [10, 1, 1], 0). \
         Arrays behind pointers to const are read, others written; the arrays see it under every name, copies do not. \
         Without grid and block there is a thread for each lane of the largest array, and more up to a whole block: if (i < n) guards. A map in their place names what is given: \
         #{grid: .., block: .., shared: .., cooperative: true}. Number, types and limits are checked before; what the kernel \
         does with its pointers is not.\n\n\
         >> m = cuda_module(\".version 7.8\\n.target sm_80\\n.address_size 64\\n.visible .entry f(.param .u32 n) { ret; }\"); \
         try { m.kernel(\"f\", \"int n\").launch([]) } catch (e) { print(e.message) }\n\
         launch: kernel `f`: got 0 arguments, expected 1",
    );
}

/// The module that a script holds.
fn of_script(op: &str, value: &Dynamic) -> Result<CudaModule> {
    let module = value.read_lock::<ModuleRef>().map(|module| module.0.clone());
    module.ok_or_else(|| fault(format!("{op}: expected a module")))
}

fn of_variables(registry: &mut Registry<'_>) {
    registry.doc(
        "get",
        "(module, name, type)",
        "Lanes of a variable of a CUDA module, __constant__ or __device__, as they are when the launches before have run: \
         m.get(\"coef\", \"f32\"). get(h), or e.get(h), is the value of what an engine was given to do, done now if it waits; \
         of a list or map of handles e.get gives one of their values. Lists and maps have get too: an element by its index or key.\n\n\
         >> e = engine(); get(e.push(\"sqrt\", FloatC([4, 9])))\n[2, 3]\n\
         >> m = cuda_module(\".version 7.8\\n.target sm_80\\n.address_size 64\\n.visible .entry f(.param .u32 n) { ret; }\"); \
         try { m.get(1, \"f32\") } catch (e) { print(e.message) }\n\
         get: got an integer, expected a name",
    );
    registry.doc(
        "set",
        "(module, name, x)",
        "Writes an array to the first lanes of a variable of a CUDA module, before the launches that follow: m.set(\"coef\", x). Lists \
         and maps have set too: an element by its index or key.\n\n\
         >> m = cuda_module(\".version 7.8\\n.target sm_80\\n.address_size 64\\n.visible .entry f(.param .u32 n) { ret; }\"); \
         try { m.set(\"coef\", 1) } catch (e) { print(e.message) }\n\
         set: got an integer, expected an array",
    );
}

fn text(op: &str, what: &str, value: &Dynamic) -> Result<String> {
    let text = value.read_lock::<ImmutableString>().map(|text| text.to_string());
    text.ok_or_else(|| fault(format!("{op}: got {}, expected {what}", type_name(value))))
}

fn texts(key: &str, value: &Dynamic) -> Result<Vec<String>> {
    match value.read_lock::<rhai::Array>() {
        Some(list) => list.iter().map(|one| text("cuda_module", key, one)).collect(),
        None => Ok(vec![text("cuda_module", key, value)?]),
    }
}

fn module(context: &Context, source: &Dynamic, given: &Map) -> Result<ModuleRef> {
    if let Some(code) = source.read_lock::<rhai::Blob>() {
        return context.session.cuda_binary(&code).map(ModuleRef).or_fault();
    }
    let mut source = text("cuda_module", "a source in CUDA C++", source)?;
    let is_file = |end: &&str| source.ends_with(*end) && !source.contains('\n');
    if FILES.iter().any(is_file) {
        let code = files::contents(context, "cuda_module", source.trim())?;
        match std::str::from_utf8(&code) {
            Ok(text) if source.ends_with(CPP) => source = text.into(),
            _ => return context.session.cuda_binary(&code).map(ModuleRef).or_fault(),
        }
    }
    let mut options = Options::default();
    for (key, value) in given {
        match key.as_str() {
            "options" => options.options = texts("options", value)?,
            "exports" => options.exports = texts("exports", value)?,
            "headers" => {
                let headers = value.read_lock::<Map>().map(|headers| headers.clone());
                let got = || fault(format!("cuda_module: got {} as headers", type_name(value)));
                for (name, content) in headers.ok_or_else(got)? {
                    let content = text("cuda_module", "the text of a header", &content)?;
                    options.headers.push((name.to_string(), content));
                }
            }
            _ => {
                let hint = "there are options, exports and headers";
                return Err(fault_with_hint(format!("cuda_module: no option `{key}`"), hint));
            }
        }
    }
    context.session.cuda_module(&source, options).map(ModuleRef).or_fault()
}

/// Three integers; one is along x.
fn integers(what: &str, value: &Dynamic) -> Result<Vec<i64>> {
    // `256 / 16` is a float.
    let whole = |value: &Dynamic| match (value.as_int(), value.as_float()) {
        (Ok(one), _) => Some(one),
        (_, Ok(float)) if float.fract() == 0.0 => format!("{float}").parse::<i64>().ok(),
        _ => None,
    };
    if let Some(one) = whole(value) {
        return Ok(vec![one, 1, 1]);
    }
    let list = value.read_lock::<rhai::Array>();
    let numbers = list.as_ref().and_then(|list| list.iter().map(whole).collect());
    let got = || fault(format!("launch: got {} as {what}, expected 3 integers", type_name(value)));
    numbers.ok_or_else(got)
}

fn shape(args: &[&mut Dynamic]) -> Result<Shape> {
    let mut shape = Shape::default();
    let shared = |value: &Dynamic| {
        let bytes = value.as_int().ok().and_then(|bytes| u64::try_from(bytes).ok());
        bytes.ok_or_else(|| fault("launch: shared memory is a number of bytes"))
    };
    if let [options] = args
        && let Some(options) = options.read_lock::<Map>()
    {
        for (key, value) in options.iter() {
            match key.as_str() {
                "grid" => shape.grid = Some(integers("grid", value)?),
                "block" => shape.block = Some(integers("block", value)?),
                "shared" => shape.shared_bytes = shared(value)?,
                "cooperative" => shape.is_cooperative = value.as_bool().unwrap_or(false),
                _ => {
                    let hint = "there are grid, block, shared and cooperative";
                    return Err(fault_with_hint(format!("launch: no option `{key}`"), hint));
                }
            }
        }
        return Ok(shape);
    }
    if let Some(grid) = args.first() {
        shape.grid = Some(integers("grid", grid)?);
    }
    if let Some(block) = args.get(1) {
        shape.block = Some(integers("block", block)?);
    }
    if let Some(bytes) = args.get(2) {
        shape.shared_bytes = shared(bytes)?;
    }
    Ok(shape)
}

fn launch(context: &Context, kernel: &ModuleKernel, args: &Dynamic, shape: &Shape) -> Result<()> {
    let Some(list) = args.read_lock::<rhai::Array>() else {
        let what = format!("launch: got {}, expected a list of arguments", type_name(args));
        return Err(fault_with_hint(what, "k.launch([x, y, 3.0], [1, 1, 1], [256, 1, 1])"));
    };
    let mut places: SmallVec<[Option<ArrayRef>; 8]> = SmallVec::new();
    let mut given: SmallVec<[LaunchArgument; 8]> = SmallVec::new();
    for (number, value) in list.iter().enumerate() {
        if let Some(number) = scalar(value) {
            places.push(None);
            given.push(LaunchArgument::Number(number));
            continue;
        }
        let array = value.read_lock::<ArrayRef>().map(|array| array.clone());
        let array = array.ok_or_else(|| {
            let got = type_name(value);
            fault(format!("launch: argument {number} is {got}, expected an array or a number"))
        })?;
        let (mut whole, mut is_its_own) = match &*array.node() {
            Node::Tensor(tensor) => {
                let mut parts = tensor.whole().or_fault()?.entries().or_fault()?;
                if parts.len() > 1 {
                    let what = format!("launch: argument {number} is complex, expected numbers");
                    return Err(fault_with_hint(what, "pass re(z) and im(z)"));
                }
                let whole = parts.swap_remove(0);
                let is_its_own = tensor.parts()[0].serial() == whole.serial();
                (whole, is_its_own)
            }
            _ => (array.array("launch")?, true),
        };
        context.session.check_change("launch", &whole).or_fault()?;
        // What is equal has one number: zeros and other zeros. Under two names they are two arrays.
        let is_other = |(place, given): (&Option<ArrayRef>, &LaunchArgument)| {
            let is_same = place.as_ref().is_some_and(|place| place.is(&array));
            !is_same && given.array().is_some_and(|given| given.serial() == whole.serial())
        };
        if places.iter().zip(&given).any(is_other) {
            whole = context.session.fork(&whole).or_fault()?;
            is_its_own = false;
        }
        given.push(if is_its_own {
            LaunchArgument::Shared(whole)
        } else {
            LaunchArgument::Array(whole)
        });
        places.push(Some(array));
    }
    kernel.launch(&context.session, &mut given, shape).or_fault()?;
    for (number, (place, given)) in places.into_iter().zip(given).enumerate() {
        let (Some(place), true) = (place, kernel.writes(number)) else { continue };
        let (LaunchArgument::Array(array) | LaunchArgument::Shared(array)) = given else {
            continue;
        };
        let shape = match &*place.node() {
            Node::Tensor(tensor) => Some(tensor.shape().extents().to_vec()),
            _ => None,
        };
        match shape {
            Some(shape) => {
                let tensor = porcini_core::tensor::Tensor::new(&array, &shape).or_fault()?;
                place.set(Node::Tensor(tensor));
            }
            None => place.set(Node::Leaf(array)),
        }
    }
    Ok(())
}

fn members(registry: &mut Registry<'_>) {
    let context = registry.context.clone();
    let engine = &mut *registry.engine;
    engine.register_get("source", |module: &mut ModuleRef| module.0.source().to_string());
    engine.register_get("kernels", |module: &mut ModuleRef| {
        module.kernels().into_iter().map(Into::into).collect::<rhai::Array>()
    });
    engine.register_get("name", |kernel: &mut ModuleKernelRef| kernel.0.name().to_string());
    let session = context.session.clone();
    engine.register_get("ptx", move |module: &mut ModuleRef| module.0.ptx(&session).or_fault());
    let session = context.session.clone();
    engine.register_get("sass", move |module: &mut ModuleRef| module.0.sass(&session).or_fault());
}
