//! The legend: one sample and one name for each thing in a picture, in rows below the panels.

use crate::canvas::{Anchor, Brush, Canvas, Place, Rect, Stroke, TextStyle};
use crate::color::Ink;
use crate::font::{Weight, text_width};
use crate::marker::Marker;

const SIZE: f64 = 11.5;
const ROW: f64 = 20.0;
const SAMPLE: f64 = 30.0;
const GAP: f64 = 7.0;
const BETWEEN: f64 = 22.0;

/// One line of explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What it explains.
    pub label: String,
    /// The colour of a band.
    pub band: Option<Ink>,
    /// A line.
    pub stroke: Option<Stroke>,
    /// A marker with its radius.
    pub marker: Option<(Marker, f64, Brush)>,
}

/// All entries, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Legend {
    /// From left to right, row by row.
    pub entries: Vec<Entry>,
}

impl Legend {
    /// The height it needs on a sheet of this width.
    pub(crate) fn height(&self, width: f64) -> f64 {
        ROW * self.columns(width).map_or(0, |columns| self.entries.len().div_ceil(columns)) as f64
    }

    /// The number of columns: as many as fit, but no more than equal rows need.
    fn columns(&self, width: f64) -> Option<usize> {
        let count = self.entries.len();
        let fits = |columns: &usize| self.widths(*columns).iter().sum::<f64>() - BETWEEN <= width;
        let most = (1..=count).rev().find(fits).or(if count > 0 { Some(1) } else { None })?;
        Some(count.div_ceil(count.div_ceil(most)))
    }

    /// The width of each column, with the gap after it.
    fn widths(&self, columns: usize) -> Vec<f64> {
        let width = |entry: &Entry| {
            entry.sample() + GAP + text_width(&entry.label, SIZE, Weight::Regular) + BETWEEN
        };
        let column = |c: usize| self.entries.iter().skip(c).step_by(columns).map(width);
        (0..columns).map(|c| column(c).fold(0.0, f64::max)).collect()
    }

    /// Draws all entries, centred, from the upper edge of `area`.
    pub(crate) fn draw(&self, canvas: &mut Canvas, area: Rect) {
        let Some(columns) = self.columns(area.width) else { return };
        let widths = self.widths(columns);
        let used = widths.iter().sum::<f64>() - BETWEEN;
        let left = area.left + (0.5 * (area.width - used)).max(0.0);
        for (i, entry) in self.entries.iter().enumerate() {
            let before: f64 = widths[..i % columns].iter().sum();
            let y = area.top + ROW * ((i / columns) as f64 + 0.5);
            entry.draw(canvas, Place::new(left + before, y));
        }
    }
}

impl Entry {
    /// Explains a line.
    pub fn line(label: &str, stroke: Stroke) -> Self {
        Self { label: label.into(), band: None, stroke: Some(stroke), marker: None }
    }

    /// Explains a marker, given with its radius.
    pub fn marker(label: &str, marker: (Marker, f64, Brush)) -> Self {
        Self { label: label.into(), band: None, stroke: None, marker: Some(marker) }
    }

    /// The width of what stands before the name; a marker alone needs less than a line.
    fn sample(&self) -> f64 {
        if self.stroke.is_none() && self.band.is_none() { 10.0 } else { SAMPLE }
    }

    fn draw(&self, canvas: &mut Canvas, at: Place) {
        let end = Place::new(at.x + self.sample(), at.y);
        if let Some(ink) = self.band {
            let rect = Rect { left: at.x, top: at.y - 6.0, width: SAMPLE, height: 12.0 };
            canvas.rect(rect, &Brush::fill(ink).with_opacity(0.16));
        }
        if let Some(stroke) = self.stroke {
            canvas.line(at, end, stroke);
        }
        if let Some((marker, radius, brush)) = &self.marker {
            marker.draw(canvas, Place::new(at.x + 0.5 * self.sample(), at.y), *radius, brush);
        }
        let text = Place::new(end.x + GAP, at.y + 0.36 * SIZE);
        canvas.text(text, &self.label, &TextStyle::new(SIZE, Anchor::Start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn legend(labels: &[&str]) -> Legend {
        let entry =
            |label: &&str| Entry { label: (*label).into(), band: None, stroke: None, marker: None };
        Legend { entries: labels.iter().map(entry).collect() }
    }

    #[test]
    fn rows_are_filled_evenly_and_none_means_no_height() {
        let six = legend(&["one", "two", "three", "four", "five", "six"]);
        assert_eq!(six.height(2000.0), ROW);
        assert_eq!(six.columns(250.0), Some(3));
        assert_eq!(six.height(250.0), 2.0 * ROW);
        assert_eq!(six.columns(1.0), Some(1));
        assert_eq!(legend(&[]).height(400.0), 0.0);
    }
}
