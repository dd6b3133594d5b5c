//! Arrays on the host: what `x.ndarray()` gives, and `.npy` files.

use std::cell::RefCell;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

use ndarray::{ArcArray, ArrayD, Axis, IxDyn};
use ndarray_npy::{ReadNpyError, ReadNpyExt, WriteNpyExt};
use porcini_core::{Array, DType, Element, F16, Result as CoreResult, Scalar, Session, interrupt};

use crate::display::PrintOptions;
use crate::fault::{IntoFault, Result, Stop, fault, stop};
use crate::numbers::number;
use crate::value::ArrayRef;
use crate::writer::Writer;

/// A shared reference to a host array.
#[derive(Clone, Debug)]
pub(crate) struct HostRef(Rc<RefCell<HostArray>>);

#[derive(Debug)]
struct HostArray {
    data: HostData,
    /// The value that fills it at the next `eval()`, for `x.ndarray(false)`.
    source: Option<ArrayRef>,
}

macro_rules! host_data {
    ($($variant:ident $t:ty),*) => {
        /// An ndarray of one of the lane types.
        #[derive(Clone, Debug)]
        pub(crate) enum HostData { $(
            #[doc = concat!("Elements of type `", stringify!($t), "`.")]
            $variant(ArcArray<$t, IxDyn>),
        )* }

        impl HostData {
            fn shape(&self) -> Vec<usize> {
                match self { $(Self::$variant(array) => array.shape().to_vec(),)* }
            }

            fn dtype(&self) -> DType {
                match self { $(Self::$variant(_) => <$t>::DTYPE,)* }
            }

            fn zeros(dtype: DType, shape: &[usize]) -> Self {
                match dtype { $(DType::$variant => Self::$variant(ArcArray::default(shape)),)* }
            }

            fn ravel(&self) -> Self {
                match self { $(Self::$variant(array) => {
                    let elements: Vec<$t> = array.iter().copied().collect();
                    Self::$variant(ArcArray::from_shape_vec(IxDyn(&[elements.len()]), elements)
                        .expect("internal error: a vector has the length of its shape"))
                })* }
            }

            /// Element by its index in row-major order.
            fn element(&self, i: usize) -> Option<Scalar> {
                match self { $(Self::$variant(array) => {
                    let element = match array.as_slice() {
                        Some(elements) => elements.get(i),
                        None => array.iter().nth(i),
                    };
                    element.map(|x| DType::$variant.decode(x.to_bits64()))
                })* }
            }

            /// An array of the elements whose last index is `component`, in order; of all elements without
            /// a copy.
            fn column(&self, session: &Session, component: Option<usize>) -> CoreResult<Array> {
                match self { $(Self::$variant(array) => match component {
                    Some(i) => {
                        session.from_ndarray(&array.index_axis(Axis(array.ndim() - 1), i))
                    }
                    None => session.wrap_ndarray(array.clone()),
                })* }
            }

            /// Rows of `columns`, which have `lanes` lanes each (or one, repeated).
            fn from_columns(dtype: DType, shape: &[usize], columns: &[Array]) -> Result<Self> {
                match dtype { $(DType::$variant => {
                    let n = columns.len();
                    if let ([column], [_]) = (columns, shape) {
                        let lanes = column.to_vec::<$t>().or_fault()?;
                        let array = ArcArray::from_shape_vec(IxDyn(shape), lanes);
                        return Ok(Self::$variant(array.map_err(|error| fault(error.to_string()))?));
                    }
                    let mut array = ArrayD::<$t>::default(IxDyn(shape));
                    for (i, column) in columns.iter().enumerate() {
                        let lanes = column.to_vec::<$t>().or_fault()?;
                        let place = array.iter_mut().skip(i).step_by(n);
                        for (k, element) in place.enumerate() {
                            *element = lanes[if lanes.len() == 1 { 0 } else { k }];
                        }
                    }
                    Ok(Self::$variant(array.into_shared()))
                })* }
            }
        }
    };
}
host_data!(
    Mask bool, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64,
    F16 F16, F32 f32, F64 f64
);

