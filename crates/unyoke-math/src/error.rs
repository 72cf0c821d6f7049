//! The one error type of this crate. Each variant carries what a caller needs to act on it.

/// What can be wrong with numbers handed to this crate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two arguments do not fit together.
    #[error("{what}: {found} given, {expected} needed")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A NaN or an infinity where only finite numbers make sense.
    #[error("{what}: entry {index} is {value}, only finite numbers are possible here")]
    NotFinite {
        /// Which argument.
        what: &'static str,
        /// Where in it, counting from zero.
        index: usize,
        /// The offending value.
        value: f64,
    },
    /// A finite number outside its domain.
    #[error("{what} is {value}, but must be {must}")]
    OutOfRange {
        /// Which quantity.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The condition it breaks, as in "positive".
        must: &'static str,
    },
    /// A covariance matrix that no admissible jitter makes positive definite.
    #[error(
        "matrix of order {order} is not positive definite: pivot {pivot} fails even with \
         {jitter:e} of its mean diagonal added"
    )]
    NotPositiveDefinite {
        /// Number of rows.
        order: usize,
        /// The first row, from zero, whose pivot is not positive.
        pivot: usize,
        /// The largest relative jitter tried.
        jitter: f64,
    },
    /// More dimensions than the Sobol' direction numbers cover.
    #[error("Sobol' points exist here for up to {most} dimensions, {asked} were asked for")]
    TooManyDimensions {
        /// The number asked for.
        asked: usize,
        /// The number available.
        most: usize,
    },
}

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Fails unless `found == expected`.
pub(crate) fn check_shape(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

/// Fails at the first entry that is NaN or infinite.
pub(crate) fn check_finite(what: &'static str, values: &[f64]) -> Result<()> {
    // Looking at all before asking which lets the compiler look at several at once.
    if values.iter().fold(true, |all, v| all & v.is_finite()) {
        return Ok(());
    }
    let bad = values.iter().enumerate().find(|(_, v)| !v.is_finite());
    bad.map_or(Ok(()), |(index, &value)| Err(Error::NotFinite { what, index, value }))
}

/// Fails unless `value` is finite and positive.
pub(crate) fn check_positive(what: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::OutOfRange { what, value, must: "positive and finite" })
    }
}
