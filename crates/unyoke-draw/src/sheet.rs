//! A sheet of panels: lays them out in rows with aligned axes and draws everything but the data.

use crate::canvas::{Anchor, Brush, Canvas, Place, Rect, Stroke, TextStyle};
use crate::color::Ink;
use crate::font::{Weight, text_width};
use crate::legend::Legend;
use crate::scale::{Scale, Tick};
use crate::step::Point;

const NUMBER: f64 = 11.0;
const LABEL: f64 = 12.0;
const TITLE: f64 = 12.0;
const NOTE: f64 = 10.5;
const HEADING: f64 = 14.0;
const TICK: f64 = 4.0;
const EDGE: f64 = 10.0;
const GUTTER: f64 = 16.0;

/// One axis of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What the axis shows; empty for none.
    pub label: String,
    /// Where values stand along it.
    pub scale: Scale,
    /// Values with a mark and a name.
    pub ticks: Vec<Tick>,
    /// Values with a small mark only.
    pub small: Vec<f64>,
}

impl Axis {
    /// An axis with about `wanted` numbers.
    pub fn new(label: &str, scale: Scale, wanted: usize) -> Self {
        let (ticks, small) = (scale.ticks(wanted), scale.small_ticks());
        Self { label: label.into(), scale, ticks, small }
    }

    /// The same axis without label and numbers, for a panel beside one that has them.
    pub fn without_words(mut self) -> Self {
        self.label.clear();
        self.ticks.iter_mut().for_each(|tick| tick.label.clear());
        self
    }
}

/// The lines around a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Border {
    /// Axes at the left and below, with light lines behind the data.
    Axes,
    /// An axis below only; rows have names instead of numbers.
    Rows,
    /// Lines on all sides and none behind the data.
    Closed,
}

/// One panel before it is laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Above the panel; empty for none.
    pub title: String,
    /// A remark at the right end of the title's line; left out where there is no room.
    pub note: String,
    /// The level axis.
    pub x: Axis,
    /// The upright axis.
    pub y: Axis,
    /// The lines around it.
    pub border: Border,
    /// Room for something at the right of the panel.
    pub aside: f64,
}

/// How large panels are, and how many stand in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Above everything; empty for none.
    pub heading: String,
    /// Width of each panel, without its axes.
    pub width: f64,
    /// Height of each panel, without its axes.
    pub height: f64,
    /// Panels in a row.
    pub columns: usize,
}

/// The place of a panel on the sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Its border.
    pub rect: Rect,
    /// The scale of its level axis.
    pub x: Scale,
    /// The scale of its upright axis.
    pub y: Scale,
}

impl Frame {
    /// Where a point of the data is on the sheet.
    pub fn place(&self, point: Point) -> Place {
        let x = self.rect.left + self.x.place(point[0]) * self.rect.width;
        let y = self.rect.bottom() - self.y.place(point[1]) * self.rect.height;
        Place::new(within_reach(x), within_reach(y))
    }

    /// Where points of the data are on the sheet.
    pub fn places(&self, points: &[Point]) -> Vec<Place> {
        points.iter().map(|point| self.place(*point)).collect()
    }

    /// Writes a remark into the middle, for a panel that has nothing to show.
    pub fn say(&self, canvas: &mut Canvas, remark: &str) {
        let Rect { left, top, width, height } = self.rect;
        let style = TextStyle::new(LABEL, Anchor::Middle).with_ink(Ink::Muted);
        canvas.text(Place::new(left + 0.5 * width, top + 0.5 * height), remark, &style);
    }
}

/// Keeps coordinates within what renderers can hold; what is not a number stays so.
fn within_reach(coordinate: f64) -> f64 {
    coordinate.clamp(-1e5, 1e5)
}

/// Panels with their axes, ready for data.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// What is drawn so far.
    pub canvas: Canvas,
    /// The places of the panels, in order.
    pub frames: Vec<Frame>,
}

