//! A list of points in Rᴰ, the form in which designs and objective vectors travel.

use crate::error::{Result, check_finite, check_shape};

/// Points of one dimension, stored one after another in a single buffer.
///
/// ```
/// use unyoke_math::Points;
///
/// let points = Points::from_rows(2, [[0.0, 0.5], [1.0, 0.25]])?;
/// assert_eq!(points.len(), 2);
/// assert_eq!(points.row(1), [1.0, 0.25]);
/// # Ok::<(), unyoke_math::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Points {
    dim: usize,
    len: usize,
    coords: Vec<f64>,
}

impl Points {
    /// No points yet, of dimension `dim`.
    pub fn new(dim: usize) -> Self {
        Self { dim, len: 0, coords: Vec::new() }
    }

    /// `len` points at the origin.
    pub fn zeros(dim: usize, len: usize) -> Self {
        Self { dim, len, coords: vec![0.0; dim * len] }
    }

    /// Collects rows, each of `dim` numbers.
    pub fn from_rows<R: AsRef<[f64]>>(
        dim: usize,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Self> {
        let mut points = Self::new(dim);
        for row in rows {
            points.push(row.as_ref())?;
        }
        Ok(points)
    }

    /// Takes a buffer that holds the points one after another.
    pub fn from_flat(dim: usize, coords: Vec<f64>) -> Result<Self> {
        let len = coords.len().checked_div(dim).unwrap_or(0);
        check_shape("coordinates of the points", len * dim, coords.len())?;
        Ok(Self { dim, len, coords })
    }

    /// Appends a point.
    pub fn push(&mut self, point: &[f64]) -> Result<()> {
        check_shape("coordinates of a point", self.dim, point.len())?;
        self.coords.extend_from_slice(point);
        self.len += 1;
        Ok(())
    }

    /// Coordinates per point.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of points.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no points.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Point number `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.coords[i * self.dim..(i + 1) * self.dim]
    }

    /// Point number `i`, to write to.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.coords[i * self.dim..(i + 1) * self.dim]
    }

    /// The points in order.
    #[inline]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> + Clone {
        (0..self.len).map(|i| self.row(i))
    }

    /// The points named by `indices`, in that order.
    pub fn select(&self, indices: &[usize]) -> Self {
        let coords = indices.iter().flat_map(|&i| self.row(i)).copied().collect();
        Self { dim: self.dim, len: indices.len(), coords }
    }

    /// The whole buffer, point after point.
    #[inline]
    pub fn as_flat(&self) -> &[f64] {
        &self.coords
    }

    /// The whole buffer, to write to.
    pub fn as_flat_mut(&mut self) -> &mut [f64] {
        &mut self.coords
    }

    /// Fails at the first NaN or infinite coordinate.
    pub(crate) fn check_finite(&self, what: &'static str) -> Result<()> {
        check_finite(what, &self.coords)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn rows_of_the_wrong_length_are_refused() {
        let error = Points::from_rows(2, [vec![1.0, 2.0], vec![3.0]]).unwrap_err();
        assert_eq!(error, Error::Shape { what: "coordinates of a point", expected: 2, found: 1 });
        assert!(Points::from_flat(2, vec![1.0, 2.0, 3.0]).is_err());
    }

    #[test]
    fn points_of_dimension_zero_can_be_counted() {
        let points = Points::from_rows(0, [[0.0; 0]; 3]).unwrap();
        assert_eq!(points.len(), 3);
        assert!(points.row(2).is_empty());
    }
}
