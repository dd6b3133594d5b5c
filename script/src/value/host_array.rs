//! Arrays on the host: what `x.ndarray()` gives, and `.npy` files.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::slice;
use std::sync::Arc;

use ndarray::{ArcArray, Axis, IxDyn, ShapeBuilder, StrideShape};
use porcini_core::memory::caching_allocator::{Bytes, Held};
use porcini_core::{Array, DType, Element, F16, Result as CoreResult, Scalar, Session};

use crate::fault::{IntoFault, Result, fault};
use crate::value::npy::{self, Header};
use crate::value::{ArrayRef, Form, Node};

/// A shared reference to a host array.
#[derive(Clone, Debug)]
pub(crate) struct HostRef(Rc<RefCell<HostArray>>);

#[derive(Debug)]
struct HostArray {
    data: Data,
    /// Whether the last extent is of the two parts of complex numbers, which a file has in its place.
    is_complex: bool,
    /// The value that fills it at the next `eval()`, for `x.ndarray(false)`.
    source: Option<ArrayRef>,
    /// What its elements take of the session's memory.
    room: Room,
}

/// Memory of elements, counted as long as something shares them.
type Room = Option<Arc<Held>>;

/// Elements in row-major order that an array shares.
struct Lent<T>(ArcArray<T, IxDyn>, #[expect(dead_code, reason = "dropped with it")] Room);

impl<T> AsRef<[T]> for Lent<T> {
    fn as_ref(&self) -> &[T] {
        self.0.as_slice().unwrap_or_default()
    }
}

/// Where the elements are.
#[derive(Debug)]
enum Data {
    Here(HostData),
    /// In the parts of a device, which have read them from a file by themselves; in row-major order.
    Shared {
        array: Array,
        shape: Vec<usize>,
    },
}

impl Data {
    /// The elements here.
    fn here(&self) -> Result<Cow<'_, HostData>> {
        match self {
            Self::Here(data) => Ok(Cow::Borrowed(data)),
            Self::Shared { array, shape } => {
                array.session().check_host_memory(array.bytes()).or_fault()?;
                let flat = [shape.iter().product()];
                let all = HostData::from_columns(array.dtype(), &flat, slice::from_ref(array))?;
                all.reshape(shape).map(Cow::Owned)
            }
        }
    }
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

            fn zeros(dtype: DType, shape: &[usize]) -> Result<Self> {
                match dtype { $(DType::$variant => shaped(IxDyn(shape), zeros::<$t>(shape)?).map(Self::$variant),)* }
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
            fn column(&self, session: &Session, component: Option<usize>, room: &Room) -> CoreResult<Array> {
                match self { $(Self::$variant(array) => match component {
                    Some(i) => {
                        session.from_ndarray(&array.index_axis(Axis(array.ndim() - 1), i))
                    }
                    None if array.is_standard_layout() => {
                        session.wrap(Lent(array.clone(), room.clone()))
                    }
                    None => session.from_ndarray(&array.view()),
                })* }
            }

            /// The elements of an `.npy` file.
            fn read(header: &Header, bytes: &[u8]) -> Result<Self> {
                let mut extents = header.shape.clone();
                // The parts of a complex number stand side by side whatever the order.
                let parts_first = header.is_complex && header.fortran_order;
                if parts_first {
                    extents.rotate_right(1);
                }
                let shape = IxDyn(&extents).set_f(header.fortran_order);
                let data = match header.dtype { $(DType::$variant => {
                    shaped(shape, header.elements::<$t>(bytes)?).map(Self::$variant)
                })* };
                let data = if parts_first { data?.with_last(0) } else { data? };
                data.in_rows()
            }

            /// The same in row-major order, which everybody shares: a file may have another one.
            fn in_rows(self) -> Result<Self> {
                match &self { $(Self::$variant(array) if !array.is_standard_layout() => {
                    let mut elements = room::<$t>(array.len())?;
                    elements.extend(array.iter().copied());
                    shaped(IxDyn(array.shape()), elements).map(Self::$variant)
                })* _ => Ok(self) }
            }

            /// The same elements with one axis behind the others.
            fn with_last(self, axis: usize) -> Self {
                match self { $(Self::$variant(array) => {
                    let mut axes: Vec<usize> = (0..array.ndim()).collect();
                    axes[axis..].rotate_left(1);
                    Self::$variant(array.permuted_axes(axes))
                })* }
            }

            /// The same elements, shared, in another shape.
            fn reshape(&self, shape: &[usize]) -> Result<Self> {
                match self { $(Self::$variant(array) => {
                    let shaped = array.clone().into_shape_with_order(IxDyn(shape));
                    shaped.map(Self::$variant).map_err(|error| fault(error.to_string()))
                })* }
            }

            /// The contents of an `.npy` file.
            fn write(&self, is_complex: bool) -> Result<Vec<u8>> {
                match self { $(Self::$variant(array) => {
                    if let Some(elements) = array.as_slice() {
                        return npy::write(array.shape(), is_complex, elements);
                    }
                    let mut elements = room::<$t>(array.len())?;
                    elements.extend(array.iter().copied());
                    npy::write(array.shape(), is_complex, &elements)
                })* }
            }

            /// Rows of `columns`, which have `lanes` lanes each (or one, repeated).
            fn from_columns(dtype: DType, shape: &[usize], columns: &[Array]) -> Result<Self> {
                match dtype { $(DType::$variant => {
                    let n = columns.len();
                    if let ([column], [_]) = (columns, shape) {
                        let lanes = column.to_vec::<$t>().or_fault()?;
                        return shaped(IxDyn(shape), lanes).map(Self::$variant);
                    }
                    let mut elements = zeros::<$t>(shape)?;
                    for (i, column) in columns.iter().enumerate() {
                        let lanes = column.to_vec::<$t>().or_fault()?;
                        let place = elements.iter_mut().skip(i).step_by(n);
                        for (k, element) in place.enumerate() {
                            *element = lanes[if lanes.len() == 1 { 0 } else { k }];
                        }
                    }
                    shaped(IxDyn(shape), elements).map(Self::$variant)
                })* }
            }
        }
    };
}
host_data!(
    Mask bool, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64,
    F16 F16, F32 f32, F64 f64
);

