//! Dense linear algebra: the only file that names the matrix crate.
//!
//! What a Gaussian process needs and no more: a column-major [`Matrix`] and the Cholesky factor of
//! a covariance matrix that can grow row by row.

use crate::error::{Error, Result, check_shape};
use crate::simd::{dot_in_lanes, subtract_four, vectorised};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::BlockStructure;
use faer::linalg::{matmul, triangular_inverse, triangular_solve};
use faer::{Accum, MatMut, MatRef, Par};
use std::ops::Range;

/// Relative jitters tried in turn when a covariance matrix is not numerically positive definite.
const JITTERS: [f64; 10] = [0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4];

/// Columns of a factor that are passed at once.
const BLOCK: usize = 4;

/// A matrix in column-major order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// Gives the matrix a shape in the memory it has. What its entries are is unspecified.
    pub(crate) fn reshape(&mut self, rows: usize, cols: usize) {
        (self.rows, self.cols) = (rows, cols);
        self.data.resize(rows * cols, 0.0);
    }

    /// All entries zero.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![0.0; rows * cols] }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Entry in row `i`, column `j`.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.data[j * self.rows + i]
    }

    /// Writes the entry in row `i`, column `j`.
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        self.data[j * self.rows + i] = value;
    }

    /// Column `j`.
    pub fn col(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Column `j`, to write to.
    pub fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// The mean of the diagonal of a square matrix.
    pub(crate) fn mean_diagonal(&self) -> f64 {
        (0..self.rows).map(|i| self.get(i, i)).sum::<f64>() / self.rows.max(1) as f64
    }

    /// `out = selfᵀ v`.
    pub fn transpose_mul_vec(&self, v: &[f64], out: &mut [f64]) {
        let (rows, cols) = (self.rows, self.cols);
        matmul::matmul(
            MatMut::from_column_major_slice_mut(out, cols, 1),
            Accum::Replace,
            self.view().transpose(),
            MatRef::from_column_major_slice(v, rows, 1),
            1.0,
            Par::Seq,
        );
    }

    /// `self -= aᵀ b`.
    pub fn subtract_transpose_mul(&mut self, a: &Matrix, b: &Matrix) {
        matmul::matmul(self.view_mut(), Accum::Add, a.view().transpose(), b.view(), -1.0, Par::Seq);
    }

    fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.cols)
    }

    fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.cols)
    }
}

/// The lower triangular factor L of a symmetric positive definite matrix A = L Lᵀ.
///
/// Columns are stored with room to spare, so that a row can be appended without moving them.
#[derive(Debug, Clone, Default)]
pub struct Cholesky {
    order: usize,
    stride: usize,
    data: Vec<f64>,
    jitter: f64,
}

impl Cholesky {
    /// Factorises `a`, of which only the lower triangle is read.
    ///
    /// When a pivot fails, multiples of the identity are added: relative to the mean diagonal,
    /// from 1e-12 by tens to 1e-4. What was needed is told by [`Cholesky::jitter`].
    pub fn new(a: &Matrix) -> Result<Self> {
        check_shape("columns of a square matrix", a.rows, a.cols)?;
        Self::with_jitter_unit(a, a.mean_diagonal())
    }

    /// As [`Cholesky::new`], with multiples relative to `unit` instead of the mean diagonal: where
    /// some diagonal entries are huge, their mean would drown the others.
    pub fn with_jitter_unit(a: &Matrix, unit: f64) -> Result<Self> {
        let mut factor = Self::default();
        factor.replace(a, unit)?;
        Ok(factor)
    }

    /// As [`Cholesky::with_jitter_unit`], in the memory of this factor, which is of no use where that
    /// fails.
    pub(crate) fn replace(&mut self, a: &Matrix, unit: f64) -> Result<()> {
        check_shape("columns of a square matrix", a.rows, a.cols)?;
        let order = a.rows;
        (self.order, self.stride) = (order, order);
        let mut pivot = 0;
        for jitter in JITTERS {
            self.data.clone_from(&a.data);
            for i in 0..order {
                self.data[i * order + i] += jitter * unit;
            }
            self.jitter = jitter * unit;
            match factor_in_place(&mut self.data, order) {
                Ok(()) => return Ok(()),
                Err(index) => pivot = index,
            }
        }
        let jitter = JITTERS[JITTERS.len() - 1];
        Err(Error::NotPositiveDefinite { order, pivot, jitter })
    }

