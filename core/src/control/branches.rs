//! Branches: functions of which each lane calls one.

use std::iter;

use super::{Recording, Way, check_count, choice, is_arg};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::var::VarId;
use crate::session::Session;
use crate::trace::broadcast_size;
use crate::trace::region::{Change, Form, Role};

/// The functions of a call by their numbers, from arrays to arrays.
pub(super) type Functions<'b, E> = dyn FnMut(usize, &[Array]) -> Result<Vec<Array>, E> + 'b;

/// Who calls which function.
pub(super) struct Call<'a> {
    pub(super) op: &'static str,
    /// The lanes of each function.
    pub(super) masks: &'a [Array],
    pub(super) args: &'a [Array],
}

impl Session {
    /// `then` in the lanes of a mask and `otherwise` in the others; the values that they return, position by
    /// position.
    ///
    /// **Sizes**: mask, arguments and values broadcast; arguments of one lane widen. An array that the functions use
    /// by index only keeps its own size. **Dtypes**: both branches return the same types. **Evaluation**: recorded; a
    /// branch that no lane of a packet takes is skipped. **Order**: as [`Session::while_loop`], branch by branch.
    ///
    /// # Errors
    /// As [`Session::while_loop`].
    pub fn if_then<E: From<Error>>(
        &self,
        mask: &Array,
        args: &[Array],
        mut then: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
        mut otherwise: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
    ) -> Result<Vec<Array>, E> {
        let op = "if_then";
        if let Some((home, there)) = self.moved(op, iter::once(mask).chain(args))? {
            return home.if_then(&there[0], &there[1..], then, otherwise);
        }
        let dtype = mask.dtype();
        if dtype != DType::Mask {
            let expected = "a mask first";
            return Err(Error::UnsupportedType { op, dtype, expected }.into());
        }
        let masks = [mask.clone(), mask.try_not()?];
        let call = Call { op, masks: &masks, args };
        let taken = self.branches(&call, &mut |number, args: &[Array]| {
            if number == 0 { then(args) } else { otherwise(args) }
        })?;
        Ok(taken.widened()?)
    }

    /// The call of function `index[i]` of a list in lane `i`; zeros where there is no such function.
    ///
    /// **Sizes**, **Dtypes**, **Evaluation**, **Order** as [`Session::if_then`]. An argument that no function changes
    /// and that has another size than the index is no value of lanes, and stays as it is.
    ///
    /// # Errors
    /// As [`Session::while_loop`]; `Argument` without functions, `UnsupportedType` for an index that is no
    /// integer.
    pub fn dispatch<E: From<Error>>(
        &self,
        index: &Array,
        n_functions: usize,
        args: &[Array],
        mut call: impl FnMut(usize, &[Array]) -> Result<Vec<Array>, E>,
    ) -> Result<Vec<Array>, E> {
        let op = "dispatch";
        if let Some((home, there)) = self.moved(op, iter::once(index).chain(args))? {
            return home.dispatch(&there[0], n_functions, &there[1..], call);
        }
        let dtype = index.dtype();
        if !dtype.is_int() {
            let expected = "an array of integers as index";
            return Err(Error::UnsupportedType { op, dtype, expected }.into());
        }
        // Functions beyond the index's type are never called.
        let masks: Vec<Array> =
            (0_i64..).take(n_functions).map_while(|number| index.eq(number).ok()).collect();
        let Some(last) = masks.len().checked_sub(1) else {
            let what = "a list without functions";
            return Err(Error::Argument { op, what: what.into() }.into());
        };
        let mut taken = self.branches(&Call { op, masks: &masks, args }, &mut call)?;
        let last = exactly::<i64>(last);
        let called = index.ge(0)?.try_and(&index.le(last)?)?;
        for (value, alone) in taken.values.iter_mut().flatten().zip(&taken.alone) {
            let fits = [1, called.size()].contains(&value.size()) || called.size() == 1;
            if *alone && fits {
                *value = choice(op, &called, value, &self.zeros(value.dtype(), 1)?)?;
            }
        }
        Ok(taken.widened()?)
    }

    fn branches<E: From<Error>>(
        &self,
        call: &Call<'_>,
        functions: &mut Functions<'_, E>,
    ) -> Result<Taken, E> {
        let way = self.way();
        match self.record_branches(call, functions) {
            Ok((taken, forms))
                if way == Way::Recorded
                    || way == Way::Steps && forms.iter().any(|form| form.in_order) =>
            {
                Ok(taken)
            }
            Err(error) if way == Way::Recorded => Err(error),
            // What cannot be recorded can be run.
            recorded => {
                self.show_steps(way);
                let forms = recorded.ok().map(|(_, forms)| forms);
                self.step_branches(call, forms.as_deref(), functions)
            }
        }
    }

