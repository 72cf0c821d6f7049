//! Shapes and words as SVG text: the only place where elements are written.
//!
//! No element has an id, so any number of pictures can share one page. Colours carry a class
//! (`f-blue` for a fill, `s-blue` for a stroke) beside their value, so a page can change them.

use std::fmt::Write;

use crate::color::Ink;
use crate::font::{FAMILY, Weight};
use crate::mark::{Mark, escape};

/// A place on the picture: to the right, and down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
}

impl Place {
    /// The place at these coordinates.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// A rectangle on the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rect {
    /// The left edge.
    pub left: f64,
    /// The upper edge.
    pub top: f64,
    /// To the right edge.
    pub width: f64,
    /// To the lower edge.
    pub height: f64,
}

impl Rect {
    /// The right edge.
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    /// The lower edge.
    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// The same rectangle with `margin` more on each side.
    pub fn grown(&self, margin: f64) -> Self {
        Self {
            left: self.left - margin,
            top: self.top - margin,
            width: self.width + 2.0 * margin,
            height: self.height + 2.0 * margin,
        }
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke {
    /// The colour.
    pub ink: Ink,
    /// How thick the line is.
    pub width: f64,
    /// Lengths of dashes and gaps as SVG wants them; empty for a solid line.
    pub dash: &'static str,
}

impl Stroke {
    /// A line without gaps.
    pub fn solid(ink: Ink, width: f64) -> Self {
        Self { ink, width, dash: "" }
    }
}

/// How a shape is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brush {
    /// The colour of the inside; `None` leaves it as it is.
    pub fill: Option<Ink>,
    /// The outline, if it is drawn.
    pub stroke: Option<Stroke>,
    /// From 0, which cannot be seen, to 1.
    pub opacity: f64,
}

impl Brush {
    /// Fills the inside and draws no outline.
    pub fn fill(ink: Ink) -> Self {
        Self { fill: Some(ink), stroke: None, opacity: 1.0 }
    }

    /// Draws the outline only.
    pub fn line(stroke: Stroke) -> Self {
        Self { fill: None, stroke: Some(stroke), opacity: 1.0 }
    }

    /// The same brush with an outline.
    pub fn with_stroke(self, stroke: Stroke) -> Self {
        Self { stroke: Some(stroke), ..self }
    }

    /// The same brush, less opaque.
    pub fn with_opacity(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }

    fn attributes(&self) -> String {
        let mut classes = Vec::new();
        let mut text = String::new();
        match self.fill {
            Some(ink) => {
                classes.extend(ink.role().map(|role| format!("f-{role}")));
                let _ = write!(text, " fill=\"{}\"", ink.hex());
            }
            None => text.push_str(" fill=\"none\""),
        }
        if let Some(stroke) = self.stroke {
            classes.extend(stroke.ink.role().map(|role| format!("s-{role}")));
            let width = number(stroke.width);
            let _ = write!(text, " stroke=\"{}\" stroke-width=\"{width}\"", stroke.ink.hex());
            if !stroke.dash.is_empty() {
                let _ = write!(text, " stroke-dasharray=\"{}\"", stroke.dash);
            }
        }
        if self.opacity < 1.0 {
            let _ = write!(text, " opacity=\"{}\"", number(self.opacity));
        }
        if classes.is_empty() { text } else { format!(" class=\"{}\"{text}", classes.join(" ")) }
    }
}

/// Which part of a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// How a text is set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextStyle {
    /// Size of the typeface.
    pub size: f64,
    /// How heavy it is.
    pub weight: Weight,
    /// The colour.
    pub ink: Ink,
    /// Which part of the text stands at its place.
    pub anchor: Anchor,
}

impl TextStyle {
    /// Regular text in the usual colour.
    pub fn new(size: f64, anchor: Anchor) -> Self {
        Self { size, weight: Weight::Regular, ink: Ink::Text, anchor }
    }

    /// The same style, heavier.
    pub fn semi_bold(self) -> Self {
        Self { weight: Weight::SemiBold, ..self }
    }

    /// The same style in another colour.
    pub fn with_ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }

    fn attributes(&self) -> String {
        let anchor = match self.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = match self.weight {
            Weight::Regular => String::new(),
            weight => format!(" font-weight=\"{}\"", weight.number()),
        };
        let size = number(self.size);
        let brush = Brush::fill(self.ink).attributes();
        format!(" font-size=\"{size}\"{weight}{anchor}{brush}")
    }
}

/// An SVG picture being written.
#[derive(Debug, Clone)]
pub struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

impl Canvas {
    /// An empty sheet of paper.
    pub fn new(width: f64, height: f64) -> Self {
        let mut canvas = Self { width, height, body: String::new() };
        let all = Rect { left: 0.0, top: 0.0, width, height };
        canvas.rect(all, &Brush::fill(Ink::Paper));
        canvas
    }