    /// Number of rows.
    pub fn order(&self) -> usize {
        self.order
    }

    /// What was added to the diagonal to make the factorisation succeed; 0 in the good case.
    pub fn jitter(&self) -> f64 {
        self.jitter
    }

    /// Entry in row `i`, column `j` of L.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        if j > i { 0.0 } else { self.data[j * self.stride + i] }
    }

    /// log det A = 2 Σᵢ log Lᵢᵢ.
    pub fn log_determinant(&self) -> f64 {
        2.0 * (0..self.order).map(|i| self.get(i, i).ln()).sum::<f64>()
    }

    /// Extends A by one row: `row` against the rows so far, `diagonal` with itself.
    ///
    /// One triangular solve, O(n²). Fails, leaving the factor as it was, when the extended matrix
    /// is not numerically positive definite.
    pub fn append(&mut self, row: &[f64], diagonal: f64) -> Result<()> {
        check_shape("entries of an appended row", self.order, row.len())?;
        let mut l = row.to_vec();
        self.solve_lower(&mut l);
        let pivot = diagonal + self.jitter - l.iter().map(|v| v * v).sum::<f64>();
        // Below this the pivot is rounding error of the subtraction above, not information.
        let smallest = f64::EPSILON * (self.order + 1) as f64 * diagonal;
        if !pivot.is_finite() || pivot <= smallest {
            let order = self.order + 1;
            let jitter = self.jitter / diagonal;
            return Err(Error::NotPositiveDefinite { order, pivot: self.order, jitter });
        }
        self.make_room();
        for (j, value) in l.iter().enumerate() {
            self.data[j * self.stride + self.order] = *value;
        }
        self.data[self.order * self.stride + self.order] = pivot.sqrt();
        self.order += 1;
        Ok(())
    }

    /// `rhs ← L⁻¹ rhs` for one right-hand side.
    pub fn solve_lower(&self, rhs: &mut [f64]) {
        let view = MatMut::from_column_major_slice_mut(rhs, self.order, 1);
        triangular_solve::solve_lower_triangular_in_place(self.view(), view, Par::Seq);
    }

    /// `rhs ← L⁻ᵀ rhs` for one right-hand side.
    pub fn solve_upper(&self, rhs: &mut [f64]) {
        let view = MatMut::from_column_major_slice_mut(rhs, self.order, 1);
        triangular_solve::solve_upper_triangular_in_place(self.view().transpose(), view, Par::Seq);
    }

    /// `rhs ← A⁻¹ rhs` for one right-hand side.
    pub fn solve(&self, rhs: &mut [f64]) {
        self.solve_lower(rhs);
        self.solve_upper(rhs);
    }

    /// `rhs ← L⁻¹ rhs`, column by column.
    pub fn solve_lower_many(&self, rhs: &mut Matrix) {
        triangular_solve::solve_lower_triangular_in_place(self.view(), rhs.view_mut(), Par::Seq);
    }

    /// `rhs ← L⁻ᵀ rhs`, column by column.
    pub fn solve_upper_many(&self, rhs: &mut Matrix) {
        let upper = self.view().transpose();
        triangular_solve::solve_upper_triangular_in_place(upper, rhs.view_mut(), Par::Seq);
    }

    /// `rhs ← L⁻¹ rhs` for a few columns, for which rearranging L does not pay.
    pub(crate) fn solve_lower_few(&self, rhs: &mut Matrix) {
        vectorised(
            #[inline(always)]
            || {
                let (order, rows) = (self.order, rhs.rows.max(1));
                for start in (0..order).step_by(BLOCK) {
                    let end = (start + BLOCK).min(order);
                    for x in rhs.data.chunks_exact_mut(rows) {
                        self.solve_lower_block(start..end, x);
                    }
                    if end == order {
                        return;
                    }
                    let below = self.below(start);
                    for x in rhs.data.chunks_exact_mut(rows) {
                        let (known, rest) = x.split_at_mut(end);
                        let [a, b, c, d] = [start, start + 1, start + 2, start + 3];
                        subtract_four(rest, [known[a], known[b], known[c], known[d]], below);
                    }
                }
            },
        );
    }

    /// `rhs ← L⁻ᵀ rhs`, likewise.
    pub(crate) fn solve_upper_few(&self, rhs: &mut Matrix) {
        vectorised(
            #[inline(always)]
            || {
                let (order, rows) = (self.order, rhs.rows.max(1));
                let whole = order - order % BLOCK;
                for x in rhs.data.chunks_exact_mut(rows) {
                    self.solve_upper_block(whole..order, x);
                }
                for start in (0..whole).step_by(BLOCK).rev() {
                    let below = self.below(start);
                    for x in rhs.data.chunks_exact_mut(rows) {
                        let (block, known) = x.split_at_mut(start + BLOCK);
                        // Independent of each other, which processors make use of.
                        for (v, column) in block[start..].iter_mut().zip(below) {
                            *v -= dot_in_lanes(column, known);
                        }
                        self.solve_upper_block(start..start + BLOCK, block);
                    }
                }
            },
        );
    }

    /// What is below the diagonal block that begins at `start`, column by column.
    #[inline(always)]
    fn below(&self, start: usize) -> [&[f64]; BLOCK] {
        let [a, b, c, d] = [start, start + 1, start + 2, start + 3];
        let end = start + BLOCK;
        [&self.col(a)[end..], &self.col(b)[end..], &self.col(c)[end..], &self.col(d)[end..]]
    }

    #[inline(always)]
    fn solve_lower_block(&self, block: Range<usize>, x: &mut [f64]) {
        for j in block.start..block.end {
            let column = self.col(j);
            x[j] /= column[j];
            for i in j + 1..block.end {
                x[i] = (-column[i]).mul_add(x[j], x[i]);
            }
        }
    }

    #[inline(always)]
    fn solve_upper_block(&self, block: Range<usize>, x: &mut [f64]) {
        for j in (block.start..block.end).rev() {
            let column = self.col(j);
            for i in j + 1..block.end {
                x[j] = (-column[i]).mul_add(x[i], x[j]);
            }
            x[j] /= column[j];
        }
    }

    #[inline(always)]
    fn col(&self, j: usize) -> &[f64] {
        &self.data[j * self.stride..j * self.stride + self.order]
    }

    /// The lower triangle of A⁻¹; what stands above the diagonal is unspecified.
    pub fn inverse_lower(&self) -> Matrix {
        let mut inverse = Inverse::default();
        inverse.compute(self);
        inverse.matrix
    }

    /// The diagonal of A⁻¹, in half the time of all of it: squared columns of L⁻¹.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        let mut inverse = Matrix::zeros(self.order, self.order);
        triangular_inverse::invert_lower_triangular(inverse.view_mut(), self.view(), Par::Seq);
        let square = |j: usize| inverse.col(j)[j..].iter().map(|v| v * v).sum();
        (0..self.order).map(square).collect()
    }

    /// `L v`, which turns independent standard normals into a draw with covariance A.
    pub fn lower_mul(&self, v: &[f64]) -> Vec<f64> {
        let row = |i: usize| (0..=i).map(|j| self.get(i, j) * v[j]).sum();
        (0..self.order).map(row).collect()
    }

    /// `L v` for each column v.
    pub fn lower_mul_many(&self, v: &Matrix) -> Matrix {
        let mut product = Matrix::zeros(self.order, v.cols());
        matmul::triangular::matmul(
            product.view_mut(),
            BlockStructure::Rectangular,
            Accum::Replace,
            self.view(),
            BlockStructure::TriangularLower,
            v.view(),
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
        product
    }

    fn view(&self) -> MatRef<'_, f64> {
        let (n, stride) = (self.order, self.stride);
        MatRef::from_column_major_slice_with_stride(&self.data, n, n, stride)
    }

    /// Widens the stride so that one more row fits.
    fn make_room(&mut self) {
        if self.order < self.stride {
            return;
        }
        let stride = (self.order + 1).next_multiple_of(8) + self.order / 2;
        let mut data = vec![0.0; stride * stride];
        for j in 0..self.order {
            let column = &self.data[j * self.stride..j * self.stride + self.order];
            data[j * stride..j * stride + self.order].copy_from_slice(column);
        }
        self.data = data;
        self.stride = stride;
    }
}