impl Sheet {
    /// Lays out the panels and draws axes, titles and legend.
    pub fn new(form: &Form, panels: &[Panel], legend: &Legend) -> Self {
        let layout = Layout::new(form, panels, legend);
        let mut canvas = Canvas::new(layout.width, layout.height);
        if !form.heading.is_empty() {
            let style = TextStyle::new(HEADING, Anchor::Start).semi_bold();
            canvas.text(Place::new(EDGE, EDGE + HEADING), &form.heading, &style);
        }
        for (i, (panel, frame)) in panels.iter().zip(&layout.frames).enumerate() {
            let letter = if panels.len() > 1 { letter(i) } else { String::new() };
            draw_words_above(&mut canvas, panel, frame, &letter);
            draw_lines(&mut canvas, panel, frame);
            draw_horizontal(&mut canvas, &panel.x, frame);
            draw_vertical(&mut canvas, panel, frame);
        }
        legend.draw(&mut canvas, layout.legend);
        Self { canvas, frames: layout.frames }
    }

    /// Draws the data of panel `index`, cut off at its border.
    pub fn fill(&mut self, index: usize, data: impl FnOnce(&mut Canvas, &Frame)) {
        if let Some(frame) = self.frames.get(index) {
            self.canvas.clipped(frame.rect.grown(1.0), |canvas| data(canvas, frame));
        }
    }

    /// Draws over panel `index` and its surroundings.
    pub fn overlay(&mut self, index: usize, data: impl FnOnce(&mut Canvas, &Frame)) {
        if let Some(frame) = self.frames.get(index) {
            data(&mut self.canvas, frame);
        }
    }
}

/// "(a) " for the first panel, and so on.
fn letter(index: usize) -> String {
    let letter = char::from(b'a' + (index % 26) as u8);
    format!("({letter}) ")
}

/// Sizes of everything on a sheet.
struct Layout {
    width: f64,
    height: f64,
    frames: Vec<Frame>,
    legend: Rect,
}

impl Layout {
    fn new(form: &Form, panels: &[Panel], legend: &Legend) -> Self {
        let spaces = Spaces::new(form, panels);
        let place = |(i, panel): (usize, &Panel)| Frame {
            rect: spaces.rect(form, i),
            x: panel.x.scale,
            y: panel.y.scale,
        };
        let frames: Vec<Frame> = panels.iter().enumerate().map(place).collect();
        let width = (spaces.before(form, spaces.lefts.len()) - GUTTER + 2.0 * EDGE + 4.0).ceil();
        let rows = panels.len().div_ceil(spaces.lefts.len());
        let bottom = spaces.head + spaces.pitch(form) * rows as f64;
        let room = width - 2.0 * EDGE;
        let height = legend.height(room);
        let legend = Rect { left: EDGE, top: bottom, width: room, height };
        Self { width, height: (bottom + height + EDGE).ceil(), frames, legend }
    }
}

/// The room that words need around panels, equal along columns and in all rows.
struct Spaces {
    head: f64,
    above: f64,
    below: f64,
    lefts: Vec<f64>,
    asides: Vec<f64>,
}

impl Spaces {
    fn new(form: &Form, panels: &[Panel]) -> Self {
        let columns = form.columns.clamp(1, panels.len().max(1));
        let most = |c: usize, room: fn(&Panel) -> f64| {
            panels.iter().skip(c).step_by(columns).map(room).fold(0.0, f64::max)
        };
        Self {
            head: if form.heading.is_empty() { EDGE } else { EDGE + HEADING + 12.0 },
            above: panels.iter().map(room_above).fold(0.0, f64::max),
            below: panels.iter().map(room_below).fold(0.0, f64::max),
            lefts: (0..columns).map(|c| most(c, room_left)).collect(),
            asides: (0..columns).map(|c| most(c, |panel| panel.aside)).collect(),
        }
    }