    /// Width of the picture.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Height of the picture.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// Draws a rectangle; a negative width or height counts as none.
    pub fn rect(&mut self, rect: Rect, brush: &Brush) {
        let (x, y) = (number(rect.left), number(rect.top));
        let (width, height) = (number(rect.width.max(0.0)), number(rect.height.max(0.0)));
        let brush = brush.attributes();
        self.element(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{brush}/>"
        ));
    }

    /// Draws a straight line.
    pub fn line(&mut self, from: Place, to: Place, stroke: Stroke) {
        self.path(&open_path(&[from, to]), &Brush::line(stroke));
    }

    /// Draws an outline in SVG's own words, as made by [`open_path`] and [`closed_path`].
    pub fn path(&mut self, outline: &str, brush: &Brush) {
        if !outline.is_empty() {
            let brush = brush.attributes();
            self.element(&format!("<path d=\"{outline}\"{brush}/>"));
        }
    }

    /// Draws round dots, which overlap without a seam.
    pub fn dots(&mut self, places: &[Place], radius: f64, ink: Ink) {
        if places.is_empty() {
            return;
        }
        // A line of almost no length with round ends is the shortest way to write a dot.
        let dot = |place: &Place| format!("M{} {}h.01", number(place.x), number(place.y));
        let outline: String = places.iter().map(dot).collect();
        let brush = Brush::line(Stroke::solid(ink, 2.0 * radius)).attributes();
        self.element(&format!("<path d=\"{outline}\"{brush} stroke-linecap=\"round\"/>"));
    }

    /// Writes a text on one line.
    pub fn text(&mut self, at: Place, text: &str, style: &TextStyle) {
        let (x, y) = (number(at.x), number(at.y));
        let (style, text) = (style.attributes(), escape(text));
        self.element(&format!("<text x=\"{x}\" y=\"{y}\"{style}>{text}</text>"));
    }

    /// Writes a text that reads upwards.
    pub fn text_upwards(&mut self, at: Place, text: &str, style: &TextStyle) {
        let (x, y) = (number(at.x), number(at.y));
        let (style, text) = (style.attributes(), escape(text));
        self.element(&format!(
            "<text transform=\"translate({x} {y}) rotate(-90)\"{style}>{text}</text>"
        ));
    }

    /// Draws what `inner` draws, as far as it lies within `rect`.
    pub fn clipped(&mut self, rect: Rect, inner: impl FnOnce(&mut Self)) {
        let [x, y] = [rect.left, rect.top].map(number);
        let [width, height] = [rect.width.max(0.0), rect.height.max(0.0)].map(number);
        self.element(&format!(
            "<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"{x} {y} {width} {height}\">"
        ));
        inner(self);
        self.element("</svg>");
    }

    /// Draws what `inner` draws as one shape, which is then `opacity` opaque.
    pub fn faded(&mut self, opacity: f64, inner: impl FnOnce(&mut Self)) {
        self.element(&format!("<g opacity=\"{}\">", number(opacity)));
        inner(self);
        self.element("</g>");
    }

    /// Draws what `inner` draws as something that a reader can point at; it stands at `at`, or is a line that
    /// must be hit.
    pub fn marked(&mut self, mark: &Mark, at: Option<Place>, inner: impl FnOnce(&mut Self)) {
        if mark.is_empty() {
            return inner(self);
        }
        let attributes = mark.attributes();
        let place = match at {
            Some(at) => format!(" data-at=\"{} {}\"", number(at.x), number(at.y)),
            None => " class=\"line\"".to_owned(),
        };
        self.element(&format!("<g{attributes}{place}>"));
        inner(self);
        self.element("</g>");
    }

    /// The whole document; `description` is what a reader hears who does not see it.
    pub(crate) fn finish(self, description: &str) -> String {
        let (width, height) = (number(self.width), number(self.height));
        let label = escape(description);
        // A label rather than a title element, which browsers would show under the pointer.
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FAMILY}\" \
             stroke-linejoin=\"round\" role=\"img\" aria-label=\"{label}\">\n{}</svg>\n",
            self.body
        )
    }

    fn element(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }
}

/// The outline through `places`, not closed. Level and upright parts, of which stairs consist, name
/// only the coordinate that changes.
pub fn open_path(places: &[Place]) -> String {
    let mut text = String::new();
    let mut last: Option<[String; 2]> = None;
    for place in places {
        let [x, y] = [number(place.x), number(place.y)];
        let _ = match &last {
            None => write!(text, "M{x} {y}"),
            Some([before, same]) if *before == x && *same == y => continue,
            Some([_, same]) if *same == y => write!(text, "H{x}"),
            Some([same, _]) if *same == x => write!(text, "V{y}"),
            Some(_) => write!(text, "L{x} {y}"),
        };
        last = Some([x, y]);
    }
    text
}

/// The outline around `places`.
pub fn closed_path(places: &[Place]) -> String {
    if places.is_empty() { String::new() } else { open_path(places) + "Z" }
}

/// A number with at most two decimals, for SVG. What is not finite becomes 0, as SVG has no word for it.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_finite() {
        assert_eq!(number(1.0), "1");
        assert_eq!(number(0.126), "0.13");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(100.0), "100");
        assert_eq!(number(f64::NAN), "0");
        assert_eq!(number(f64::INFINITY), "0");
    }

    #[test]
    fn outlines_of_stairs_are_short() {
        let places = [(0.0, 0.0), (5.0, 0.0), (5.0, 3.0), (5.0, 3.001), (7.5, 4.0)];
        let places = places.map(|(x, y)| Place::new(x, y));
        assert_eq!(open_path(&places), "M0 0H5V3L7.5 4");
        assert_eq!(closed_path(&places[..1]), "M0 0Z");
    }

    #[test]
    fn an_empty_outline_is_not_drawn() {
        let mut canvas = Canvas::new(10.0, 10.0);
        let before = canvas.body.clone();
        canvas.path(&closed_path(&[]), &Brush::fill(Ink::Blue));
        assert_eq!(canvas.body, before);
    }
}
