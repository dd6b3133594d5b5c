//! Charts as text: marks of Braille dots, axes and labels of letters; in colour where a terminal has it.

use super::canvas::Canvas;
use super::chart::{Chart, Marks};
use super::colours::Rgb;
use super::marks::{Plane, Sizes, colour, draw};
use super::raster::SHADES;
use super::surface::Area;
use super::tint::Tint;
use crate::fault::Result;

/// Dots of a cell: a Braille character.
const DOTS: (usize, usize) = (2, 4);
/// Rows of text that a chart takes.
const ROWS: usize = 18;
/// Fewest rows between title and axis.
const FEWEST_ROWS: usize = 8;
/// About so many columns and rows stand ticks from each other.
const APART: (usize, usize) = (12, 4);
/// Points that are drawn as letters; more of them as dots.
const MOST_LARGE: usize = 200;
/// Samples of lines in a legend, by their dashes.
const SAMPLES: [&str; 4] = ["──", "╌╌", "┈┈", "╶·"];

/// A letter with its colours, before and behind.
type Cell = (char, Option<Rgb>, Option<Rgb>);

/// A chart of so many columns.
pub(super) fn text(chart: &Chart, columns: usize, tint: Tint) -> Result<String> {
    let has = |text: &str| usize::from(!text.is_empty());
    let legend = usize::from(chart.has_legend());
    // What labels leave out does not depend on the number of ticks.
    let (x, y) = chart.axes(2, 2);
    let (x_name, y_name) = (chart.x.name(&x), chart.y.name(&y));
    let around = 2 + has(&chart.title) + has(&x_name) + has(&y_name) + legend;
    let rows = ROWS.saturating_sub(around).max(FEWEST_ROWS);
    let (_, y) = chart.axes(2, rows / APART.1);
    let widest = y.ticks().iter().map(|&tick| y.label(tick).chars().count()).max().unwrap_or(0);
    let left = widest + 2;
    let width = columns.saturating_sub(left + 1).max(2);
    let (x, y) = chart.axes(width / APART.0, rows / APART.1);
    let (dots_x, dots_y) = (width * DOTS.0, rows * DOTS.1);
    let area = Area { left: 0.5, top: 0.5, right: real(dots_x) - 0.5, bottom: real(dots_y) - 0.5 };
    let plane = Plane { area, x, y };
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut canvas = Canvas::new(size(dots_x), size(dots_y), false)?;
    let has_dashes = tint == Tint::None;
    // Few points are large.
    let n: usize = chart.layers.iter().map(|layer| layer.marks.ends().len()).sum();
    let radius = if n <= MOST_LARGE { 1.0 } else { 0.5 };
    let [line, cap, gap] = [1.0, 1.5, 0.0];
    draw(chart, &plane, &mut canvas, Sizes { line, radius, cap, gap, has_dashes })?;
    let mut large = vec![None; width * rows];
    for &((x, y), colour) in &canvas.points {
        large[place(y / real(dots_y), rows) * width + place(x / real(dots_x), width)] =
            Some(colour);
    }
    let row_of = |tick: f64| place(1.0 - plane.y.part(tick).unwrap_or(0.0), rows);
    let column_of = |tick: f64| place(plane.x.part(tick).unwrap_or(0.0), width);
    let mut lines: Vec<Vec<Cell>> = Vec::new();
    if !chart.title.is_empty() {
        lines.push(centred(&chart.title, left, width));
    }
    if !y_name.is_empty() {
        lines.push(plain(&fitted(&y_name, left + width)));
    }
    let mut labels = vec![String::new(); rows];
    for &tick in plane.y.ticks() {
        labels[row_of(tick)] = plane.y.label(tick);
    }
    let ticks: Vec<usize> = plane.x.ticks().iter().map(|&tick| column_of(tick)).collect();
    for (row, label) in labels.iter().enumerate() {
        let axis = if label.is_empty() { '│' } else { '┤' };
        let mut line = plain(&format!("{label:>widest$} {axis}"));
        for column in 0..width {
            let cell = match large[row * width + column] {
                Some(colour) => ('•', Some(colour), None),
                None => cell(&canvas, column, row, tint),
            };
            let on_grid =
                chart.grid == Some(true) && (!label.is_empty() || ticks.contains(&column));
            line.push(if cell.0 == ' ' && on_grid { ('·', None, None) } else { cell });
        }
        lines.push(line);
    }
    let mut axis = plain(&format!("{:>left$}", '└'));
    axis.extend((0..width).map(|i| (if ticks.contains(&i) { '┬' } else { '─' }, None, None)));
    lines.push(axis);
    let mut numbers = String::new();
    let all = plane.x.ticks().iter().zip(&ticks);
    for (&tick, column) in all {
        let label = plane.x.label(tick);
        let n = label.chars().count();
        let start =
            (left + column).saturating_sub((n - 1) / 2).min((left + width).saturating_sub(n));
        let used = numbers.chars().count();
        // Labels that would touch are left out.
        if start > used || used == 0 {
            numbers.push_str(&" ".repeat(start - used));
            numbers.push_str(&label);
        }
    }
    lines.push(plain(&numbers));
    if !x_name.is_empty() {
        lines.push(centred(&x_name, left, width));
    }
    if chart.has_legend() {
        lines.push(legend_of(chart, left, width, has_dashes));
    }
    let lines: Vec<String> = lines.iter().map(|line| painted(line, tint)).collect();
    Ok(lines.join("\n").trim_end_matches('\n').into())
}