/// The types of `.npy` files that `ndarray-npy` knows: all but f16.
macro_rules! npy_types {
    ($($variant:ident $t:ty),*) => {
        impl HostData {
            fn write_npy(&self) -> std::result::Result<Vec<u8>, ndarray_npy::WriteNpyError> {
                let mut bytes = Cursor::new(Vec::new());
                match self {
                    $(Self::$variant(array) => array.write_npy(&mut bytes)?,)*
                    Self::F16(array) => {
                        array.mapv(F16::to_bits).write_npy(&mut bytes)?;
                        let file = with_npy_letter(&bytes.into_inner(), b'u', b'f');
                        return Ok(file.expect("internal error: a u16 file that does not say so"));
                    }
                }
                Ok(bytes.into_inner())
            }

            /// `None` if the element type is not supported.
            fn read_npy(bytes: &[u8]) -> std::result::Result<Option<Self>, ReadNpyError> {
                if let Some(bits) = with_npy_letter(bytes, b'f', b'u') {
                    let bits = ArrayD::<u16>::read_npy(Pieces(&bits))?;
                    return Ok(Some(Self::F16(bits.mapv(F16::from_bits).into_shared())));
                }
                $(match ArrayD::<$t>::read_npy(Pieces(bytes)) {
                    Ok(array) => return Ok(Some(Self::$variant(array.into_shared()))),
                    Err(ReadNpyError::WrongDescriptor(_)) => {}
                    Err(error) => return Err(error),
                })*
                Ok(None)
            }
        }
    };
}
npy_types!(
    F64 f64, F32 f32, I64 i64, I32 i32, U64 u64, U32 u32, U8 u8, I8 i8, U16 u16, I16 i16, Mask bool
);

/// A file that is handed out piece by piece, until Ctrl-C.
struct Pieces<'f>(&'f [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        const PIECE: usize = 1 << 20;
        if interrupt::is_requested() {
            // What is called interrupted would be tried again.
            return Err(io::Error::other("Ctrl-C"));
        }
        let n = target.len().min(PIECE);
        self.0.read(&mut target[..n])
    }
}

/// Bytes that hold the element type, at the front of the header.
const NPY_START: usize = 80;

/// A 16-bit `.npy` file with another letter of its element type, `u` of u16 or `f` of f16; `None` if it is
/// of another type.
fn with_npy_letter(file: &[u8], from: u8, to: u8) -> Option<Vec<u8>> {
    let start = &file[..file.len().min(NPY_START)];
    let named =
        |word: &[u8]| matches!(word, [b'\'', b'<' | b'>', letter, b'2', b'\''] if *letter == from);
    let place = start.windows(5).position(named)?;
    let mut file = file.to_vec();
    file[place + 2] = to;
    Some(file)
}

impl HostRef {
    fn new(data: HostData, source: Option<ArrayRef>) -> Self {
        Self(Rc::new(RefCell::new(HostArray { data, source })))
    }

    /// The contents of an array value: shape `[lanes]`, or `[lanes, components]` of a vector; of deeper
    /// nesting the outermost components come last.
    pub(crate) fn of(value: &ArrayRef) -> Result<Self> {
        let (dtype, shape) = (value.dtype(), checked_shape(value)?);
        Ok(Self::new(HostData::from_columns(dtype, &shape, &columns(value)?)?, None))
    }

    /// Zeros of the same shape, to be filled by the next `eval()`.
    pub(crate) fn deferred(value: &ArrayRef) -> Result<Self> {
        let data = HostData::zeros(value.dtype(), &checked_shape(value)?);
        Ok(Self::new(data, Some(value.copy())))
    }

    /// All elements in row-major order, as one dimension.
    pub(crate) fn ravel(&self) -> Self {
        Self::new(self.0.borrow().data.ravel(), None)
    }

    /// The arrays that fill it, until it is filled.
    pub(crate) fn source(&self) -> Option<ArrayRef> {
        self.0.borrow().source.clone()
    }

    /// Takes the contents of its source.
    pub(crate) fn fill(&self) -> Result<()> {
        let Some(source) = self.source() else { return Ok(()) };
        let data = HostData::from_columns(source.dtype(), &shape(&source)?, &columns(&source)?)?;
        *self.0.borrow_mut() = HostArray { data, source: None };
        Ok(())
    }

    /// Whether nothing but the list of deferred arrays holds it.
    pub(crate) fn is_forgotten(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }

    /// Extents, outermost first.
    pub(crate) fn shape(&self) -> Vec<usize> {
        self.0.borrow().data.shape()
    }

    /// Element type.
    pub(crate) fn dtype(&self) -> DType {
        self.0.borrow().data.dtype()
    }

    /// Element by its index in row-major order.
    pub(crate) fn element(&self, i: usize) -> Option<Scalar> {
        self.0.borrow().data.element(i)
    }

    /// One array with all elements, without a copy, or with those whose last index is `component`.
    pub(crate) fn column(&self, session: &Session, component: Option<usize>) -> Result<Array> {
        self.0.borrow().data.column(session, component).or_fault()
    }

    /// Writes the elements as nested lists, then `ndarray f32 [5, 3]`.
    pub(crate) fn write(&self, out: &mut Writer, options: PrintOptions) -> Result<()> {
        let host = self.0.borrow();
        let (shape, dtype) = (host.data.shape(), host.data.dtype());
        write_nested(out, &host.data, &shape, 0, 1, options)?;
        let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
        out.put(&format!("\nndarray {dtype} [{}]", extents.join(", ")))
    }

    /// Reads an `.npy` file.
    pub(crate) fn from_npy(path: &str, bytes: &[u8]) -> Result<Self> {
        match HostData::read_npy(bytes) {
            Ok(Some(data)) => Ok(Self::new(data, None)),
            Ok(None) => Err(fault(format!(
                "read_npy: {path}: element type not supported; save it as a float, an integer or a bool"
            ))),
            Err(_) if interrupt::is_requested() => Err(stop(Stop::Interrupt)),
            Err(error) => Err(fault(format!("read_npy: {path}: {error}"))),
        }
    }

    /// The contents of an `.npy` file.
    pub(crate) fn to_npy(&self) -> Result<Vec<u8>> {
        let bytes = self.0.borrow().data.write_npy();
        bytes.map_err(|error| fault(format!("write_npy: {error}")))
    }
}

fn shape(value: &ArrayRef) -> Result<Vec<usize>> {
    let lanes = value.lanes().and_then(|lanes| usize::try_from(lanes).ok());
    let lanes = lanes.ok_or_else(|| fault("ndarray: the components have different sizes"))?;
    Ok(std::iter::once(lanes).chain(value.extents().into_iter().rev()).collect())
}

/// The arrays inside, in the order in which a lane's elements follow one another.
fn columns(value: &ArrayRef) -> Result<Vec<Array>> {
    value.rows().iter().map(|leaf| leaf.array("ndarray")).collect()
}

/// The shape of a value whose contents fit the host.
fn checked_shape(value: &ArrayRef) -> Result<Vec<usize>> {
    let shape = shape(value)?;
    let bytes = shape
        .iter()
        .fold(value.dtype().bytes() as u64, |bytes, &extent| bytes.saturating_mul(extent as u64));
    if let Some(leaf) = value.leaves().first() {
        leaf.session().check_host_memory(bytes).or_fault()?;
    }
    Ok(shape)
}

/// Writes nested lists of the elements from `start`, indented by `depth`.
fn write_nested(
    out: &mut Writer,
    data: &HostData,
    shape: &[usize],
    start: usize,
    depth: usize,
    options: PrintOptions,
) -> Result<()> {
    let Some((&n, inner)) = shape.split_first() else {
        let text = data.element(start).map_or_else(String::new, |x| number(x, options.digits));
        return out.put(&text);
    };
    let stride: usize = inner.iter().product();
    let separator =
        if inner.is_empty() { ", ".into() } else { format!(",\n{}", " ".repeat(depth)) };
    let edge = usize::try_from(options.edge).unwrap_or(usize::MAX);
    let long = n as u64 > options.threshold && n > edge.saturating_mul(2);
    let skipped = if long { edge..n - edge } else { n..n };
    out.put("[")?;
    for i in (0..skipped.start).chain(skipped.end..n) {
        out.put(if i == 0 { "" } else { &separator })?;
        if long && i == skipped.end {
            out.put(&format!(".. {} skipped ..{separator}", skipped.len()))?;
        }
        write_nested(out, data, inner, start + i * stride, depth + 1, options)?;
    }
    out.put("]")
}
