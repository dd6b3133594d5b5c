//! Files of text, what folders hold, and the time of day: what scripts that run by themselves write down.

use std::time::SystemTime;

use rhai::{Dynamic, ImmutableString};

use super::files::{contents, path, store};
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{Result, fault, fault_with_hint, outside_fault};
use crate::show::writer::{MOST_BYTES, written};
use crate::value::type_name;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "read_text",
        "(path)",
        "The text in a file of UTF-8.\n\n\
         >> write_text(\"t.txt\", \"a\\nb\"); read_text(\"t.txt\").split(\"\\n\")\n[a, b]",
    );
    registry.any("read_text", 1, |context, _, args| {
        let path = path("read_text", args[0])?;
        let bytes = contents(context, "read_text", &path)?;
        if bytes.len() > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Err(fault(format!("read_text: {path}: more than {most} MiB of text")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            fault(format!("read_text: {path}: no UTF-8 behind byte {}", error.valid_up_to()))
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut owned = String::new();
        let refused =
            |_| fault(format!("read_text: {path}: out of memory: {} B of text", text.len()));
        owned.try_reserve_exact(text.len()).map_err(refused)?;
        owned.push_str(text);
        Ok(ImmutableString::from(owned))
    });
    registry.doc(
        "write_text",
        "(path, text)",
        "Writes a file of text; what was there is replaced.\n\n\
         >> write_text(\"t.txt\", `x = ${FloatC([1, 2])}`); read_text(\"t.txt\")\nx = [1, 2]",
    );
    registry.any("write_text", 2, |context, _, args| {
        let path = path("write_text", args[0])?;
        store(context, "write_text", &path, text("write_text", args[1])?.as_bytes())
    });
    registry.doc(
        "append_text",
        "(path, text)",
        "Writes text behind what is in a file, as to a log; a \\n ends a line. The file is made if it is not there.\n\n\
         >> write_text(\"log.txt\", \"day 1\"); append_text(\"log.txt\", \", day 2\"); read_text(\"log.txt\")\n\
         day 1, day 2",
    );
    registry.any("append_text", 2, |context, _, args| {
        let path = path("append_text", args[0])?;
        let text = text("append_text", args[1])?;
        let written = context.host.append_file(&path, text.as_bytes());
        written.map_err(|error| outside_fault(&format!("append_text: {path}"), &error))
    });
    registry.doc(
        "list_folder",
        "(path)",
        "The names in a folder, in order, those of folders with a / at the end; without a path of the working folder. \
         Hidden ones are left out.\n\n\
         >> write_text(\"t.txt\", \"\"); list_folder().contains(\"t.txt\")\ntrue",
    );
    for arity in [0, 1] {
        registry.any("list_folder", arity, |context, _, args| {
            let folder = args.first().map(|folder| path("list_folder", folder)).transpose()?;
            let folder = folder.unwrap_or_default();
            let names = context.host.list_folder(&folder);
            let what =
                if folder.is_empty() { "list_folder" } else { &format!("list_folder: {folder}") };
            let mut names = names.map_err(|error| outside_fault(what, &error))?;
            names.sort();
            Ok(names.into_iter().map(Dynamic::from).collect::<rhai::Array>())
        });
    }
    registry.doc(
        "join",
        "(list, separator)",
        "The items of a list as one text, with a separator between them.\n\n\
         >> [\"a\", 1, 2.5].join(\", \")\na, 1, 2.5",
    );
    for arity in [1, 2] {
        registry.typed("join", std::any::TypeId::of::<rhai::Array>(), arity, |context, _, args| {
            let separator = args.get(1).map(|separator| text("join", separator)).transpose()?;
            let list = args[0].read_lock::<rhai::Array>();
            joined(
                context,
                list.as_deref().map_or(&[], Vec::as_slice),
                &separator.unwrap_or_default(),
            )
        });
    }
    registry.doc(
        "now",
        "()",
        "Seconds since 1970-01-01 UTC. timestamp() tells better how long something takes.\n\n\
         >> now() > 1.7e9\ntrue",
    );
    registry.any("now", 0, |_, _, _| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Ok(since.map_or(0.0, |since| since.as_secs_f64()))
    });
}

fn text(op: &str, value: &Dynamic) -> Result<ImmutableString> {
    value.clone().into_immutable_string().map_err(|_| {
        let message = format!("{op}: got {}, expected a text", type_name(value));
        fault_with_hint(message, "a value as text is str(x), or `x = ${x}` in back quotes")
    })
}

fn joined(context: &Context, list: &[Dynamic], separator: &str) -> Result<String> {
    written(MOST_BYTES, |out| {
        for (i, item) in list.iter().enumerate() {
            if i > 0 {
                out.put(separator)?;
            }
            out.put(&context.text(item)?)?;
        }
        Ok(())
    })
}