/// Room for elements, whose number a script or a file says.
fn room<T>(n: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    let bytes = Bytes(n.saturating_mul(size_of::<T>()) as u64);
    let refused = |_| fault(format!("ndarray: out of memory: the elements take {bytes}"));
    elements.try_reserve_exact(n).map_err(refused)?;
    Ok(elements)
}

fn zeros<T: Element>(shape: &[usize]) -> Result<Vec<T>> {
    let n = shape.iter().fold(1, |n: usize, &extent| n.saturating_mul(extent));
    let mut elements = room(n)?;
    elements.resize(n, T::default());
    Ok(elements)
}

fn shaped<T, S>(shape: S, elements: Vec<T>) -> Result<ArcArray<T, IxDyn>>
where
    S: Into<StrideShape<IxDyn>>,
{
    ArcArray::from_shape_vec(shape, elements).map_err(|error| fault(error.to_string()))
}

/// Counts what elements take, in the memory of a value's session.
fn held_for(value: &ArrayRef, data: &HostData) -> Result<Room> {
    value.leaves().first().map_or(Ok(None), |leaf| held(leaf.session(), data))
}

fn held(session: &Session, data: &HostData) -> Result<Room> {
    let n = data.shape().iter().product::<usize>() as u64;
    let held = session.hold_host_memory(n.saturating_mul(data.dtype().bytes() as u64));
    Ok(held.or_fault()?.map(Arc::new))
}

impl HostRef {
    fn new(data: HostData, is_complex: bool, room: Room) -> Self {
        let data = Data::Here(data);
        Self(Rc::new(RefCell::new(HostArray { data, is_complex, source: None, room })))
    }

    fn counted(session: &Session, data: HostData, is_complex: bool) -> Result<Self> {
        let room = held(session, &data)?;
        Ok(Self::new(data, is_complex, room))
    }

    /// Elements that the parts of a device have, in row-major order.
    pub(crate) fn shared(array: Array, shape: Vec<usize>) -> Self {
        let data = Data::Shared { array, shape };
        Self(Rc::new(RefCell::new(HostArray { data, is_complex: false, source: None, room: None })))
    }

