//! A finished picture, as SVG text and as PNG. The only file that names `resvg`.

use std::sync::{Arc, OnceLock};

use resvg::{tiny_skia, usvg};

use crate::canvas::Canvas;
use crate::error::{DrawError, Result};
use crate::font::{Weight, face};

/// Pictures with more pixels than this are refused.
const MOST_PIXELS: f64 = 2e8;

/// A finished picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    width: f64,
    height: f64,
    svg: String,
}

impl Picture {
    /// Ends a drawing; `description` is what a reader hears who does not see it.
    pub fn new(canvas: Canvas, description: &str) -> Self {
        Self { width: canvas.width(), height: canvas.height(), svg: canvas.finish(description) }
    }

    /// Width in units; a unit is a pixel at 96 dots per inch.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Height in units.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// The picture as an SVG document, which has no ids and may be put into a page as it is.
    pub fn svg(&self) -> String {
        self.svg.clone()
    }

    /// The picture as PNG with `scale` pixels per unit; 2 looks crisp.
    ///
    /// Only the bundled typeface is used, so the pixels do not depend on the machine's fonts.
    pub fn png(&self, scale: f32) -> Result<Vec<u8>> {
        let (width, height) = (self.width.round(), self.height.round());
        let pixels = |length: f64| (length * f64::from(scale)).round();
        let count = pixels(width) * pixels(height);
        let refused = DrawError::Size { width, height, scale };
        if !(scale > 0.0 && (1.0..=MOST_PIXELS).contains(&count)) {
            return Err(refused);
        }
        let (across, down) = (pixels(width) as u32, pixels(height) as u32);
        let mut pixmap = tiny_skia::Pixmap::new(across, down).ok_or(refused)?;
        let options = usvg::Options { fontdb: fonts(), ..usvg::Options::default() };
        let tree = usvg::Tree::from_str(&self.svg, &options)
            .map_err(|error| DrawError::Raster { reason: error.to_string() })?;
        let transform = tiny_skia::Transform::from_scale(scale, scale);
        resvg::render(&tree, transform, &mut pixmap.as_mut());
        pixmap.encode_png().map_err(|error| DrawError::Encode { reason: error.to_string() })
    }
}

/// The bundled typeface and nothing else.
fn fonts() -> Arc<usvg::fontdb::Database> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut database = usvg::fontdb::Database::new();
        for weight in [Weight::Regular, Weight::SemiBold] {
            database.load_font_data(face(weight).to_vec());
        }
        database.set_sans_serif_family("Inter");
        Arc::new(database)
    };
    Arc::clone(FONTS.get_or_init(load))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Anchor, Place, TextStyle};

    fn picture() -> Picture {
        let mut canvas = Canvas::new(40.0, 20.0);
        let style = TextStyle::new(12.0, Anchor::Start).semi_bold();
        canvas.text(Place::new(2.0, 15.0), "<&λ>", &style);
        Picture::new(canvas, "a \"test\" & more")
    }

    #[test]
    fn svg_is_well_formed() {
        let svg = picture().svg();
        let document = usvg::roxmltree::Document::parse(&svg).unwrap();
        assert_eq!(document.root_element().attribute("width"), Some("40"));
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        assert_eq!(texts.filter_map(|node| node.text()).collect::<String>(), "<&λ>");
    }

    #[test]
    fn png_has_the_size_asked_for_and_shows_the_text() {
        let pixmap = tiny_skia::Pixmap::decode_png(&picture().png(2.5).unwrap()).unwrap();
        assert_eq!((pixmap.width(), pixmap.height()), (100, 50));
        assert!(pixmap.pixels().iter().any(|pixel| pixel.red() < 60));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e6] {
            assert!(matches!(picture().png(scale), Err(DrawError::Size { .. })));
        }
    }

    #[test]
    fn both_weights_are_found_under_one_family() {
        let families =
            fonts().faces().map(|f| (f.families[0].0.clone(), f.weight.0)).collect::<Vec<_>>();
        assert_eq!(families, [("Inter".to_string(), 400), ("Inter".to_string(), 600)]);
    }
}
