//! A small chart engine: axes, steps, bands, markers, contours and legends, as SVG and PNG.
//!
//! It knows nothing of algorithms or regret; that is in `figures`. Coordinates of a picture are
//! pixels at 96 dots per inch, with y downwards; those of data are as on paper.

mod error;
mod color;
mod font;
mod canvas;
mod marker;
mod scale;
mod step;
mod contour;
mod polyline;
mod legend;
mod sheet;
mod picture;

pub use error::{DrawError, Result};
pub use picture::Picture;

pub(crate) use canvas::{
    Anchor, Brush, Canvas, Place, Rect, Stroke, TextStyle, closed_path, escape, open_path,
};
pub(crate) use color::Ink;
pub(crate) use contour::{Grid, rings};
pub(crate) use font::{FAMILY, Weight, face};
pub(crate) use legend::{Entry, Legend};
pub(crate) use marker::{Inside, Marker, ellipse};
pub(crate) use polyline::{pieces, thinned};
pub(crate) use scale::{Kind, Scale, Tick};
pub(crate) use sheet::{Axis, Border, Form, Frame, Panel, Sheet};
pub(crate) use step::{Band, band, runs, stairs, value_at};
