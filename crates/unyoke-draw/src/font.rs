//! The bundled typeface and how wide a text is in it. The only file that names `skrifa`.

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// Families in order of preference, as CSS wants them. Measured widths are those of the first.
pub(crate) const FAMILY: &str = "Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif";

static REGULAR: &[u8] = include_bytes!("../fonts/Inter-Regular.ttf");
static SEMI_BOLD: &[u8] = include_bytes!("../fonts/Inter-SemiBold.ttf");

/// How heavy a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// For nearly everything.
    Regular,
    /// For titles.
    SemiBold,
}

impl Weight {
    /// The weight as CSS counts it.
    pub(crate) fn number(self) -> u16 {
        match self {
            Self::Regular => 400,
            Self::SemiBold => 600,
        }
    }
}

/// The bytes of the typeface.
pub(crate) fn face(weight: Weight) -> &'static [u8] {
    match weight {
        Weight::Regular => REGULAR,
        Weight::SemiBold => SEMI_BOLD,
    }
}

/// How wide `text` is at `size`, without kerning.
pub(crate) fn text_width(text: &str, size: f64, weight: Weight) -> f64 {
    let average = 0.6 * size;
    let Ok(font) = FontRef::new(face(weight)) else {
        return average * text.chars().count() as f64;
    };
    let charmap = font.charmap();
    let metrics = font.glyph_metrics(Size::new(size as f32), LocationRef::default());
    let advance = |c| charmap.map(c).and_then(|glyph| metrics.advance_width(glyph));
    text.chars().map(|c| advance(c).map_or(average, f64::from)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up_and_grow_with_size_and_weight() {
        let width = |text| text_width(text, 10.0, Weight::Regular);
        assert!((width("ab") - width("a") - width("b")).abs() < 1e-6);
        assert!(width("i") < width("m"));
        assert!((text_width("regret", 20.0, Weight::Regular) - 2.0 * width("regret")).abs() < 1e-4);
        assert!(text_width("regret", 10.0, Weight::SemiBold) > width("regret"));
        assert_eq!(width(""), 0.0);
    }

    #[test]
    fn the_typeface_has_what_labels_need() {
        let font = FontRef::new(face(Weight::Regular)).unwrap();
        for c in "−±×≤λαβ₁₂⁻⁰¹²³⁴⁵⁶⁷⁸⁹–—µ".chars() {
            assert!(font.charmap().map(c).is_some(), "{c} is missing");
        }
    }
}
