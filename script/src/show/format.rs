//! `format`: a template filled with values.

use porcini_core::value::show::{Digits, Options};
use rhai::Dynamic;

use crate::fault::{Result, fault};
use crate::show::display::text;
use crate::show::print_options::PrintOptions;
use crate::show::writer::{Writer, written};

/// `format("{:.9} and {:>8}", x, y)`: `{}` shows a value as `print` does; after a colon stand the
/// alignment `<` or `>` and width of a column, and after a dot the digits of floats: those that count, or with `f` those
/// behind the point, with `e` those of the exponential notation. `{1}` shows the second
/// value, wherever it stands; a template that counts so shows values as often as it says.
pub(crate) fn format(template: &str, values: &[Dynamic], options: &PrintOptions) -> Result<String> {
    written(options.most, |out| fill(out, template, values, options))
}

fn fill(
    out: &mut Writer,
    template: &str,
    values: &[Dynamic],
    options: &PrintOptions,
) -> Result<()> {
    let (mut next, mut numbered) = (0, None);
    let mut seen = vec![false; values.len()];
    let mut rest = template;
    while let Some(start) = rest.find(['{', '}']) {
        out.put(&rest[..start])?;
        let tail = &rest[start..];
        if tail.starts_with("{{") || tail.starts_with("}}") {
            out.put(&tail[..1])?;
            rest = &tail[2..];
            continue;
        }
        let end = tail.find('}').filter(|_| tail.starts_with('{'));
        let Some(end) = end else {
            return Err(fault("format: a brace without partner; write {{ or }} for a brace"));
        };
        let spec = &tail[1..end];
        let digits = spec.len() - spec.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let field = Field::parse(&spec[digits..], spec)?;
        if *numbered.get_or_insert(digits > 0) != (digits > 0) {
            return Err(fault("format: {} beside {0}; number all of them, or none"));
        }
        let place = if digits > 0 { spec[..digits].parse().unwrap_or(usize::MAX) } else { next };
        next += 1;
        let value = values.get(place).ok_or_else(|| match digits {
            0 => fault("format: more {} than values"),
            _ => fault(format!(
                "format: {{{}}} of {} values; the first is {{0}}",
                &spec[..digits],
                values.len()
            )),
        })?;
        seen[place] = true;
        let options = PrintOptions {
            arrays: Options {
                digits: field.digits.unwrap_or(options.arrays.digits),
                ..options.arrays
            },
            own_digits: field.digits.or(options.own_digits),
            most: out.left(),
            ..options.clone()
        };
        out.put(&field.fill(&text(value, &options)?, value.is_int() || value.is_float()))?;
        rest = &tail[end + 1..];
    }
    out.put(rest)?;
    match seen.iter().filter(|seen| !**seen).count() {
        0 => Ok(()),
        n => Err(fault(format!("format: {n} values more than {{}}"))),
    }
}

/// How one value of [`format`] is laid out.
struct Field {
    right: Option<bool>,
    /// Whether zeros stand in front of a number: `{:05}`.
    zeros: bool,
    width: usize,
    /// Those of the settings if it names none.
    digits: Option<Digits>,
}

/// Widest column that a format may ask for.
const MAX_WIDTH: usize = 10_000;
/// Most digits behind the point: a float has no more.
const MOST_DECIMALS: usize = 1100;

impl Field {
    /// Of what stands behind the number of the value in `whole`.
    fn parse(spec: &str, whole: &str) -> Result<Self> {
        let bad = || {
            fault(format!(
                "format: unknown {{{whole}}}, expected {{}}, {{:.9}}, {{:.2f}} or {{:>12.4}}"
            ))
        };
        let mut field = Self { right: None, zeros: false, width: 0, digits: None };
        if spec.is_empty() {
            return Ok(field);
        }
        let rest = spec.strip_prefix(':').ok_or_else(bad)?;
        let aligned = rest.strip_prefix(['<', '>']);
        field.right = aligned.map(|_| rest.starts_with('>'));
        let (width, digits) = match aligned.unwrap_or(rest).split_once('.') {
            Some((width, digits)) => (width, Some(digits)),
            None => (aligned.unwrap_or(rest), None),
        };
        field.zeros = width.len() > 1 && width.starts_with('0');
        if !width.is_empty() {
            field.width = width.parse().ok().filter(|&w| w <= MAX_WIDTH).ok_or_else(bad)?;
        }
        if let Some(digits) = digits {
            let kind = digits.trim_start_matches(|c: char| c.is_ascii_digit());
            let n = digits[..digits.len() - kind.len()].parse().map_err(|_| bad())?;
            field.digits = Some(match (kind, n) {
                ("" | "g", 1..=17) => Digits::Significant(n),
                ("f", 0..=MOST_DECIMALS) => Digits::Decimals(n),
                ("e", 0..=17) => Digits::Exponential(n),
                _ => return Err(bad()),
            });
        }
        Ok(field)
    }

    /// Numbers stand on the right, if nobody says where, as in Python and in Rust.
    fn fill(&self, text: &str, is_number: bool) -> String {
        let width = self.width;
        if self.zeros && is_number {
            let digits = text.trim_start_matches('-');
            let sign = &text[..text.len() - digits.len()];
            let width = width - sign.len().min(width);
            return format!("{sign}{digits:0>width$}");
        }
        if self.right.unwrap_or(is_number) {
            format!("{text:>width$}")
        } else {
            format!("{text:<width$}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_counts_its_values() {
        let options = &PrintOptions::default();
        let one = [Dynamic::from(1.5)];
        assert_eq!(format("x = {} {{}}", &one, options).unwrap(), "x = 1.5 {}");
        assert!(format("{} {}", &one, options).is_err());
        assert!(format("x", &one, options).is_err());
        assert!(format("{", &one, options).is_err());
        assert_eq!(
            format("{:>6}|{:<6.2}|", &[1.5.into(), 2.25.into()], options).unwrap(),
            "   1.5|2.2   |"
        );
        let both = [Dynamic::from(1_i64), Dynamic::from(2.25)];
        assert_eq!(format("{1:.2} {0} {1}", &both, options).unwrap(), "2.2 1 2.25");
        for wrong in ["{1}", "{0} {2}", "{0} {}", "{} {0}", "{0}{99999999999999999999}", "{0x}"] {
            assert!(format(wrong, &both, options).is_err(), "{wrong}");
        }
        let third = [Dynamic::from(1.0 / 3.0)];
        assert_eq!(format("{}", &third, options).unwrap(), "0.3333333333333333");
        for (template, want) in [
            ("{:.3}", "0.333"),
            ("{:.2f}", "0.33"),
            ("{:>8.2f}|", "    0.33|"),
            ("{:.1e}", "3.3e-01"),
            ("{:.3g}", "0.333"),
        ] {
            assert_eq!(format(template, &third, options).unwrap(), want);
        }
        assert_eq!(format("{:.2f} {:.0f}", &[3.into(), 2.5.into()], options).unwrap(), "3.00 2");
        let both = [(-7).into(), 2.5.into()];
        assert_eq!(format("{:05} {:07.2f}", &both, options).unwrap(), "-0007 0002.50");
        let list = Dynamic::from_array(vec![1.into(), 2.5.into()]);
        assert_eq!(
            format("{:.1f}|{:4}|{:<4}", &[list, 1.into(), 2.into()], options).unwrap(),
            "[1.0, 2.5]|   1|2   "
        );
        for wrong in ["{:.f}", "{:f}", "{:.2x}", "{:.18}", "{:.0}", "{:.99999f}"] {
            assert!(format(wrong, &third, options).is_err(), "{wrong}");
        }
    }
}
