//! The designs of the front side by side: a line for each design, down through an axis for each parameter and
//! each output. Axes lie below each other, so that any number of them has room for its name.

use unyoke_draw::{Anchor, Brush, Canvas, Ink, Mark, Picture, Place, Stroke, TextStyle, open_path};

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Coordinate {
    /// What it shows.
    pub name: String,
    /// What its left and right ends are, in words.
    pub ends: [String; 2],
    /// Whether it is an output; otherwise a parameter.
    pub is_output: bool,
}

/// A design.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it stands for.
    pub mark: Mark,
    /// Where it is on each axis, from 0 at the left to 1 at the right.
    pub at: Vec<f64>,
}

const WIDTH: f64 = 350.0;
/// Names stand at the left of the axes.
const NAMES: f64 = 132.0;
const EDGE: f64 = 12.0;
const PITCH: f64 = 34.0;
const TOP: f64 = 22.0;

/// A line for each design, down through all axes, light to dark in their order.
pub fn designs_figure(axes: &[Coordinate], lines: &[Line]) -> Vec<Picture> {
    if axes.is_empty() {
        return vec![];
    }
    let mut canvas = Canvas::new(WIDTH, PITCH * (axes.len() - 1) as f64 + 2.0 * TOP);
    for (i, axis) in axes.iter().enumerate() {
        draw_axis(&mut canvas, i, axis);
    }
    let across = |share: f64| NAMES + share.clamp(0.0, 1.0) * (WIDTH - EDGE - NAMES);
    let finite = |share: &f64| if share.is_finite() { *share } else { 0.5 };
    for (k, line) in lines.iter().enumerate() {
        let places = line.at.iter().map(finite).enumerate();
        let places: Vec<Place> = places.map(|(i, at)| Place::new(across(at), height(i))).collect();
        let share = k as f64 / lines.len().saturating_sub(1).max(1) as f64;
        let stroke = Stroke::solid(Ink::ramp(0.35 + 0.5 * share), 1.4);
        canvas.marked(&line.mark, None, |canvas| {
            canvas.path(&open_path(&places), &Brush::line(stroke));
        });
    }
    vec![Picture::new(canvas, "The designs of the front, with their parameters and outputs")]
}

fn height(axis: usize) -> f64 {
    PITCH * axis as f64 + TOP
}

/// A level line, with its name and its ends in two lines of text at the left.
fn draw_axis(canvas: &mut Canvas, index: usize, axis: &Coordinate) {
    let y = height(index);
    let (from, to) = (Place::new(NAMES, y), Place::new(WIDTH - EDGE, y));
    canvas.line(from, to, Stroke::solid(Ink::Axis, 1.0));
    for end in [from, to] {
        let (top, bottom) = (Place::new(end.x, y - 4.0), Place::new(end.x, y + 4.0));
        canvas.line(top, bottom, Stroke::solid(Ink::Axis, 1.0));
    }
    let ink = if axis.is_output { Ink::Blue } else { Ink::Text };
    let right = NAMES - 9.0;
    let name = TextStyle::new(10.5, Anchor::End).semi_bold().with_ink(ink);
    canvas.text(Place::new(right, y - 1.0), &shortened(&axis.name, 20), &name);
    let ends = TextStyle::new(9.5, Anchor::End).with_ink(Ink::Muted);
    let [low, high] = axis.ends.each_ref().map(|end| shortened(end, 11));
    canvas.text(Place::new(right, y + 11.0), &format!("{low} … {high}"), &ends);
}

/// The text, or its beginning with an ellipsis.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}
