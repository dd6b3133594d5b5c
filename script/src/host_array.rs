//! Arrays on the host: what `x.ndarray()` gives, and `.npy` files.

use std::cell::RefCell;
use std::io::Cursor;
use std::rc::Rc;

use ndarray::{ArrayD, IxDyn};
use ndarray_npy::{ReadNpyExt, WriteNpyExt};
use porcini_core::{Array, DType, Element, Scalar, Session};

use crate::display::{PrintOptions, number};
use crate::fault::{IntoFault, Result, fault};
use crate::value::ArrayRef;

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
            $variant(ArrayD<$t>),
        )* }

        impl HostData {
            fn shape(&self) -> Vec<usize> {
                match self { $(Self::$variant(array) => array.shape().to_vec(),)* }
            }

            fn dtype(&self) -> DType {
                match self { $(Self::$variant(_) => <$t>::DTYPE,)* }
            }

            fn zeros(dtype: DType, shape: &[usize]) -> Self {
                match dtype { $(DType::$variant => Self::$variant(ArrayD::default(shape)),)* }
            }

            fn ravel(&self) -> Self {
                match self { $(Self::$variant(array) => {
                    let elements: Vec<$t> = array.iter().copied().collect();
                    Self::$variant(ArrayD::from_shape_vec(IxDyn(&[elements.len()]), elements)
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

            /// Little-endian bytes of the elements whose last index is `component`, in order; of all
            /// elements for a one-dimensional array.
            fn column_bytes(&self, component: Option<usize>) -> Vec<u8> {
                match self { $(Self::$variant(array) => {
                    let width = DType::$variant.bytes();
                    let bytes = |x: &$t| x.to_bits64().to_le_bytes()[..width].to_vec();
                    match component {
                        Some(i) => {
                            let last = ndarray::Axis(array.ndim() - 1);
                            array.index_axis(last, i).iter().flat_map(bytes).collect()
                        }
                        None => array.iter().flat_map(bytes).collect(),
                    }
                })* }
            }

            /// Rows of `columns`, which have `lanes` lanes each (or one, repeated).
            fn from_columns(dtype: DType, shape: &[usize], columns: &[Array]) -> Result<Self> {
                match dtype { $(DType::$variant => {
                    let n = columns.len();
                    if let ([column], [_]) = (columns, shape) {
                        let lanes = column.to_vec::<$t>().or_fault()?;
                        let array = ArrayD::from_shape_vec(IxDyn(shape), lanes);
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
                    Ok(Self::$variant(array))
                })* }
            }

            fn write_npy(&self) -> std::result::Result<Vec<u8>, ndarray_npy::WriteNpyError> {
                let mut bytes = Cursor::new(Vec::new());
                match self { $(Self::$variant(array) => array.write_npy(&mut bytes)?,)* }
                Ok(bytes.into_inner())
            }
        }
    };
}
host_data!(Mask bool, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64);

impl HostRef {
    fn new(data: HostData, source: Option<ArrayRef>) -> Self {
        Self(Rc::new(RefCell::new(HostArray { data, source })))
    }

    /// The contents of an array value: shape `[lanes]`, or `[lanes, components]` of a vector.
    pub(crate) fn of(value: &ArrayRef) -> Result<Self> {
        let (dtype, shape) = (value.dtype(), checked_shape(value)?);
        Ok(Self::new(HostData::from_columns(dtype, &shape, &value.leaves())?, None))
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
        let data = HostData::from_columns(source.dtype(), &shape(&source)?, &source.leaves())?;
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

    /// One array with all elements, or with those whose last index is `component`.
    pub(crate) fn column(&self, session: &Session, component: Option<usize>) -> Result<Array> {
        let host = self.0.borrow();
        let bytes = host.data.column_bytes(component);
        session.from_bytes(host.data.dtype(), &bytes).or_fault()
    }

    /// The elements as nested lists, then `ndarray f32 [5, 3]`.
    pub(crate) fn text(&self, options: PrintOptions) -> Result<String> {
        let host = self.0.borrow();
        let (shape, dtype) = (host.data.shape(), host.data.dtype());
        let lines = nested(&host.data, &shape, 0, 1, options);
        let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
        Ok(format!("{lines}\nndarray {dtype} [{}]", extents.join(", ")))
    }

    /// Reads an `.npy` file. 8- and 16-bit integers come as 32-bit ones, half floats are not read.
    pub(crate) fn from_npy(path: &str, bytes: &[u8]) -> Result<Self> {
        macro_rules! try_types {
            ($($t:ty as $variant:ident |$x:ident| $convert:expr;)*) => { $(
                match ArrayD::<$t>::read_npy(Cursor::new(bytes)) {
                    Ok(array) => {
                        return Ok(Self::new(HostData::$variant(array.mapv(|$x| $convert)), None));
                    }
                    Err(ndarray_npy::ReadNpyError::WrongDescriptor(_)) => {}
                    Err(error) => return Err(fault(format!("read_npy: {path}: {error}"))),
                }
            )* };
        }
        try_types! {
            f64 as F64 |x| x;
            f32 as F32 |x| x;
            i64 as I64 |x| x;
            i32 as I32 |x| x;
            u64 as U64 |x| x;
            u32 as U32 |x| x;
            u8 as U32 |x| u32::from(x);
            i8 as I32 |x| i32::from(x);
            u16 as U32 |x| u32::from(x);
            i16 as I32 |x| i32::from(x);
            bool as Mask |x| x;
        }
        Err(fault(format!(
            "read_npy: {path}: element type not supported; save it as float64, float32 or an integer"
        )))
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
    Ok(match value.components() {
        Some(components) => vec![lanes, components.len()],
        None => vec![lanes],
    })
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

/// Nested lists of the elements from `start`, indented by `depth`.
fn nested(
    data: &HostData,
    shape: &[usize],
    start: usize,
    depth: usize,
    options: PrintOptions,
) -> String {
    let Some((&n, inner)) = shape.split_first() else {
        return data.element(start).map_or_else(String::new, |x| number(x, options.digits));
    };
    let stride: usize = inner.iter().product();
    let separator =
        if inner.is_empty() { ", ".into() } else { format!(",\n{}", " ".repeat(depth)) };
    let edge = usize::try_from(options.edge).unwrap_or(usize::MAX);
    let long = n as u64 > options.threshold && n > 2 * edge;
    let item = |i: usize| nested(data, inner, start + i * stride, depth + 1, options);
    let items: Vec<String> = if long {
        let skipped = format!(".. {} skipped ..", n - 2 * edge);
        (0..edge).map(item).chain([skipped]).chain((n - edge..n).map(item)).collect()
    } else {
        (0..n).map(item).collect()
    };
    format!("[{}]", items.join(&separator))
}
