//! Errors of Rhai itself that a script has caught.
//!
//! `catch (e)` gets of them a map with Rhai's own text, that of all calls on the way included. The error is read from
//! it again, so that it shows in the words that it has uncaught.

use rhai::{Dynamic, EvalAltResult, Position};

use crate::show::display;
use crate::show::print_options::PrintOptions;
use crate::show::writer::beginning;
use crate::value::type_name;

/// The error that a caught map tells of; `None` of any other value.
pub(crate) fn error_of(value: &Dynamic) -> Option<EvalAltResult> {
    let map = value.read_lock::<rhai::Map>()?;
    let text_of = |key: &str| map.get(key)?.clone().into_string().ok();
    if !text_of("error")?.starts_with("Error") {
        return None;
    }
    Some(parsed(innermost(&text_of("message")?)))
}

/// Any other value as the message of an error.
pub(crate) fn thrown(value: &Dynamic) -> String {
    beginning(|out| display::write(out, value, &PrintOptions::default()))
        .unwrap_or_else(|| type_name(value))
}

/// The text without places, and without the calls that follow in lines of their own.
fn innermost(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    let end = [" @ '", " (line "].iter().filter_map(|place| line.find(place)).min();
    &line[..end.unwrap_or(line.len())]
}

/// The error that Rhai 1.27 writes like this.
fn parsed(text: &str) -> EvalAltResult {
    use EvalAltResult as Raised;
    let none = Position::NONE;
    let after = |start: &str| text.strip_prefix(start).map(String::from);
    if let Some(signature) = after("Function not found: ") {
        return Raised::ErrorFunctionNotFound(signature, none);
    }
    if let Some(name) = after("Variable not found: ") {
        return Raised::ErrorVariableNotFound(name, none);
    }
    if let Some(types) = after("Data type incorrect: ")
        && let Some((got, want)) = types.trim_end_matches(')').split_once(" (expecting ")
    {
        return Raised::ErrorMismatchDataType(want.into(), got.into(), none);
    }
    if let Some((i, n)) = out_of_bounds(text) {
        return Raised::ErrorArrayBounds(n, i, none);
    }
    if let Some(index) = after("Invalid index: ") {
        return Raised::ErrorIndexNotFound(index.into(), none);
    }
    if let Some(types) = after("Indexer unavailable: ") {
        return Raised::ErrorIndexingType(types, none);
    }
    if let Some(name) = after("Data race detected on ") {
        return Raised::ErrorDataRace(name, none);
    }
    if text == "For loop expects iterable type" {
        return Raised::ErrorFor(none);
    }
    if text.contains("property '") {
        return Raised::ErrorDotExpr(text.into(), none);
    }
    Raised::ErrorArithmetic(text.into(), none)
}

/// Index and length of a list.
fn out_of_bounds(text: &str) -> Option<(i64, usize)> {
    let (index, rest) = text.strip_prefix("Array index ")?.split_once(" out of bounds: ")?;
    let length = rest.strip_prefix("only ").and_then(|rest| rest.split(' ').next());
    Some((index.parse().ok()?, length.map_or(Ok(0), str::parse).ok()?))
}

#[cfg(test)]
mod tests {
    use rhai::{Engine, OptimizationLevel};

    use super::*;

    /// The error that a text raises, caught by the script, and as it is.
    fn both(text: &str) -> [String; 2] {
        let mut engine = Engine::new();
        engine.set_optimization_level(OptimizationLevel::None);
        let caught = format!("let caught = (); try {{ {text} }} catch (e) {{ caught = e }} caught");
        let map = engine.eval::<Dynamic>(&caught).unwrap();
        let error = engine.eval::<Dynamic>(text).unwrap_err();
        let uncaught = error.unwrap_inner().to_string();
        let caught = error_of(&map).map_or(format!("{map:?}"), |error| error.to_string());
        [caught, innermost(&uncaught).into()]
    }

    #[test]
    fn caught_errors_are_read_again() {
        for (text, want) in [
            ("nope(1)", "Function not found: nope (i64)"),
            ("(|x| nope(x)).call(2)", "Function not found: nope (i64)"),
            ("nope", "Variable not found: nope"),
            ("let x = 1; if x { 2 }", "Data type incorrect: i64 (expecting bool)"),
            ("[1][3]", "Array index 3 out of bounds: only 1 element in array"),
            ("[][-1]", "Array index -1 out of bounds: array is empty"),
            ("let x = 3; for i in x { }", "For loop expects iterable type"),
        ] {
            assert_eq!(both(text), [want, want], "{text}");
        }
        assert!(error_of(&Dynamic::from_map(rhai::Map::new())).is_none());
        assert!(error_of(&Dynamic::from("Error")).is_none());
    }
}
