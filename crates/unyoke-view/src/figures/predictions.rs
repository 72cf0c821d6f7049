//! Each value against its prediction from all the others.

use unyoke_draw::{
    Axis, Brush, Canvas, Frame, Ink, Legend, Mark, Marker, Picture, Place, Scale, Stroke,
    open_path, thinned,
};

use super::{Quantity, ink, kind, panel, sheet};

/// Values of an output with their predictions from all the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// The output.
    pub output: Quantity,
    /// Its values.
    pub values: Vec<PredictedValue>,
}

/// A value with its prediction from the others.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedValue {
    /// What it stands for.
    pub mark: Mark,
    /// What was measured.
    pub measured: f64,
    /// One standard deviation below the prediction.
    pub low: f64,
    /// The prediction.
    pub mean: f64,
    /// One standard deviation above the prediction.
    pub high: f64,
}

const SIZE: f64 = 220.0;

/// A picture for each output: predictions with their standard deviations against measured values.
pub fn predictions_figure(outputs: &[Predicted]) -> Vec<Picture> {
    outputs.iter().enumerate().map(|(place, predicted)| picture(place, predicted)).collect()
}

fn picture(place: usize, predicted: &Predicted) -> Picture {
    // Both axes are the same, so that the diagonal is where predictions are right. A bar may leave
    // the panel: the values are what is to be seen.
    let values = predicted.values.iter().flat_map(|value| [value.measured, value.mean]);
    let scale = Scale::around(kind(predicted.output.is_log), values).padded(0.03);
    let axis = |label| Axis::new(label, scale, 4);
    let whole = panel(&predicted.output.name, axis("Measured"), axis("Predicted from the others"));
    let mut sheet = sheet(whole, [SIZE; 2], &Legend::default());
    sheet.fill(0, |canvas, frame| draw(canvas, frame, place, predicted));
    let name = &predicted.output.name;
    Picture::new(
        sheet.canvas,
        &format!("Values of {name} against their predictions from the others"),
    )
}

fn draw(canvas: &mut Canvas, frame: &Frame, place: usize, predicted: &Predicted) {
    let (low, high) = (frame.rect.left, frame.rect.right());
    let (bottom, top) = (frame.rect.bottom(), frame.rect.top);
    let diagonal = [Place::new(low, bottom), Place::new(high, top)];
    canvas.line(diagonal[0], diagonal[1], Stroke::solid(Ink::Muted, 1.0));
    let within = |y: f64| y.clamp(top - 2.0, bottom + 2.0);
    let mut unmarked: Vec<Place> = vec![];
    for value in &predicted.values {
        let at = frame.place([value.measured, value.mean]);
        if value.mark == Mark::default() {
            unmarked.push(at);
            continue;
        }
        canvas.marked(&value.mark, Some(at), |canvas| {
            let ends = [value.low, value.high].map(|end| frame.place([value.measured, end]));
            let ends = ends.map(|end| Place::new(end.x, within(end.y)));
            let brush = Brush::line(Stroke::solid(ink(place), 1.0)).with_opacity(0.5);
            canvas.path(&open_path(&ends), &brush);
            Marker::Circle.draw(canvas, at, 2.4, &Brush::fill(ink(place)));
        });
    }
    canvas.dots(&thinned(unmarked, 1.5), 1.2, ink(place));
}
