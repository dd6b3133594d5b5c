//! Arrays of a function's own: `float w[3]`, `float m[2][3]`. Each element is a variable, which only an index that is known names; any other
//! looks at all of them.

use super::item::Item;
use super::parse::Parser;
use super::program::Captured;
use super::record::Recorder;
use super::tree::{Expression, Local, Term};
use super::trouble::{Span, Trouble};
use super::types::TypeName;
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::Scalar;
use crate::ir::op::Op;

/// How the variables are called that hold the indices of an element that is stepped; no text can spell it.
const INDEX: &str = "the index";

/// Elements of an array of a function's own, at most.
const MOST_ELEMENTS: usize = 256;

impl Parser<'_> {
    /// What stands behind the name of such an array: `[3]` or `[2][3] = {{1, 2}}`, the rest being 0. The variables that it
    /// is.
    pub(super) fn local(
        &mut self,
        name: &str,
        at: Span,
        type_name: &TypeName,
    ) -> Result<Vec<(String, Option<Expression>)>, Trouble> {
        let mut counts = Vec::new();
        while self.takes("[") {
            let is_told = !self.is("]");
            let count = if is_told { Some(self.expression()?) } else { None };
            self.expect("]", "behind the number of elements")?;
            counts.push(count.map(|count| self.known_count(&count).unwrap_or(0)));
        }
        // How many rows there are, the elements may say.
        let (first, rows) = counts.split_first().expect("internal error: no axis");
        let rows: Vec<usize> = rows.iter().map(|count| count.unwrap_or(0)).collect();
        let n_of_row = rows.iter().try_fold(1_usize, |n, &row| n.checked_mul(row));
        let n_of_row = n_of_row.filter(|n| (1..=MOST_ELEMENTS).contains(n));
        let all = counts.iter().map(|count| count.unwrap_or(1));
        let all = all.fold(1_usize, usize::saturating_mul);
        let unknown = || {
            let (what, remedy) = if all > MOST_ELEMENTS {
                let what = format!("`{name}` has {all} elements, expected at most {MOST_ELEMENTS}");
                (what, format!("pass an array of the script: raw {type_name} {name}"))
            } else {
                let most = format!("1 to {MOST_ELEMENTS}");
                let what = format!("`{name}` has no known number of elements, {most}");
                (what, "write the number, or give it a name by #define N 4".into())
            };
            Trouble::new(at, what).with(Some(remedy))
        };
        let n_of_row = n_of_row.ok_or_else(unknown)?;
        let values = if self.takes("=") { self.elements(&rows)? } else { Vec::new() };
        let n_rows = first.unwrap_or(values.len().div_ceil(n_of_row));
        let n = n_rows.checked_mul(n_of_row).filter(|n| (1..=MOST_ELEMENTS).contains(n));
        let n = n.ok_or_else(unknown)?;
        if values.len() > n {
            let what = format!("`{name}` has {n} elements, and got {}", values.len());
            return Err(Trouble::new(at, what));
        }
        if *type_name == TypeName::Auto {
            let what = format!("`{name}` has no type");
            return Err(Trouble::new(at, what).with(Some("float w[4]".into())));
        }
        let axes = std::iter::once(n_rows).chain(rows).collect();
        let local = Local { name: name.into(), axes };
        let values = values.into_iter().chain(std::iter::repeat_with(|| zero(at)));
        let declared = local.elements().zip(values.map(Some)).collect();
        self.locals.push((local, self.names.len()));
        Ok(declared)
    }

    /// `{1, {2, 3}}`: elements of rows, which have such axes; in braces of their own they are filled with 0.
    fn elements(&mut self, rows: &[usize]) -> Result<Vec<Expression>, Trouble> {
        self.expect("{", "and the elements")?;
        let n_of_row: usize = rows.iter().product();
        let mut values: Vec<Expression> = Vec::new();
        let mut is_first = true;
        while !self.takes("}") {
            if !std::mem::take(&mut is_first) {
                self.expect(",", "or `}` behind an element")?;
                if self.takes("}") {
                    break;
                }
            }
            let at = self.span();
            match rows.split_first() {
                Some((_, inner)) if self.is("{") => {
                    let row = self.deeper(|parser| parser.elements(inner))?;
                    if row.len() > n_of_row {
                        let what = format!("a row has {n_of_row} elements, and got {}", row.len());
                        return Err(Trouble::new(at, what));
                    }
                    let start = values.len().next_multiple_of(n_of_row);
                    values.resize_with(start, || zero(at));
                    values.extend(row);
                    values.resize_with(start + n_of_row, || zero(at));
                }
                _ => values.push(self.conditional()?),
            }
            if values.len() > MOST_ELEMENTS {
                let what = format!("an array of a function has {MOST_ELEMENTS} elements at most");
                return Err(Trouble::new(at, what));
            }
        }
        Ok(values)
    }

    /// The value of a number of elements.
    fn known_count(&mut self, count: &Expression) -> Option<usize> {
        let number = match &count.kind {
            Term::Number(number, _) => *number,
            Term::Name(name) => match self.known_number(name) {
                Some(number) => number,
                None => match self.capture(name)? {
                    Captured::Number(number) => *number,
                    Captured::Unknown => Scalar::Int(1),
                    Captured::Kernel(_) | Captured::Array => return None,
                },
            },
            Term::Apply(op, parts) => {
                let [a, b] = &parts[..] else { return None };
                let (a, b) = (self.known_count(a)?, self.known_count(b)?);
                return match op {
                    Op::Add => a.checked_add(b),
                    Op::Sub => a.checked_sub(b),
                    Op::Mul => a.checked_mul(b),
                    _ => None,
                };
            }
            _ => return None,
        };
        number.integer().and_then(|number| usize::try_from(number).ok())
    }

    /// The array that a name in sight is, unless a variable behind it has the name.
    pub(super) fn known_local(&self, name: &str) -> Option<Local> {
        let (local, place) = self.locals.iter().rfind(|(local, _)| local.name == name)?;
        let other = self.names.iter().rposition(|known| known == name);
        other.is_none_or(|other| other < *place).then(|| local.clone())
    }

    /// An element of an array of the function's own, whose name was read.
    pub(super) fn local_element(&mut self, local: Local, at: Span) -> Result<Expression, Trouble> {
        let mut indices = Vec::new();
        while self.takes("[") {
            indices.push(self.expression()?);
            self.expect("]", "behind the index")?;
        }
        let (n_axes, got) = (local.axes.len(), indices.len());
        let at = at.to(self.last_span());
        if got != n_axes {
            let what = match (got, n_axes) {
                (0, _) => format!("`{}` is a whole array, expected an element", local.name),
                (_, 1) => format!("`{}` has one axis", local.name),
                _ => format!("`{}` has {n_axes} axes, and got {got}", local.name),
            };
            let axes = ["[j]", "[k]", "[l]"].into_iter().chain(std::iter::repeat("[..]"));
            let remedy = format!("{}{}", local.name, axes.take(n_axes).collect::<String>());
            return Err(Trouble::new(at, what).with(Some(remedy)));
        }
        Ok(Expression { at, kind: Term::Local(local, indices) })
    }
}