    fn record_branches<E: From<Error>>(
        &self,
        call: &Call<'_>,
        functions: &mut Functions<'_, E>,
    ) -> Result<(Taken, Vec<Form>), E> {
        let mut targets = vec![false; call.args.len()];
        let lanes_around = |lanes: Option<u64>| {
            self.with_table(|table| {
                let around = table.open_region_mut().map(|around| &mut around.lanes)?;
                Some(std::mem::replace(around, lanes.unwrap_or(*around)))
            })
        };
        let around = lanes_around(None);
        loop {
            let mut taken = Taken::new(call, call.args.to_vec());
            let mut forms = Vec::new();
            for number in 0..call.masks.len() {
                let form = self.record_branch(call, number, &mut taken, &targets, functions)?;
                taken.widen_to(&form);
                forms.push(form);
            }
            // An array that another branch writes gives no lanes.
            let is_wrong = |form: &Form| {
                form.roles
                    .iter()
                    .zip(&taken.written)
                    .any(|(role, written)| *role == Role::Widest && *written)
            };
            if !forms.iter().any(is_wrong) {
                return Ok((taken, forms));
            }
            targets = taken.written;
            lanes_around(around);
        }
    }

    /// One branch, over what those before gave. Arguments that are known as targets of writes give no lanes.
    fn record_branch<E: From<Error>>(
        &self,
        call: &Call<'_>,
        number: usize,
        taken: &mut Taken,
        targets: &[bool],
        functions: &mut Functions<'_, E>,
    ) -> Result<Form, E> {
        let mask = &call.masks[number];
        let mut recording = Recording::open(self, call.op)?;
        let inside = recording.states(&taken.args)?;
        recording.run(mask)?;
        let next = self.brought(call.op, functions(number, &inside)?)?;
        taken.check_count(next.len())?;
        let change = |(position, next): (usize, &Array)| Change {
            state: None,
            otherwise: taken.value(position).map(Array::id),
            covered: taken.is_first() && is_arg(&inside, next),
            next: next.id(),
        };
        let changes: Vec<Change> = next.iter().enumerate().map(change).collect();
        let of_lanes = |(state, is_target): (&Array, &bool)| (!is_target).then(|| state.id());
        let states: Vec<Option<VarId>> = inside.iter().zip(targets).map(of_lanes).collect();
        let (values, form) = recording.close(false, &states, &changes)?;
        let written = self.written(&inside, &next);
        taken.add(mask, &written, values)?;
        Ok(form)
    }
}

/// What the branches gave that were run so far.
pub(super) struct Taken {
    op: &'static str,
    /// The arguments as the next branch finds them.
    pub(super) args: Vec<Array>,
    /// The values, behind the first branch. Before it there are zeros, but for an argument itself what another
    /// branch will give.
    values: Option<Vec<Array>>,
    /// Values that the first branch left alone as arguments, and none wrote.
    alone: Vec<bool>,
    /// Values that are arrays after writes.
    whole: Vec<bool>,
    /// Arguments that a branch wrote.
    written: Vec<bool>,
    /// Lanes of the branches.
    pub(super) lanes: u64,
}

impl Taken {
    pub(super) fn new(call: &Call<'_>, args: Vec<Array>) -> Self {
        let written = vec![false; args.len()];
        let lanes = call.masks.iter().map(Array::size).max().unwrap_or(1);
        let (alone, whole) = (Vec::new(), Vec::new());
        Self { op: call.op, args, values: None, alone, whole, written, lanes }
    }

    pub(super) fn is_first(&self) -> bool {
        self.values.is_none()
    }

    /// What there is where the next branch is not taken.
    pub(super) fn value(&self, position: usize) -> Option<&Array> {
        self.values.as_ref()?.get(position)
    }

    pub(super) fn check_count(&self, got: usize) -> Result<()> {
        self.values.as_ref().map_or(Ok(()), |values| check_count(self.op, values.len(), got))
    }

    /// Notes the lanes of a branch.
    pub(super) fn widen_to(&mut self, form: &Form) {
        self.lanes = broadcast_size(self.op, self.lanes, form.lanes).unwrap_or(self.lanes);
    }

    /// Adds what a branch gave in the lanes of a mask. `written` says which value is which argument's array after
    /// writes. Where lanes of other branches have another value, they keep it.
    pub(super) fn add(
        &mut self,
        mask: &Array,
        written: &[Option<usize>],
        mut values: Vec<Array>,
    ) -> Result<()> {
        if self.is_first() {
            self.alone = values.iter().map(|value| is_arg(&self.args, value)).collect();
            self.whole = vec![false; values.len()];
        }
        for (number, position) in written.iter().enumerate() {
            let Some(position) = *position else { continue };
            let old = std::mem::replace(&mut self.args[number], values[position].clone());
            self.written[number] = true;
            match self.values.as_ref().map(|values| &values[position]) {
                Some(before) if before.id() != old.id() => {
                    values[position] = choice(self.op, mask, &self.args[number], before)?;
                }
                _ => {
                    self.whole[position] = true;
                    self.alone[position] = false;
                }
            }
        }
        self.values = Some(values);
        Ok(())
    }

    /// The values, those of one lane in all lanes.
    fn widened(self) -> Result<Vec<Array>> {
        let Self { values, whole, lanes, .. } = self;
        let widen = |(value, whole): (Array, bool)| {
            if whole || value.size() != 1 || lanes == 1 { Ok(value) } else { value.resize(lanes) }
        };
        values.unwrap_or_default().into_iter().zip(whole).map(widen).collect()
    }
}
