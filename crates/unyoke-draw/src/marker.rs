//! Markers: the small shapes that tell curves apart without colour.

use crate::canvas::{Brush, Canvas, Place, Stroke, closed_path, number};
use crate::color::Ink;

/// A small shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// A circle.
    Circle,
    /// A square on its corner.
    Diamond,
    /// A triangle that points up.
    TriangleUp,
    /// A triangle that points down.
    TriangleDown,
    /// A square on its side.
    Square,
    /// A pentagon.
    Pentagon,
    /// A hexagon.
    Hexagon,
}

/// Whether the inside of a marker has its colour or that of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// The colour of the outline.
    Filled,
    /// The colour of the paper.
    Open,
}

impl Marker {
    /// Draws the marker at `at` with a radius of about `radius`.
    pub fn draw(self, canvas: &mut Canvas, at: Place, radius: f64, brush: &Brush) {
        canvas.path(&self.outline(at, radius), brush);
    }

    /// The brush for a marker of this colour.
    pub fn brush(ink: Ink, inside: Inside) -> Brush {
        let stroke = Stroke::solid(ink, 1.3);
        match inside {
            Inside::Filled => Brush::fill(ink).with_stroke(stroke),
            Inside::Open => Brush::fill(Ink::Paper).with_stroke(stroke),
        }
    }

    /// The outline, sized so that all shapes look equally large.
    pub(crate) fn outline(self, at: Place, radius: f64) -> String {
        let quarter = 0.25;
        match self {
            Self::Circle => ellipse(at, [radius, radius]),
            Self::Diamond => polygon(at, 1.25 * radius, 4, quarter),
            Self::TriangleUp => {
                polygon(Place::new(at.x, at.y + 0.2 * radius), 1.35 * radius, 3, quarter)
            }
            Self::TriangleDown => {
                polygon(Place::new(at.x, at.y - 0.2 * radius), 1.35 * radius, 3, -quarter)
            }
            Self::Square => polygon(at, 1.25 * radius, 4, 0.125),
            Self::Pentagon => polygon(at, 1.15 * radius, 5, quarter),
            Self::Hexagon => polygon(at, 1.1 * radius, 6, quarter),
        }
    }
}

/// The outline of an ellipse with its axes level and upright.
pub fn ellipse(at: Place, radii: [f64; 2]) -> String {
    let [x, y, a, b] = [at.x - radii[0], at.y, radii[0], radii[1]].map(number);
    let width = number(2.0 * radii[0]);
    format!("M{x} {y}a{a} {b} 0 1 0 {width} 0a{a} {b} 0 1 0 -{width} 0Z")
}

/// A regular polygon; `turn` is where its first corner is, in turns against the clock from the right.
fn polygon(centre: Place, radius: f64, corners: usize, turn: f64) -> String {
    let corner = |i: usize| {
        let angle = std::f64::consts::TAU * (turn + i as f64 / corners as f64);
        Place::new(centre.x + radius * angle.cos(), centre.y - radius * angle.sin())
    };
    closed_path(&(0..corners).map(corner).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_points_where_it_says() {
        let at = Place::new(0.0, 0.0);
        assert!(Marker::TriangleUp.outline(at, 10.0).starts_with("M0 -11.5"));
        assert!(Marker::TriangleDown.outline(at, 10.0).starts_with("M0 11.5"));
    }
}