/// The element of an array that nothing was said of.
fn zero(at: Span) -> Expression {
    Expression { at, kind: Term::Number(Scalar::Int(0), None) }
}

/// Where an element is.
enum Element {
    /// The variable of this number.
    At(usize),
    /// One of these, each in the lanes of a mask.
    Among(Vec<(usize, Array)>),
}

/// An index along an axis.
enum Index {
    Known(usize),
    /// By lane.
    Of(Array),
}

impl Recorder<'_> {
    fn index_along(
        &mut self,
        local: &Local,
        axis: usize,
        index: &Expression,
    ) -> Result<Index, Trouble> {
        let item = self.value(index)?.into_index(self.session)?;
        if let Item::Number(number, _) = &item
            && let Some(known) = number.integer()
        {
            let n = local.axes[axis];
            let k = usize::try_from(known).ok().filter(|&k| k < n);
            return k.map(Index::Known).ok_or_else(|| {
                let along = match local.axes.len() {
                    1 => String::new(),
                    _ => format!(" along axis {axis}"),
                };
                let what =
                    format!("`{}` has {n} elements{along}, from 0, and no {known}", local.name);
                Trouble::new(index.at, what)
            });
        }
        if !item.is_integer() {
            let what = "an index is an integer";
            return Err(Trouble::new(index.at, what).with(Some("convert it: w[int(j)]".into())));
        }
        Ok(Index::Of(item.array(self.session)?))
    }

    fn element_of(&mut self, local: &Local, indices: &[Expression]) -> Result<Element, Trouble> {
        // Elements that it may be, and in which lanes: none is said while all do.
        let mut among: Vec<(usize, Option<Array>)> = vec![(0, None)];
        for (axis, index) in indices.iter().enumerate() {
            let n = local.axes[axis];
            let index = self.index_along(local, axis, index)?;
            let mut further = Vec::new();
            for (before, mask) in among {
                match &index {
                    Index::Known(k) => further.push((before * n + k, mask)),
                    Index::Of(index) => {
                        // An index of a narrow type is none of the elements beyond it.
                        let last = exactly::<usize>(index.dtype().limits().1.clamp(0, 1 << 16));
                        for k in 0..n.min(last + 1) {
                            let is_this = index.eq(Scalar::UInt(k as u64))?;
                            let is_this = self.and(mask.as_ref(), &is_this)?;
                            further.push((before * n + k, Some(is_this)));
                        }
                    }
                }
            }
            among = further;
        }
        match &among[..] {
            [(k, None)] => Ok(Element::At(*k)),
            _ => Ok(Element::Among(
                among.into_iter().filter_map(|(k, mask)| Some((k, mask?))).collect(),
            )),
        }
    }

    /// A place that is stepped: what was there before, or what is then. Its index is looked at once.
    pub(super) fn step_place(
        &mut self,
        op: Op,
        is_after: bool,
        place: &Expression,
    ) -> Result<Item, Trouble> {
        let known = self.frame.variables.len();
        let place = self.with_known_indices(place)?;
        let before = self.value(&place)?;
        let one = Item::Number(Scalar::Int(1), None);
        let dtype = before.own_dtype();
        let after = self.stepped_by(op, before.clone(), one)?;
        let after = match dtype {
            Some(dtype) => after.converted(self.session, dtype)?,
            None => after,
        };
        let one = Expression { at: place.at, kind: Term::Number(Scalar::Int(1), None) };
        self.assigned(Some(op), &[place, one])?;
        self.frame.variables.truncate(known);
        Ok(if is_after { before } else { after })
    }

    /// A place whose indices are variables, which are looked at once.
    pub(super) fn with_known_indices(&mut self, place: &Expression) -> Result<Expression, Trouble> {
        let mut place = place.clone();
        let indices = match &mut place.kind {
            Term::Index(_, index) => std::slice::from_mut(&mut **index),
            Term::Local(_, indices) => &mut indices[..],
            _ => &mut [],
        };
        for index in indices {
            let item = self.value(index)?.into_index(self.session)?;
            let name = format!("{INDEX} {}", self.frame.variables.len());
            self.declare(&name, item.own_dtype(), item);
            index.kind = Term::Name(name);
        }
        Ok(place)
    }

    /// The value of an element; 0 beyond the array.
    pub(super) fn local_value(
        &mut self,
        local: &Local,
        indices: &[Expression],
    ) -> Result<Item, Trouble> {
        let place = self.element_of(local, indices)?;
        self.value_at(local, &place)
    }

    fn value_at(&self, local: &Local, place: &Element) -> Result<Item, Trouble> {
        let among = match place {
            Element::At(k) => return Ok(self.element(local, *k)?.1),
            Element::Among(among) => among,
        };
        let mut value = Item::Number(Scalar::Int(0), None);
        for (k, is_this) in among {
            let (_, element) = self.element(local, *k)?;
            value = self.apply(Op::Select, &[Item::Array(is_this.clone()), element, value])?;
        }
        Ok(value)
    }

    fn element(&self, local: &Local, k: usize) -> Result<(usize, Item), Trouble> {
        let name = local.element(k);
        let unknown = || Trouble::new(Span::default(), format!("unknown name `{name}`")).nowhere();
        let at = self.find(&name).ok_or_else(unknown)?;
        Ok((at, self.frame.variables[at].item.clone()))
    }

    /// Assigns to an element; what it holds then. Beyond the array nothing is written.
    pub(super) fn assign_local(
        &mut self,
        local: &Local,
        indices: &[Expression],
        op: Option<Op>,
        value: Item,
    ) -> Result<Item, Trouble> {
        let place = self.element_of(local, indices)?;
        let value = match op {
            Some(op) => {
                let old = self.value_at(local, &place)?;
                self.stepped_by(op, old, value)?
            }
            None => value,
        };
        let among = match place {
            Element::At(k) => {
                let (at, _) = self.element(local, k)?;
                return self.assign(at, &value);
            }
            Element::Among(among) => among,
        };
        for (k, is_this) in among {
            let (at, old) = self.element(local, k)?;
            let dtype = self.frame.variables[at].dtype;
            let new = match dtype {
                Some(dtype) => value.converted(self.session, dtype)?,
                None => value.clone(),
            };
            let chosen = self.apply(Op::Select, &[Item::Array(is_this), new, old])?;
            self.assign(at, &chosen)?;
        }
        Ok(value)
    }
}
