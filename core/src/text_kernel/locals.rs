//! Arrays of a function's own: `float w[3]`. Each element is a variable, which only an index that is known names; any other
//! looks at all of them.

use super::item::Item;
use super::lexer::Token;
use super::parse::Parser;
use super::program::Captured;
use super::record::Recorder;
use super::tree::{Expression, Local, Term};
use super::trouble::{Span, Trouble};
use super::types::TypeName;
use crate::array::Array;
use crate::dtype::Scalar;
use crate::ir::op::Op;

/// The variable that holds the index of an element that is stepped.
const INDEX: &str = "the index";

/// Elements of an array of a function's own, at most.
const MOST_ELEMENTS: usize = 64;

impl Parser<'_> {
    /// What stands behind the name of such an array: `[3]` or `[3] = {1, 2}`, the rest being 0. The variables that it is.
    pub(super) fn local(
        &mut self,
        name: &str,
        at: Span,
        type_name: &TypeName,
    ) -> Result<Vec<(String, Option<Expression>)>, Trouble> {
        self.expect("[", "and how many elements there are")?;
        let count = if self.is("]") { None } else { Some(self.expression()?) };
        self.expect("]", "behind the number of elements")?;
        if self.is("[") {
            let what = format!("`{name}` has more axes than one");
            let remedy = "one axis has all: float m[9], and m[3 * row + column]";
            return Err(Trouble::new(self.span(), what).with(Some(remedy.into())));
        }
        let mut values = Vec::new();
        if self.takes("=") {
            self.expect("{", "and the elements")?;
            while !self.takes("}") {
                if !values.is_empty() {
                    self.expect(",", "or `}` behind an element")?;
                    if self.takes("}") {
                        break;
                    }
                }
                values.push(self.conditional()?);
            }
        }
        let n = match &count {
            None => Some(values.len()),
            Some(count) => self.known_count(count),
        };
        let remedy = "write the number, or give it a name by #define N 4";
        let Some(n) = n.filter(|n| (1..=MOST_ELEMENTS).contains(n)) else {
            let what = format!("`{name}` has no known number of elements, 1 to {MOST_ELEMENTS}");
            return Err(Trouble::new(at, what).with(Some(remedy.into())));
        };
        if values.len() > n {
            let what = format!("`{name}` has {n} elements, and got {}", values.len());
            return Err(Trouble::new(at, what));
        }
        if *type_name == TypeName::Auto {
            let what = format!("`{name}` has no type");
            return Err(Trouble::new(at, what).with(Some("float w[4]".into())));
        }
        let local = Local { name: name.into(), n };
        let zero = || Expression { at, kind: Term::Number(Scalar::Int(0), None) };
        let mut values = values.into_iter();
        let elements = local.elements();
        let declared = elements.map(|name| (name, Some(values.next().unwrap_or_else(zero))));
        let declared = declared.collect();
        self.locals.push((local, self.names.len()));
        Ok(declared)
    }

    /// The value of a number of elements.
    fn known_count(&mut self, count: &Expression) -> Option<usize> {
        let number = match &count.kind {
            Term::Number(number, _) => *number,
            Term::Name(name) => match self.known_number(name) {
                Some(number) => number,
                None => match self.capture(name)? {
                    Captured::Number(number) => *number,
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
        if !self.takes("[") {
            let what = format!("`{}` is a whole array, expected an element: {0}[j]", local.name);
            return Err(Trouble::new(at, what));
        }
        let index = self.expression()?;
        self.expect("]", "behind the index")?;
        if matches!(self.token(), Token::Sign("[")) {
            let what = format!("`{}` has one axis", local.name);
            return Err(Trouble::new(self.span(), what));
        }
        let at = at.to(self.last_span());
        Ok(Expression { at, kind: Term::Local(local, index.into()) })
    }
}

/// Where an element is.
enum Element {
    /// The variable of this number.
    At(usize),
    /// By lane.
    Index(Array),
}

impl Recorder<'_> {
    fn element_of(&mut self, local: &Local, index: &Expression) -> Result<Element, Trouble> {
        let item = self.value(index)?.into_index(self.session)?;
        let known = match &item {
            Item::Number(number, _) => number.integer(),
            _ => None,
        };
        if let Some(known) = known {
            let k = usize::try_from(known).ok().filter(|&k| k < local.n);
            return k.map(Element::At).ok_or_else(|| {
                let what = format!("`{}` has {} elements, and no {known}", local.name, local.n);
                Trouble::new(index.at, what)
            });
        }
        if !item.is_integer() {
            let what = "an index is an integer";
            return Err(Trouble::new(index.at, what).with(Some("convert it: w[int(j)]".into())));
        }
        Ok(Element::Index(item.array(self.session)?))
    }

    /// A place that is stepped: what was there before, or what is then. Its index is looked at once.
    pub(super) fn step_place(
        &mut self,
        op: Op,
        is_after: bool,
        place: &Expression,
    ) -> Result<Item, Trouble> {
        let known = self.frame.variables.len();
        let mut place = place.clone();
        if let Term::Index(_, index) | Term::Local(_, index) = &mut place.kind {
            let item = self.value(index)?.into_index(self.session)?;
            self.declare(INDEX, item.own_dtype(), item);
            index.kind = Term::Name(INDEX.into());
        }
        let before = self.value(&place)?;
        let one = Item::Number(Scalar::Int(1), None);
        let dtype = before.own_dtype();
        let after = self.stepped_by(op, before.clone(), one, place.at)?;
        let after = match dtype {
            Some(dtype) => after.converted(self.session, dtype)?,
            None => after,
        };
        let one = Expression { at: place.at, kind: Term::Number(Scalar::Int(1), None) };
        self.assigned(Some(op), &[place, one])?;
        self.frame.variables.truncate(known);
        Ok(if is_after { before } else { after })
    }

    /// The value of an element; 0 beyond the array.
    pub(super) fn local_value(
        &mut self,
        local: &Local,
        index: &Expression,
    ) -> Result<Item, Trouble> {
        let place = self.element_of(local, index)?;
        self.value_at(local, &place)
    }

    fn value_at(&mut self, local: &Local, place: &Element) -> Result<Item, Trouble> {
        let index = match place {
            Element::At(k) => return Ok(self.element(local, *k)?.1),
            Element::Index(index) => index,
        };
        let mut value = Item::Number(Scalar::Int(0), None);
        for k in 0..local.n {
            let (_, element) = self.element(local, k)?;
            let is_this = index.eq(Scalar::UInt(k as u64))?;
            value = self.apply(Op::Select, &[Item::Array(is_this), element, value])?;
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
        index: &Expression,
        op: Option<Op>,
        value: Item,
    ) -> Result<Item, Trouble> {
        let place = self.element_of(local, index)?;
        let value = match op {
            Some(op) => {
                let old = self.value_at(local, &place)?;
                self.stepped_by(op, old, value, index.at)?
            }
            None => value,
        };
        match &place {
            Element::At(k) => {
                let (at, _) = self.element(local, *k)?;
                self.assign(at, &value)
            }
            Element::Index(index) => {
                for k in 0..local.n {
                    let (at, old) = self.element(local, k)?;
                    let is_this = Item::Array(index.eq(Scalar::UInt(k as u64))?);
                    let dtype = self.frame.variables[at].dtype;
                    let new = match dtype {
                        Some(dtype) => value.converted(self.session, dtype)?,
                        None => value.clone(),
                    };
                    let chosen = self.apply(Op::Select, &[is_this, new, old])?;
                    self.assign(at, &chosen)?;
                }
                Ok(value)
            }
        }
    }
}