    /// The contents of an array value: shape `[lanes]`, or `[lanes, components]` of a vector; of deeper
    /// nesting the outermost components come last. A tensor has its own shape, the parts of complex entries last.
    pub(crate) fn of(value: &ArrayRef) -> Result<Self> {
        let (dtype, shape) = (value.dtype(), checked_shape(value)?);
        let data = HostData::from_columns(dtype, &shape, &columns(value)?)?;
        let room = held_for(value, &data)?;
        Ok(Self::new(data, has_complex_entries(value), room))
    }

    /// The same as a file has it: numbers that are complex with their parts side by side.
    pub(crate) fn for_file(value: &ArrayRef) -> Result<Self> {
        let host = Self::of(value)?;
        // The parts of a tensor's entries stand there already, those of nested values behind the lanes.
        if matches!(value.dtype(), DType::F32 | DType::F64) && has_complex_lanes(value) {
            let host = host.0.borrow();
            let data = host.data.here()?.into_owned().with_last(1);
            return Ok(Self::new(data, true, host.room.clone()));
        }
        Ok(host)
    }

    /// The one array that holds all elements as [`HostRef::for_file`] has them, and their shape; `None` of what is made of
    /// several, or complex.
    pub(crate) fn as_one(value: &ArrayRef) -> Option<(Array, Vec<usize>)> {
        let columns = columns(value).ok().filter(|_| !has_complex_entries(value))?;
        let [array] = columns.try_into().ok()?;
        let shape = shape(value).ok()?;
        let n = shape.iter().product::<usize>() as u64;
        (array.size() == n && value.components().is_none()).then_some((array, shape))
    }

    /// Zeros of the same shape, to be filled by the next `eval()`.
    pub(crate) fn deferred(value: &ArrayRef) -> Result<Self> {
        let zeros = HostData::zeros(value.dtype(), &checked_shape(value)?)?;
        let (room, data) = (held_for(value, &zeros)?, Data::Here(zeros));
        let source = Some(value.copy());
        let is_complex = has_complex_entries(value);
        Ok(Self(Rc::new(RefCell::new(HostArray { data, is_complex, source, room }))))
    }

    /// All elements in row-major order, as one dimension.
    pub(crate) fn ravel(&self) -> Result<Self> {
        self.reshape(&[self.shape().iter().product()])
    }

    /// All elements in row-major order in a shape for as many.
    pub(crate) fn reshape(&self, shape: &[usize]) -> Result<Self> {
        let got = self.shape();
        let n = shape.iter().try_fold(1_usize, |n, &extent| n.checked_mul(extent));
        if n != Some(got.iter().product()) {
            return Err(fault(format!(
                "reshape: {got:?} and {shape:?} have different numbers of elements"
            )));
        }
        let host = self.0.borrow();
        match &host.data {
            Data::Here(data) => Ok(Self::new(data.reshape(shape)?, false, host.room.clone())),
            Data::Shared { array, .. } => Ok(Self::shared(array.clone(), shape.to_vec())),
        }
    }

    /// The arrays that fill it, until it is filled.
    pub(crate) fn source(&self) -> Option<ArrayRef> {
        self.0.borrow().source.clone()
    }

    /// Takes the contents of its source.
    pub(crate) fn fill(&self) -> Result<()> {
        let Some(source) = self.source() else { return Ok(()) };
        let data = HostData::from_columns(source.dtype(), &shape(&source)?, &columns(&source)?)?;
        let mut host = self.0.borrow_mut();
        host.data = Data::Here(data);
        host.source = None;
        Ok(())
    }

    /// Whether nothing but the list of deferred arrays holds it.
    pub(crate) fn is_forgotten(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }

    /// Extents, outermost first.
    pub(crate) fn shape(&self) -> Vec<usize> {
        match &self.0.borrow().data {
            Data::Here(data) => data.shape(),
            Data::Shared { shape, .. } => shape.clone(),
        }
    }

    /// Element type.
    pub(crate) fn dtype(&self) -> DType {
        match &self.0.borrow().data {
            Data::Here(data) => data.dtype(),
            Data::Shared { array, .. } => array.dtype(),
        }
    }