#[expect(clippy::cast_precision_loss, reason = "dots of a window")]
fn real(n: usize) -> f64 {
    n as f64
}

/// The cell of `n` that a part from 0 to 1 falls in.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cells of a window")]
fn place(part: f64, n: usize) -> usize {
    ((part * real(n)) as usize).min(n - 1)
}

fn plain(text: &str) -> Vec<Cell> {
    text.chars().map(|letter| (letter, None, None)).collect()
}

fn centred(text: &str, left: usize, width: usize) -> Vec<Cell> {
    let text = fitted(text, left + width);
    let n = text.chars().count();
    let start = (left + width.saturating_sub(n) / 2).min((left + width).saturating_sub(n));
    plain(&format!("{}{text}", " ".repeat(start)))
}

/// A text of at most so many letters, with dots where it ends.
fn fitted(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    let kept: String = text.chars().take(most.saturating_sub(2)).collect();
    format!("{}..", kept.trim_end())
}

fn legend_of(chart: &Chart, left: usize, width: usize, has_dashes: bool) -> Vec<Cell> {
    let mut line = plain(&" ".repeat(left));
    let named = chart.layers.iter().enumerate().filter(|(_, layer)| !layer.label.is_empty());
    let named: Vec<_> = named.collect();
    for (n, &(i, layer)) in named.iter().enumerate() {
        let more = format!(".. {} more", named.len() - n);
        // Before the last a place is kept to say how many are left.
        let kept = if n + 1 < named.len() { more.chars().count() + 3 } else { 0 };
        let label = fitted(&layer.label, width / 2);
        if n > 0 && line.len() + label.chars().count() + 3 + kept > left + width {
            line.extend(plain(&more));
            break;
        }
        let sample = match layer.marks {
            Marks::Line(_) if has_dashes => SAMPLES[if i == 0 { 0 } else { (i - 1) % 3 + 1 }],
            Marks::Bars(..) | Marks::Spans(_) => "██",
            Marks::Points(_) | Marks::Errors(_) => "•",
            _ => SAMPLES[0],
        };
        line.extend(sample.chars().map(|letter| (letter, Some(colour(i)), None)));
        line.extend(plain(&format!(" {label}   ")));
    }
    line
}

/// What stands in a cell: a block of an image, else the dots.
fn cell(canvas: &Canvas, column: usize, row: usize, tint: Tint) -> Cell {
    // The order of the dots in a Braille character.
    const BITS: [(usize, usize); 8] =
        [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    let at = |(x, y): (usize, usize)| canvas.colour(column * DOTS.0 + x, row * DOTS.1 + y);
    let middle = (real(column * DOTS.0) + 1.0, real(row * DOTS.1) + 2.0);
    if canvas.images.iter().any(|area| area.has(middle)) {
        let (upper, lower) = (at((0, 0)).or(at((1, 1))), at((1, 3)).or(at((0, 2))));
        return if tint == Tint::None {
            (SHADES[usize::from(lightness(upper)) * SHADES.len() / 256], None, None)
        } else {
            ('▀', upper, lower)
        };
    }
    let mut code = 0x2800;
    let mut colours: Vec<(Rgb, usize)> = Vec::new();
    for (bit, dot) in BITS.into_iter().enumerate() {
        let Some(colour) = at(dot) else { continue };
        code |= 1 << bit;
        match colours.iter_mut().find(|(known, _)| *known == colour) {
            Some((_, n)) => *n += 1,
            None => colours.push((colour, 1)),
        }
    }
    let most = colours.iter().max_by_key(|(_, n)| *n).map(|(colour, _)| *colour);
    let letter = if code == 0x2800 { ' ' } else { char::from_u32(code).unwrap_or(' ') };
    (letter, most, None)
}

fn lightness(colour: Option<Rgb>) -> u8 {
    let [red, green, blue] = colour.unwrap_or_default().map(u32::from);
    u8::try_from((299 * red + 587 * green + 114 * blue) / 1000).unwrap_or(u8::MAX)
}

/// A line with its colours, without blanks at its end.
fn painted(line: &[Cell], tint: Tint) -> String {
    let end = line.iter().rposition(|cell| cell.0 != ' ').map_or(0, |last| last + 1);
    let mut text = String::new();
    let mut colours = (None, None);
    for &(letter, front, back) in &line[..end] {
        let wanted = if letter == ' ' { colours } else { (front, back) };
        if wanted != colours {
            text.push_str(&tint.switch(wanted.0, wanted.1));
            colours = wanted;
        }
        text.push(letter);
    }
    if colours != (None, None) {
        text.push_str(&tint.switch(None, None));
    }
    text
}