/// The inverse of a matrix, computed again and again in the same memory.
#[derive(Default)]
pub(crate) struct Inverse {
    matrix: Matrix,
    memory: Option<MemBuffer>,
}

impl Inverse {
    /// The lower triangle of A⁻¹ for A = L Lᵀ; what stands above the diagonal is unspecified.
    pub(crate) fn compute(&mut self, factor: &Cholesky) -> &Matrix {
        let n = factor.order;
        let memory = match &mut self.memory {
            Some(memory) if self.matrix.rows == n => memory,
            none => {
                self.matrix = Matrix::zeros(n, n);
                let needed = llt::inverse::inverse_scratch::<f64>(n, Par::Seq);
                none.insert(MemBuffer::new(needed))
            }
        };
        let stack = MemStack::new(memory);
        llt::inverse::inverse(self.matrix.view_mut(), factor.view(), Par::Seq, stack);
        &self.matrix
    }
}

/// Overwrites the lower triangle by its Cholesky factor; fails with the index of the bad pivot.
fn factor_in_place(data: &mut [f64], order: usize) -> std::result::Result<(), usize> {
    let scratch =
        llt::factor::cholesky_in_place_scratch::<f64>(order, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let view = MatMut::from_column_major_slice_mut(data, order, order);
    let stack = MemStack::new(&mut memory);
    let outcome = llt::factor::cholesky_in_place(
        view,
        Default::default(),
        Par::Seq,
        stack,
        Default::default(),
    );
    match outcome {
        Err(llt::factor::LltError::NonPositivePivot { index }) => Err(index),
        Ok(_) => match (0..order).find(|i| !data[i * order + i].is_finite()) {
            Some(index) => Err(index),
            None => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A well-conditioned symmetric positive definite matrix from arbitrary numbers.
    fn positive_definite(order: usize, seeds: &[f64]) -> Matrix {
        let mut a = Matrix::zeros(order, order);
        for i in 0..order {
            for j in 0..order {
                let dot: f64 =
                    (0..order).map(|k| seeds[i * order + k] * seeds[j * order + k]).sum();
                a.set(i, j, dot + if i == j { 0.5 } else { 0.0 });
            }
        }
        a
    }

    fn reconstruct(l: &Cholesky, i: usize, j: usize) -> f64 {
        (0..l.order()).map(|k| l.get(i, k) * l.get(j, k)).sum()
    }

    #[test]
    fn many_columns_are_multiplied_as_one_by_one() {
        let seeds: Vec<f64> = (0..49).map(|i| (1.7 * i as f64).sin()).collect();
        let l = Cholesky::new(&positive_definite(7, &seeds)).unwrap();
        let mut v = Matrix::zeros(7, 3);
        for (i, value) in v.data.iter_mut().enumerate() {
            *value = (0.9 * i as f64).cos();
        }
        let products = l.lower_mul_many(&v);
        for j in 0..3 {
            for (a, b) in products.col(j).iter().zip(l.lower_mul(v.col(j))) {
                assert!((a - b).abs() < 1e-14);
            }
        }
    }

    proptest! {
        #[test]
        fn the_factor_reproduces_the_matrix_and_solves_with_it(
            order in 1usize..24,
            seeds in prop::collection::vec(-1.0..1.0f64, 24 * 24),
        ) {
            let a = positive_definite(order, &seeds);
            let l = Cholesky::new(&a).unwrap();
            prop_assert_eq!(l.jitter(), 0.0);
            let mut x = seeds[..order].to_vec();
            l.solve(&mut x);
            let inverse = l.inverse_lower();
            for (i, diagonal) in l.inverse_diagonal().iter().enumerate() {
                prop_assert!((inverse.get(i, i) - diagonal).abs() < 1e-10);
            }
            for i in 0..order {
                for j in 0..=i {
                    prop_assert!((reconstruct(&l, i, j) - a.get(i, j)).abs() < 1e-12);
                    let mut unit = vec![0.0; order];
                    unit[j] = 1.0;
                    l.solve(&mut unit);
                    prop_assert!((unit[i] - inverse.get(i, j)).abs() < 1e-10);
                }
                let ax: f64 = (0..order).map(|j| a.get(i, j) * x[j]).sum();
                prop_assert!((ax - seeds[i]).abs() < 1e-10);
            }
        }

        #[test]
        fn an_appended_factor_equals_a_fresh_one(
            order in 1usize..24,
            start in 0usize..24,
            seeds in prop::collection::vec(-1.0..1.0f64, 24 * 24),
        ) {
            let start = start.min(order);
            let a = positive_definite(order, &seeds);
            let mut part = Matrix::zeros(start, start);
            for j in 0..start {
                part.col_mut(j).copy_from_slice(&a.col(j)[..start]);
            }
            let mut grown = Cholesky::new(&part).unwrap();
            for i in start..order {
                let row: Vec<f64> = (0..i).map(|j| a.get(i, j)).collect();
                grown.append(&row, a.get(i, i)).unwrap();
            }
            let fresh = Cholesky::new(&a).unwrap();
            for i in 0..order {
                for j in 0..=i {
                    prop_assert!((grown.get(i, j) - fresh.get(i, j)).abs() < 1e-12);
                }
            }
            prop_assert!((grown.log_determinant() - fresh.log_determinant()).abs() < 1e-11);
        }

        #[test]
        fn solving_many_right_hand_sides_is_solving_each(
            order in 1usize..20,
            seeds in prop::collection::vec(-1.0..1.0f64, 24 * 24),
        ) {
            let l = Cholesky::new(&positive_definite(order, &seeds)).unwrap();
            let mut many = Matrix::zeros(order, 7);
            for j in 0..7 {
                many.col_mut(j).copy_from_slice(&seeds[j * order..(j + 1) * order]);
            }
            let rhs = many.clone();
            let mut few = many.clone();
            l.solve_lower_many(&mut many);
            let lower = many.clone();
            l.solve_upper_many(&mut many);
            l.solve_lower_few(&mut few);
            let agree = |a: &Matrix, b: &Matrix| {
                a.data.iter().zip(&b.data).all(|(a, b)| (a - b).abs() < 1e-11)
            };
            prop_assert!(agree(&few, &lower));
            l.solve_upper_few(&mut few);
            prop_assert!(agree(&few, &many));
            for j in 0..7 {
                let mut one = rhs.col(j).to_vec();
                l.solve_lower(&mut one);
                for i in 0..order {
                    prop_assert!((one[i] - lower.get(i, j)).abs() < 1e-12);
                }
                l.solve_upper(&mut one);
                for i in 0..order {
                    prop_assert!((one[i] - many.get(i, j)).abs() < 1e-11);
                }
            }
        }
    }

    #[test]
    fn a_singular_matrix_gets_the_least_jitter_that_works() {
        let mut ones = Matrix::zeros(5, 5);
        ones.data.fill(3.0);
        let l = Cholesky::new(&ones).unwrap();
        assert!(l.jitter() > 0.0 && l.jitter() <= 3e-11, "jitter {}", l.jitter());
        for i in 0..5 {
            for j in 0..=i {
                assert!((reconstruct(&l, i, j) - 3.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn an_indefinite_or_non_finite_matrix_is_a_typed_error() {
        let mut a = Matrix::zeros(2, 2);
        a.set(0, 0, 1.0);
        a.set(1, 1, -1.0);
        assert_eq!(
            Cholesky::new(&a).unwrap_err(),
            Error::NotPositiveDefinite { order: 2, pivot: 1, jitter: 1e-4 }
        );
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            a.set(1, 1, bad);
            assert!(Cholesky::new(&a).is_err(), "{bad}");
        }
    }

    #[test]
    fn appending_a_dependent_row_fails_and_changes_nothing() {
        let mut one = Matrix::zeros(1, 1);
        one.set(0, 0, 2.0);
        let mut l = Cholesky::new(&one).unwrap();
        assert!(l.append(&[2.0], 2.0).is_err());
        assert!(l.append(&[f64::NAN], 2.0).is_err());
        assert_eq!(l.order(), 1);
        l.append(&[1.0], 2.0).unwrap();
        assert!((l.log_determinant() - 3f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn the_empty_matrix_has_an_empty_factor() {
        let mut l = Cholesky::new(&Matrix::zeros(0, 0)).unwrap();
        l.solve(&mut []);
        assert_eq!(l.log_determinant(), 0.0);
        l.append(&[], 4.0).unwrap();
        assert_eq!(l.get(0, 0), 2.0);
    }
}
