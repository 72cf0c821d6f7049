//! Fronts in objective space: lines that break where a front does, and clouds of points.

use unyoke_draw::{Brush, Canvas, Frame, Ink, Stroke, open_path, pieces, thinned};

/// Parts of a front that are farther apart than this are not joined.
const REACH: f64 = 9.0;

/// Draws a front as a line; a part that is a single point becomes a dot.
pub(crate) fn draw_front(canvas: &mut Canvas, frame: &Frame, points: &[[f64; 2]], stroke: Stroke) {
    let places = thinned(frame.places(points), 0.4);
    for piece in pieces(places, REACH) {
        match piece.as_slice() {
            single @ [_] => canvas.dots(single, 0.9 * stroke.width, stroke.ink),
            several => canvas.path(&open_path(several), &Brush::line(stroke)),
        }
    }
}

/// Draws points as dots of one colour.
pub(crate) fn draw_dots(canvas: &mut Canvas, frame: &Frame, points: &[[f64; 2]], dots: Dots) {
    let places = thinned(frame.places(points), 0.3 * dots.radius);
    canvas.dots(&places, dots.radius, dots.ink);
}

/// Size and colour of dots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dots {
    pub(crate) ink: Ink,
    pub(crate) radius: f64,
}
