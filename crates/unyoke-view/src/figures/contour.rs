//! What two parameters together do to an output: contours of what is expected, and of how uncertain that is.

use unyoke_draw::{
    Anchor, Axis, Border, Brush, Canvas, Form, Frame, Grid, Ink, Inside, Kind, Legend, Marker,
    Panel, Picture, Place, Rect, Scale, Sheet, Stroke, TextStyle, Tick, closed_path, rings,
};

use super::designs::shortened;
use super::{Quantity, kind};

const SIZE: [f64; 2] = [200.0, 170.0];
const BAR: f64 = 10.0;

/// An output at pairs of values of two parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ContourPanel {
    /// What is written above: the output.
    pub title: String,
    /// The parameters: to the right, and up.
    pub parameters: [Quantity; 2],
    /// Their values, rising.
    pub values: [Vec<f64>; 2],
    /// The output at each pair, row by row from the lowest value of the second parameter; NaN where there is none.
    pub field: Vec<f64>,
    /// The design through which the slice goes.
    pub here: Option<[f64; 2]>,
}

/// A picture of the contours; `None` if there are fewer than two values of a parameter.
pub fn contour_figure(one: &ContourPanel) -> Option<Picture> {
    let [across, up] = &one.values;
    if across.len() < 2 || up.len() < 2 {
        return None;
    }
    let axis = |i: usize| {
        let (quantity, values) = (&one.parameters[i], &one.values[i]);
        let scale = Scale::new(kind(quantity.is_log), values[0], values[values.len() - 1]);
        Axis::new(&shortened(&quantity.name, 28), scale, 4)
    };
    let panel = Panel {
        title: shortened(&one.title, 36),
        note: String::new(),
        x: axis(0),
        y: axis(1),
        border: Border::Closed,
        aside: 8.0 + BAR + 46.0,
    };
    let [width, height] = SIZE;
    let form = Form { heading: String::new(), width, height, columns: 1 };
    let mut sheet = Sheet::new(&form, &[panel], &Legend::default());
    let levels = Levels::of(&one.field);
    sheet.fill(0, |canvas, frame| {
        draw_field(canvas, frame, one, &levels);
        if let Some(here) = one.here {
            let at = frame.place(here);
            let rim = Stroke::solid(Ink::Fixed(255, 255, 255), 2.6);
            Marker::Circle.draw(canvas, at, 4.0, &Brush::line(rim));
            let dark = Marker::brush(Ink::Fixed(20, 20, 20), Inside::Open);
            Marker::Circle.draw(canvas, at, 4.0, &Brush { fill: None, ..dark });
        }
    });
    sheet.overlay(0, |canvas, frame| draw_bar(canvas, frame, &levels));
    let [x, y] = one.parameters.each_ref().map(|quantity| quantity.name.as_str());
    Some(Picture::new(sheet.canvas, &format!("{} as {x} and {y} vary", one.title)))
}

/// Round values between the least and the greatest of a field.
struct Levels {
    scale: Scale,
    ticks: Vec<Tick>,
}

impl Levels {
    fn of(field: &[f64]) -> Self {
        let finite = || field.iter().copied().filter(|value| value.is_finite());
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        let scale = Scale::new(Kind::Linear, low, high);
        Self { scale, ticks: scale.ticks(8) }
    }

    /// The edges of all bands, from below.
    fn edges(&self) -> Vec<f64> {
        let (low, high) = (self.scale.low(), self.scale.high());
        let inner = self.ticks.iter().map(|tick| tick.at).filter(|at| *at > low && *at < high);
        std::iter::once(low).chain(inner).chain([high]).collect()
    }

    /// The colour of the band above edge `index`.
    fn ink(&self, index: usize) -> Ink {
        Ink::ramp((index as f64 + 0.5) / (self.edges().len() - 1) as f64)
    }
}

/// Draws the regions above each level, from the lowest up, each over the last.
fn draw_field(canvas: &mut Canvas, frame: &Frame, one: &ContourPanel, levels: &Levels) {
    let [columns, rows] = one.values.each_ref().map(Vec::len);
    let grid = Grid { columns, rows, values: &one.field };
    let edges = levels.edges();
    let place =
        |[x, y]: &[f64; 2]| frame.place([between(&one.values[0], *x), between(&one.values[1], *y)]);
    for (i, edge) in edges.iter().take(edges.len() - 1).enumerate() {
        let ring = |ring: &Vec<[f64; 2]>| closed_path(&ring.iter().map(place).collect::<Vec<_>>());
        let outline: String = rings(&grid, *edge).iter().map(ring).collect();
        let line = Stroke::solid(Ink::Fixed(40, 70, 90), 0.35);
        canvas.path(&outline, &Brush::fill(levels.ink(i)).with_stroke(line));
    }
}

/// The value at a share of the way from the first to the last, which need not be evenly spaced.
fn between(values: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * (values.len() - 1) as f64;
    let below = (place.floor() as usize).min(values.len() - 2);
    values[below] + (place - below as f64) * (values[below + 1] - values[below])
}

/// The border once more, over the colours, and the bar that explains them.
fn draw_bar(canvas: &mut Canvas, frame: &Frame, levels: &Levels) {
    canvas.rect(frame.rect, &Brush::line(Stroke::solid(Ink::Axis, 1.0)));
    let bar = Rect { left: frame.rect.right() + 8.0, width: BAR, ..frame.rect };
    let height = |value: f64| bar.bottom() - levels.scale.place(value) * bar.height;
    for (i, pair) in levels.edges().windows(2).enumerate() {
        let (top, bottom) = (height(pair[1]), height(pair[0]));
        let band = Rect { top, height: bottom - top, ..bar };
        canvas.rect(band, &Brush::fill(levels.ink(i)));
    }
    canvas.rect(bar, &Brush::line(Stroke::solid(Ink::Axis, 0.8)));
    for tick in &levels.ticks {
        let y = height(tick.at);
        let edge = Place::new(bar.right(), y);
        canvas.line(edge, Place::new(edge.x + 2.5, y), Stroke::solid(Ink::Axis, 0.8));
        let at = Place::new(edge.x + 5.0, y + 3.5);
        canvas.text(at, &shortened(&tick.label, 8), &TextStyle::new(10.0, Anchor::Start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_are_not_evenly_spaced_keep_their_values() {
        let values = [0.0, 1.0, 10.0];
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| between(&values, share)),
            [0.0, 0.5, 1.0, 5.5, 10.0]
        );
    }
}
