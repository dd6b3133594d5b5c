//! Where arrays are: `device`, `to`.

use porcini_core::{Array, DeviceChoice, Session};
use rhai::Dynamic;

use super::engine_inputs::for_each_item;
use super::registry::Registry;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::generator::RngRef;
use crate::value::{ArrayRef, type_name};

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "device",
        "(x)",
        "The device that runs the kernels; of an array, the one that it is on.\n\n\
         >> device() == device(FloatC([1, 2]))\ntrue",
    );
    registry.any("device", 0, |context, _, _| Ok(context.session.device_name()));
    registry.on_array("device", 1, |context, _, x, _| {
        let leaves = x.leaves();
        Ok(leaves.first().map_or(&context.session, Array::session).device_name())
    });
    registry.doc(
        "to",
        "(x, device)",
        "x on another device, \"cpu\", \"cuda\" or \"cuda:1\", or what device(y) says: an array, vector, matrix, or generator, or a list or map of them. It is x itself if it \
         is there, else a copy, made at once. Arrays that meet in an operation must be on one device; numbers go \
         anywhere.\n\n\
         >> FloatC([1, 2]).to(\"cpu\") + 1\n[2, 3]",
    );
    registry.any("to", 2, |context, _, args| {
        let device = choice(&context.session, args[1])?;
        moved(device, args[0])?.ok_or_else(|| {
            fault(format!("to: got {}, expected an array or a generator", type_name(args[0])))
        })
    });
}

/// A value on a device, in lists and maps too; `None` of what is on none.
fn moved(device: DeviceChoice, value: &Dynamic) -> Result<Option<Dynamic>> {
    if let Some(x) = value.read_lock::<ArrayRef>() {
        let moved = x.copy();
        let went = move_leaves(device, |go| moved.for_each_leaf("", &mut |leaf, _| go(leaf)))?;
        return Ok(Some(Dynamic::from(if went { moved } else { x.clone() })));
    }
    if let Some(rng) = value.read_lock::<RngRef>() {
        let mut moved = rng.clone();
        let went = move_leaves(device, |go| moved = rng.with(&mut |leaf| go(leaf)))?;
        return Ok(Some(Dynamic::from(if went { moved } else { rng.clone() })));
    }
    if !value.is_array() && !value.is_map() {
        return Ok(None);
    }
    let (mut value, mut all) = (value.clone().flatten(), Ok(()));
    for_each_item(&mut value, &mut |item| {
        if all.is_ok() {
            all = moved(device, item).map(|there| *item = there.unwrap_or_else(|| item.clone()));
        }
    });
    all.map(|()| Some(value))
}

/// Moves the leaves that `visit` shows; whether one was elsewhere.
fn move_leaves(
    device: DeviceChoice,
    visit: impl FnOnce(&mut dyn FnMut(&mut Array)),
) -> Result<bool> {
    let mut went = Ok(false);
    visit(&mut |leaf| {
        if let Ok(any) = went {
            went = leaf.to(device).map(|moved| {
                let stays = moved.session().is(leaf.session());
                *leaf = moved;
                any || !stays
            });
        }
    });
    went.or_fault()
}

/// A device by its number, or by the whole name that `device` gives.
fn choice(session: &Session, name: &Dynamic) -> Result<DeviceChoice> {
    let text = name.read_lock::<rhai::ImmutableString>().map(|text| text.to_string());
    let Some(text) = text else {
        return Err(fault_with_hint(
            format!("to: got {}, expected the name of a device", type_name(name)),
            "write x.to(\"cpu\"), x.to(\"cuda\") or x.to(\"cuda:1\")",
        ));
    };
    text.parse::<DeviceChoice>().or_else(|error| {
        // `cuda:0, opened when a value is needed`, or its first word, which only a launcher may know: `mpi:2`
        let is_known = |session: &Session| {
            let name = session.device_name();
            name == text || name.split([' ', ',']).next() == Some(&text)
        };
        let known = session.family().into_iter().find(is_known);
        known.map(|session| session.choice()).ok_or(error).or_fault()
    })
}
