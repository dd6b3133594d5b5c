//! What front ends with cells do better than a terminal: display and replace, clear, ask.

use rhai::Dynamic;

use super::registry::Registry;
use crate::context::Context;
use crate::fault::{Result, fault, outside_fault};
use crate::show::forms::DisplayTarget;
use crate::show::markup::HTML;
use crate::value::type_name;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "display",
        "(x, name)",
        "Shows a value as a notebook does: arrays and lists of maps as tables, pictures as pictures; a terminal \
         shows the text. update_display(y, name) replaces it. Arrays are evaluated.\n\n\
         >> display(FloatC([1, 2]))\n[1, 2]",
    );
    registry.any("display", 1, |context, _, args| context.display(args[0], DisplayTarget::Below));
    registry.any("display", 2, |context, _, args| {
        context.display(args[0], DisplayTarget::Named(&text("display", args[1])?))
    });
    registry.doc(
        "update_display",
        "(x, name)",
        "Shows a value in place of what display(.., name) showed; a terminal shows it below. Arrays are \
         evaluated.\n\n\
         >> update_display(\"half done\", \"progress\")\nhalf done",
    );
    registry.any("update_display", 2, |context, _, args| {
        context.display(args[0], DisplayTarget::Instead(&text("update_display", args[1])?))
    });
    for (name, mime, shows, example) in [
        ("display_html", HTML, "HTML", "<b>done</b>"),
        ("display_markdown", "text/markdown", "Markdown", "**done**"),
    ] {
        registry.doc(
            name,
            "(text)",
            &format!(
                "Shows a text that is {shows} as a notebook draws it; a terminal and a sandbox show the text.\n\n\
                 >> {name}(\"{example}\")\n{example}"
            ),
        );
        registry.any(name, 1, move |context, _, args| {
            let text = text(name, args[0])?;
            let mut shown = context.shown(args[0])?;
            // A page does what is written there: that is not for those who are not trusted.
            if context.host.shows_forms() && !context.is_sandbox {
                shown.forms.push((mime, text));
            }
            context.host.display(&shown, DisplayTarget::Below);
            Ok(())
        });
    }
    registry.doc(
        "clear_output",
        "(wait)",
        "Removes what the cell has shown so far; with true only when there is something new to show. A terminal \
         keeps its lines.\n\n\
         >> clear_output(); 1 + 1\n2",
    );
    registry.any("clear_output", 0, |context, _, _| {
        context.host.clear_output(false);
        Ok(())
    });
    registry.any("clear_output", 1, |context, _, args| {
        let wait = args[0].as_bool().map_err(|_| {
            let got = type_name(args[0]);
            fault(format!("clear_output: got {got}, expected true or false"))
        })?;
        context.host.clear_output(wait);
        Ok(())
    });
    for (name, secret, help) in [
        (
            "input",
            false,
            "Asks for a line of text; Ctrl-C ends the wait. parse_int and parse_float read numbers.",
        ),
        ("password", true, "Asks for a line of text that is not shown; Ctrl-C ends the wait."),
    ] {
        registry.doc(name, "(prompt)", &format!("{help}\n\n>> {name}(\"how many? \")\n42"));
        registry.any(name, 0, move |context, _, _| ask(context, name, "", secret));
        registry.any(name, 1, move |context, _, args| {
            ask(context, name, &text(name, args[0])?, secret)
        });
    }
}

fn text(function: &str, value: &Dynamic) -> Result<String> {
    value.clone().into_string().map_err(|_| {
        fault(format!("{function}: got {}, expected a text such as \"a\"", type_name(value)))
    })
}

fn ask(context: &Context, name: &str, prompt: &str, secret: bool) -> Result<String> {
    context.host.input(prompt, secret).map_err(|error| outside_fault(name, &error))
}
