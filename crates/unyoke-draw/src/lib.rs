//! Pictures from axes, steps, bands, markers and contours, as SVG and PNG.
//!
//! A [`Sheet`] lays out panels with their axes and a legend; a figure then draws its data on the
//! [`Canvas`] of the sheet, and a [`Picture`] is the result. [`page`] puts pictures, tables and text into one
//! HTML page. Nothing here knows of studies,
//! algorithms or costs. Coordinates of a picture are pixels at 96 dots per inch, with y
//! downwards; those of data are as on paper.
//!
//! ```
//! use unyoke_draw::{
//!     Axis, Border, Brush, Form, Ink, Kind, Legend, Panel, Picture, Scale, Sheet, Stroke,
//!     open_path, stairs,
//! };
//!
//! let (cost, regret) = ([0.0, 10.0, 30.0], [0.9, 0.5, 0.4]);
//! let panel = Panel {
//!     title: "Regret".into(),
//!     note: String::new(),
//!     x: Axis::new("Total cost", Scale::new(Kind::Linear, 0.0, 30.0), 5),
//!     y: Axis::new("Regret", Scale::around(Kind::Log, regret), 5),
//!     border: Border::Axes,
//!     aside: 0.0,
//! };
//! let form = Form { heading: String::new(), width: 300.0, height: 200.0, columns: 1 };
//! let mut sheet = Sheet::new(&form, &[panel], &Legend::default());
//! sheet.fill(0, |canvas, frame| {
//!     let places = frame.places(&stairs(&cost, &regret));
//!     canvas.path(&open_path(&places), &Brush::line(Stroke::solid(Ink::Blue, 1.6)));
//! });
//! let picture = Picture::new(sheet.canvas, "Regret against cost");
//! assert!(picture.svg().starts_with("<svg"));
//! assert!(picture.png(2.0)?.starts_with(b"\x89PNG"));
//! # Ok::<(), unyoke_draw::DrawError>(())
//! ```
//!
//! Modules stand in the order of use; each uses only those above it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
mod color;
mod font;
mod mark;
mod canvas;
mod marker;
mod scale;
mod step;
mod contour;
mod polyline;
mod legend;
mod sheet;
mod picture;
pub mod page;

pub use canvas::{Anchor, Brush, Canvas, Place, Rect, Stroke, TextStyle, closed_path, open_path};
pub use color::Ink;
pub use contour::{Grid, rings};
pub use error::{DrawError, Result};
pub use font::Weight;
pub use legend::{Entry, Legend};
pub use mark::Mark;
pub use marker::{Inside, Marker, ellipse};
pub use picture::Picture;
pub use polyline::{pieces, thinned};
pub use scale::{Kind, Scale, Tick};
pub use sheet::{Axis, Border, Form, Frame, Panel, Sheet};
pub use step::{Band, Point, band, runs, stairs, value_at};
