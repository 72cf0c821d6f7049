//! What can go wrong when a picture is made.

/// What can go wrong when a picture is made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// A number of pixels per unit that gives no picture, or one too large to hold.
    #[error("a picture of {width} by {height} units cannot be drawn at {scale} pixels per unit")]
    Size {
        /// Width of the picture, in units.
        width: f64,
        /// Height of the picture, in units.
        height: f64,
        /// Pixels per unit asked for.
        scale: f32,
    },
    /// The SVG text could not be read back.
    #[error("the picture cannot be rasterised: {reason}")]
    Raster {
        /// What the rasteriser said.
        reason: String,
    },
    /// The pixels could not be written as PNG.
    #[error("the picture cannot be written as PNG: {reason}")]
    Encode {
        /// What the encoder said.
        reason: String,
    },
}

/// A result of drawing.
pub type Result<T> = std::result::Result<T, DrawError>;