    /// From the top of one row to that of the next.
    fn pitch(&self, form: &Form) -> f64 {
        self.above + form.height + self.below + 8.0
    }

    /// The width of all columns before this one, with the gutters after them.
    fn before(&self, form: &Form, column: usize) -> f64 {
        let width = |c: usize| self.lefts[c] + form.width + self.asides[c] + GUTTER;
        (0..column).map(width).sum()
    }

    /// The place of panel `index`.
    fn rect(&self, form: &Form, index: usize) -> Rect {
        let (column, row) = (index % self.lefts.len(), index / self.lefts.len());
        Rect {
            left: EDGE + self.before(form, column) + self.lefts[column],
            top: self.head + self.pitch(form) * row as f64 + self.above,
            width: form.width,
            height: form.height,
        }
    }
}

fn room_left(panel: &Panel) -> f64 {
    let width = |tick: &Tick| text_width(&tick.label, NUMBER, Weight::Regular);
    let numbers = panel.y.ticks.iter().map(width).fold(0.0, f64::max);
    let label = if panel.y.label.is_empty() { 0.0 } else { LABEL + 8.0 };
    numbers + label + TICK + 5.0
}

fn room_above(panel: &Panel) -> f64 {
    if panel.title.is_empty() && panel.note.is_empty() { 8.0 } else { TITLE + 12.0 }
}

fn room_below(panel: &Panel) -> f64 {
    let label = if panel.x.label.is_empty() { 0.0 } else { LABEL + 8.0 };
    TICK + NUMBER + 6.0 + label
}

fn draw_words_above(canvas: &mut Canvas, panel: &Panel, frame: &Frame, letter: &str) {
    let title = format!("{letter}{}", panel.title);
    let baseline = frame.rect.top - 10.0;
    let style = TextStyle::new(TITLE, Anchor::Start).semi_bold();
    canvas.text(Place::new(frame.rect.left, baseline), &title, &style);
    let used = text_width(&title, TITLE, Weight::SemiBold);
    let wanted = text_width(&panel.note, NOTE, Weight::Regular);
    if !panel.note.is_empty() && used + wanted + 12.0 <= frame.rect.width {
        let style = TextStyle::new(NOTE, Anchor::End).with_ink(Ink::Muted);
        canvas.text(Place::new(frame.rect.right(), baseline), &panel.note, &style);
    }
}

fn draw_lines(canvas: &mut Canvas, panel: &Panel, frame: &Frame) {
    let Rect { left, top, .. } = frame.rect;
    let (right, bottom) = (frame.rect.right(), frame.rect.bottom());
    let (grid, axis) = (Stroke::solid(Ink::Grid, 0.8), Stroke::solid(Ink::Axis, 1.0));
    if panel.border == Border::Closed {
        return canvas.rect(frame.rect, &Brush::line(axis));
    }
    for tick in &panel.x.ticks {
        let x = frame.place([tick.at, frame.y.low()]).x;
        canvas.line(Place::new(x, top), Place::new(x, bottom), grid);
    }
    for tick in &panel.y.ticks {
        let y = frame.place([frame.x.low(), tick.at]).y;
        canvas.line(Place::new(left, y), Place::new(right, y), grid);
    }
    canvas.line(Place::new(left, bottom), Place::new(right, bottom), axis);
    if panel.border == Border::Axes {
        canvas.line(Place::new(left, top), Place::new(left, bottom), axis);
    }
}