    /// Element by its index in row-major order.
    pub(crate) fn element(&self, i: usize) -> Result<Scalar> {
        match &self.0.borrow().data {
            Data::Here(data) => {
                Ok(data.element(i).expect("internal error: an element less than the shape says"))
            }
            Data::Shared { array, .. } => {
                array.item(i64::try_from(i).unwrap_or(i64::MAX)).or_fault()
            }
        }
    }

    /// Whether the last extent is of the parts of complex numbers.
    pub(crate) fn is_complex(&self) -> bool {
        self.0.borrow().is_complex
    }

    /// One array with all elements, without a copy, or with those whose last index is `component`.
    pub(crate) fn column(&self, session: &Session, component: Option<usize>) -> Result<Array> {
        let host = self.0.borrow();
        match &host.data {
            Data::Shared { array, .. } if component.is_none() && session.is(array.session()) => {
                Ok(array.clone())
            }
            // Also what another device has, since host arrays go anywhere.
            data => data.here()?.column(session, component, &host.room).or_fault(),
        }
    }

    /// The same with all elements here, for who looks at each of them.
    pub(crate) fn fetched(&self) -> Result<Self> {
        let host = self.0.borrow();
        Ok(Self::new(host.data.here()?.into_owned(), host.is_complex, host.room.clone()))
    }

    /// The array in an `.npy` file.
    pub(crate) fn from_npy(session: &Session, file: &[u8]) -> Result<Self> {
        let (header, bytes) = Header::read(file).map_err(|refusal| fault(refusal.to_string()))?;
        session.check_host_memory(bytes.len() as u64).or_fault()?;
        Self::counted(session, HostData::read(&header, bytes)?, header.is_complex)
    }

    /// The contents of an `.npy` file.
    pub(crate) fn to_npy(&self) -> Result<Vec<u8>> {
        let host = self.0.borrow();
        host.data.here()?.write(host.is_complex)
    }
}

/// Whether it is a tensor of complex numbers.
fn has_complex_entries(value: &ArrayRef) -> bool {
    matches!(&*value.node(), Node::Tensor(tensor) if tensor.is_complex())
}

/// Whether what lanes of nested values are made of first are complex numbers.
fn has_complex_lanes(value: &ArrayRef) -> bool {
    match value.components().and_then(|components| components.into_iter().next()) {
        Some(first) if first.components().is_some() => has_complex_lanes(&first),
        Some(_) => value.form() == Form::Complex,
        None => false,
    }
}

fn shape(value: &ArrayRef) -> Result<Vec<usize>> {
    if let Node::Tensor(tensor) = &*value.node() {
        let parts = tensor.is_complex().then_some(2);
        let extents = tensor.shape().extents().iter().copied().chain(parts);
        return Ok(extents.map(|n| usize::try_from(n).unwrap_or(usize::MAX)).collect());
    }
    let lanes = value.lanes().and_then(|lanes| usize::try_from(lanes).ok());
    let lanes = lanes.ok_or_else(|| fault("ndarray: the components have different sizes"))?;
    Ok(std::iter::once(lanes).chain(value.extents().into_iter().rev()).collect())
}

/// The arrays inside, in the order in which a lane's elements follow one another.
fn columns(value: &ArrayRef) -> Result<Vec<Array>> {
    if value.form() == Form::Tensor {
        return value.contents();
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_share_elements() {
        let session = Session::new().unwrap();
        let value = session.arange(DType::I32, 0.into(), 6.into(), 1.into()).unwrap();
        let host = HostRef::of(&ArrayRef::leaf(value)).unwrap();
        let used = session.memory_info().used;
        let row = host.reshape(&[2, 3]).unwrap().ravel().unwrap();
        assert_eq!(session.memory_info().used, used);
        assert_eq!((row.shape(), row.element(4).unwrap()), (vec![6], 4.into()));
    }

    #[test]
    fn columns_of_a_file_become_rows() {
        let columns = ArcArray::from_shape_vec(IxDyn(&[2, 2]).f(), vec![1, 2, 3, 4]).unwrap();
        let row = HostData::I32(columns).in_rows().unwrap().reshape(&[4]).unwrap();
        let elements: Vec<_> = (0..4).filter_map(|i| row.element(i)).collect();
        assert_eq!(elements, [1, 3, 2, 4].map(Scalar::Int));
    }
}