fn draw_horizontal(canvas: &mut Canvas, axis: &Axis, frame: &Frame) {
    let bottom = frame.rect.bottom();
    let mut mark = |at: f64, length: f64| {
        let x = frame.place([at, frame.y.low()]).x;
        let (from, to) = (Place::new(x, bottom), Place::new(x, bottom + length));
        canvas.line(from, to, Stroke::solid(Ink::Axis, 1.0));
    };
    axis.small.iter().for_each(|at| mark(*at, 0.6 * TICK));
    axis.ticks.iter().for_each(|tick| mark(tick.at, TICK));
    let style = TextStyle::new(NUMBER, Anchor::Middle);
    let baseline = bottom + TICK + NUMBER + 2.0;
    for tick in axis.ticks.iter().filter(|tick| !tick.label.is_empty()) {
        let x = frame.place([tick.at, frame.y.low()]).x;
        canvas.text(Place::new(x, baseline), &tick.label, &style);
    }
    if !axis.label.is_empty() {
        let at = Place::new(frame.rect.left + 0.5 * frame.rect.width, baseline + LABEL + 7.0);
        canvas.text(at, &axis.label, &TextStyle::new(LABEL, Anchor::Middle));
    }
}

fn draw_vertical(canvas: &mut Canvas, panel: &Panel, frame: &Frame) {
    let (axis, left) = (&panel.y, frame.rect.left);
    let mut mark = |at: f64, length: f64| {
        let y = frame.place([frame.x.low(), at]).y;
        let (from, to) = (Place::new(left - length, y), Place::new(left, y));
        canvas.line(from, to, Stroke::solid(Ink::Axis, 1.0));
    };
    if panel.border != Border::Rows {
        axis.small.iter().for_each(|at| mark(*at, 0.6 * TICK));
        axis.ticks.iter().for_each(|tick| mark(tick.at, TICK));
    }
    let style = TextStyle::new(NUMBER, Anchor::End);
    for tick in axis.ticks.iter().filter(|tick| !tick.label.is_empty()) {
        let y = frame.place([frame.x.low(), tick.at]).y + 0.36 * NUMBER;
        canvas.text(Place::new(left - TICK - 3.0, y), &tick.label, &style);
    }
    if !axis.label.is_empty() {
        let at = Place::new(
            left - room_left(panel) + LABEL - 1.0,
            frame.rect.top + 0.5 * frame.rect.height,
        );
        canvas.text_upwards(at, &axis.label, &TextStyle::new(LABEL, Anchor::Middle));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Kind;

    fn panel(title: &str) -> Panel {
        let axis = |label| Axis::new(label, Scale::new(Kind::Linear, 0.0, 1.0), 5);
        let (x, y) = (axis("x"), axis("y"));
        Panel { title: title.into(), note: String::new(), x, y, border: Border::Axes, aside: 0.0 }
    }

    fn sheet(count: usize, columns: usize) -> Sheet {
        let form = Form { heading: String::new(), width: 100.0, height: 80.0, columns };
        Sheet::new(&form, &vec![panel("t"); count], &Legend::default())
    }

    #[test]
    fn panels_of_a_row_are_level_and_do_not_touch() {
        let frames = sheet(3, 2).frames;
        assert_eq!(frames[0].rect.top, frames[1].rect.top);
        assert!(frames[0].rect.right() < frames[1].rect.left);
        assert!(frames[0].rect.bottom() < frames[2].rect.top);
        assert_eq!(frames[0].rect.left, frames[2].rect.left);
    }

    #[test]
    fn everything_lies_on_the_sheet() {
        let sheet = sheet(4, 3);
        for frame in &sheet.frames {
            assert!(frame.rect.right() < sheet.canvas.width());
            assert!(frame.rect.bottom() < sheet.canvas.height());
        }
    }

    #[test]
    fn data_is_placed_with_y_upwards() {
        let frame = &sheet(1, 1).frames[0];
        assert_eq!(frame.place([0.0, 0.0]), Place::new(frame.rect.left, frame.rect.bottom()));
        assert_eq!(frame.place([1.0, 1.0]), Place::new(frame.rect.right(), frame.rect.top));
        assert!(frame.place([1e300, 0.0]).x <= 1e5);
    }

    #[test]
    fn a_sheet_without_panels_is_a_sheet() {
        assert!(sheet(0, 2).canvas.width() > 0.0);
    }
}
