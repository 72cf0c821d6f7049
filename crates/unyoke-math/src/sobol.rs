//! Sobol' points with Owen's scrambling: evenly spread over a cube, a simplex, or as normals.
//!
//! A seed means the same points on every machine and in every version; the tests record some.

use std::sync::OnceLock;

use ::sobol::params::JoeKuoD6;

use crate::error::{Error, Result};
use crate::points::Points;
use crate::{normal, random};

/// The largest number of dimensions with direction numbers.
pub const MAX_DIMENSIONS: usize = 1000;

/// Dimensions in the small table, which loads several times faster than the large one.
const FEW_DIMENSIONS: usize = 100;

/// Bits of a coordinate.
const BITS: usize = 32;

/// The direction numbers of one dimension, that of the highest bit first.
type Directions = [u32; BITS];

/// One scrambled Sobol' sequence; its first 2ᵏ points form a net, for every k.
///
/// Bit b of a coordinate, from the top, is flipped or not by a random choice that depends on the b
/// bits above it, on the dimension and on the seed. Each point is then uniform in the cube while
/// every elementary interval keeps its number of points.
///
/// Source: A. B. Owen, "Randomly permuted (t,m,s)-nets and (t,s)-sequences" (1995); direction
/// numbers of S. Joe and F. Y. Kuo, SIAM J. Sci. Comput. 30 (2008).
#[derive(Debug, Clone)]
pub struct Sobol {
    directions: &'static [Directions],
    /// Per dimension, what makes its scrambling differ from that of others.
    keys: Vec<u64>,
}

impl Sobol {
    /// The sequence with `dim` coordinates and this seed.
    ///
    /// Coordinate d is the same whatever the number of coordinates after it.
    pub fn new(dim: usize, seed: u64) -> Result<Self> {
        let directions = directions(dim)?;
        let keys = (0..dim).map(|d| random::seed_for(seed, d as u64)).collect();
        Ok(Self { directions, keys })
    }

    /// Coordinates per point.
    pub fn dim(&self) -> usize {
        self.keys.len()
    }

    /// Writes the coordinates of point number `index`, each in (0, 1), as many as `out` holds.
    pub fn point(&self, index: u32, out: &mut [f64]) {
        for ((x, directions), &key) in out.iter_mut().zip(self.directions).zip(&self.keys) {
            *x = midpoint(scramble(coordinate(directions, index), key));
        }
    }

    /// The first `n` points.
    pub fn points(&self, n: usize) -> Points {
        self.points_from(0, n)
    }

    /// The `n` points from number `start` on; after 2³² points the sequence starts again.
    pub fn points_from(&self, start: u32, n: usize) -> Points {
        let mut points = Points::zeros(self.dim(), n);
        for i in 0..n {
            self.point(start.wrapping_add(i as u32), points.row_mut(i));
        }
        points
    }
}

/// The first `n` points of the sequence in the cube (0, 1)ᴰ.
pub fn cube(dim: usize, n: usize, seed: u64) -> Result<Points> {
    Ok(Sobol::new(dim, seed)?.points(n))
}

/// `n` standard normal vectors, Φ⁻¹ of each coordinate of a point.
pub fn normals(dim: usize, n: usize, seed: u64) -> Result<Points> {
    let mut points = cube(dim, n, seed)?;
    for x in points.as_flat_mut() {
        *x = normal::quantile(*x);
    }
    Ok(points)
}

/// `n` weight vectors spread uniformly over the simplex λ ≥ 0, Σ λᵢ = 1 of `objectives` weights.
pub fn simplex(objectives: usize, n: usize, seed: u64) -> Result<Points> {
    simplex_from(objectives, 0, n, seed)
}

/// The `n` weight vectors from number `start` on of the sequence that [`simplex`] begins.
pub fn simplex_from(objectives: usize, start: u32, n: usize, seed: u64) -> Result<Points> {
    let Some(dim) = objectives.checked_sub(1) else {
        return Err(Error::Shape { what: "weights of a simplex", expected: 1, found: 0 });
    };
    let cube = Sobol::new(dim, seed)?.points_from(start, n);
    Points::from_rows(objectives, cube.rows().map(to_simplex))
}

/// The gaps that points of [0, 1] leave: uniform on the simplex if the points are on the cube.
///
/// For two weights this is λ = (u, 1 − u). Coordinates of Sobol' points are multiples of 2⁻³³, so
/// that their gaps are exact and sum to 1 exactly.
pub fn to_simplex(point: &[f64]) -> Vec<f64> {
    let mut ends = point.to_vec();
    ends.sort_unstable_by(f64::total_cmp);
    ends.push(1.0);
    for i in (1..ends.len()).rev() {
        ends[i] -= ends[i - 1];
    }
    ends
}

/// Direction numbers for at least `dim` dimensions.
fn directions(dim: usize) -> Result<&'static [Directions]> {
    static FEW: OnceLock<Vec<Directions>> = OnceLock::new();
    static MANY: OnceLock<Vec<Directions>> = OnceLock::new();
    if dim <= FEW_DIMENSIONS {
        Ok(FEW.get_or_init(|| load(FEW_DIMENSIONS, &JoeKuoD6::minimal())))
    } else if dim <= MAX_DIMENSIONS {
        Ok(MANY.get_or_init(|| load(MAX_DIMENSIONS, &JoeKuoD6::standard())))
    } else {
        Err(Error::TooManyDimensions { asked: dim, most: MAX_DIMENSIONS })
    }
}

/// Computes the direction numbers of the first `dim` dimensions from a table.
fn load(dim: usize, table: &JoeKuoD6) -> Vec<Directions> {
    let rows = ::sobol::Sobol::<u32>::init_direction_vals::<u32>(dim, BITS, table);
    rows.iter().map(|row| std::array::from_fn(|bit| row[bit])).collect()
}

/// The unscrambled coordinate of point `index`: ⊕ of the directions of the bits set in `index`.
fn coordinate(directions: &Directions, index: u32) -> u32 {
    let mut rest = index;
    let mut v = 0;
    while rest != 0 {
        v ^= directions[rest.trailing_zeros() as usize];
        rest &= rest - 1;
    }
    v
}

/// Flips each bit of `v` by a coin that belongs to the bits above it.
fn scramble(v: u32, key: u64) -> u32 {
    // With a one in front, the leading b bits name a node of the binary tree of depth 32.
    let path = (1 << BITS) | u64::from(v);
    let flips = (0..BITS).fold(0, |flips, b| {
        let node = path >> (BITS - b);
        flips << 1 | (random::mix(key ^ node) >> 63) as u32
    });
    v ^ flips
}

/// The middle (v + ½)/2³² of the interval that `v` stands for.
fn midpoint(v: u32) -> f64 {
    (f64::from(v) + 0.5) / (1u64 << BITS) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many points fall into each of 2ᵐ cells, named by the given function.
    fn occupancy(points: &Points, m: u32, cell: impl Fn(&[f64]) -> usize) -> Vec<u32> {
        let mut counts = vec![0; 1 << m];
        for x in points.rows() {
            counts[cell(x)] += 1;
        }
        counts
    }

    #[test]
    fn every_coordinate_visits_each_dyadic_interval_once() {
        for (dim, seed) in [(1, 0), (2, 1), (5, 2), (64, 3), (200, 4)] {
            let points = cube(dim, 1024, seed).unwrap();
            for d in 0..dim {
                let counts = occupancy(&points, 10, |x| (x[d] * 1024.0) as usize);
                assert!(counts.iter().all(|&c| c == 1), "dimension {d} of {dim}");
            }
        }
    }

    #[test]
    fn first_two_coordinates_form_a_net() {
        for (seed, block) in [(0, 0), (1, 0), (2, 5)] {
            let points = Sobol::new(2, seed).unwrap().points_from(256 * block, 256);
            for a in 0..=8 {
                let (rows, columns) = (f64::from(1 << a), f64::from(1 << (8 - a)));
                let cell =
                    |x: &[f64]| ((x[0] * rows) as usize) << (8 - a) | (x[1] * columns) as usize;
                assert!(occupancy(&points, 8, cell).iter().all(|&c| c == 1), "2^{a} rows");
            }
        }
    }

    #[test]
    fn unscrambled_coordinates_are_those_of_joe_and_kuo() {
        // Points 0 to 4 of new-joe-kuo-6.21201 in natural order, dimensions 1 to 3.
        let rows = directions(3).unwrap();
        let at = |i| [0, 1, 2].map(|d: usize| f64::from(coordinate(&rows[d], i)) / 4294967296.0);
        assert_eq!(at(0), [0.0, 0.0, 0.0]);
        assert_eq!(at(1), [0.5, 0.5, 0.5]);
        assert_eq!(at(2), [0.25, 0.75, 0.75]);
        assert_eq!(at(3), [0.75, 0.25, 0.25]);
        assert_eq!(at(4), [0.125, 0.625, 0.375]);
    }

    #[test]
    fn both_tables_have_the_same_direction_numbers() {
        let (few, many) =
            (directions(FEW_DIMENSIONS).unwrap(), directions(MAX_DIMENSIONS).unwrap());
        assert_eq!(few, &many[..FEW_DIMENSIONS]);
        assert_eq!(many.len(), MAX_DIMENSIONS);
    }

    // Confirmed by a separate implementation in Python of the scrambling, applied to SciPy's points.
    #[test]
    fn a_seed_means_the_same_points_for_ever() {
        let line = [0.09813870501238853, 0.83958498633001, 0.31973847502376884, 0.6300057790940627];
        assert_eq!(cube(1, 4, 0).unwrap().as_flat(), line);
        let plane = [
            [0.2879806080600247, 0.637770741363056],
            [0.6939032521331683, 0.32085095706861466],
            [0.15240417362656444, 0.13449042884167284],
        ];
        assert_eq!(cube(2, 3, 1).unwrap(), Points::from_rows(2, plane).unwrap());
        let at = |dim, seed, index, dims: [usize; 3]| {
            let mut x = vec![0.0; dim];
            Sobol::new(dim, seed).unwrap().point(index, &mut x);
            dims.map(|d| x[d])
        };
        let some = [0, 31, 63];
        assert_eq!(
            at(64, 2, 0, some),
            [0.2858601320767775, 0.7438857314409688, 0.5498485717689618]
        );
        assert_eq!(
            at(64, 2, 1, some),
            [0.9456427659606561, 0.31378536543343216, 0.07319723826367408]
        );
        assert_eq!(
            at(64, 2, 1000, some),
            [0.3652445365441963, 0.8595572045305744, 0.2949834376340732]
        );
        let (max, some) = (u64::MAX, [0, 100, 199]);
        assert_eq!(
            at(200, max, 0, some),
            [0.05617011117283255, 0.5293691885890439, 0.30721947189886123]
        );
        assert_eq!(
            at(200, max, 7, some),
            [0.8150330121861771, 0.6824227405013517, 0.20523691351991147]
        );
        assert_eq!(
            at(200, max, 4095, some),
            [0.7604131422704086, 0.46450095309410244, 0.5633904210990295]
        );
        let last = at(1000, 5, 77, [0, 500, 999]);
        assert_eq!(last[1..], [0.46581679105293006, 0.27400384831707925]);
    }

    #[test]
    fn smooth_integrands_are_integrated_far_better_than_by_chance() {
        // ∏ (1 + (xᵢ − ½)) has mean 1 and variance (1 + 1/12)⁶ − 1 over the cube.
        let (n, seeds) = (1024, 16);
        let square_error = |seed| {
            let points = cube(6, n, seed).unwrap();
            let sum: f64 = points.rows().map(|x| x.iter().map(|v| v + 0.5).product::<f64>()).sum();
            (sum / n as f64 - 1.0).powi(2)
        };
        let mean_square = (0..seeds).map(square_error).sum::<f64>() / seeds as f64;
        let by_chance = (((13.0 / 12.0f64).powi(6) - 1.0) / n as f64).sqrt();
        assert!(mean_square.sqrt() < by_chance / 20.0, "{} of {by_chance}", mean_square.sqrt());
    }

    #[test]
    fn each_point_is_uniform_over_the_seeds() {
        // The scrambling alone moves the first point, the corner of the cube, to anywhere.
        let mut sums = [0.0; 3];
        let seeds = 4096;
        for seed in 0..seeds {
            let points = cube(2, 1, seed).unwrap();
            let (x, y) = (points.row(0)[0] - 0.5, points.row(0)[1] - 0.5);
            sums[0] += x;
            sums[1] += 12.0 * x * x - 1.0;
            sums[2] += 12.0 * x * y;
        }
        // Standard errors are 0.0045, 0.014 and 0.016.
        let means = sums.map(|s| s / seeds as f64);
        assert!(means[0].abs() < 0.02 && means[1].abs() < 0.06 && means[2].abs() < 0.065);
    }

    #[test]
    fn weights_are_uniform_on_the_simplex() {
        for m in 1..=6 {
            let weights = simplex(m, 4096, 8).unwrap();
            assert_eq!(weights.len(), 4096);
            for w in weights.rows() {
                assert!(w.iter().all(|&l| l >= 0.0));
                assert!((w.iter().sum::<f64>() - 1.0).abs() <= 1e-15);
            }
            for i in 0..m {
                let mean = weights.rows().map(|w| w[i]).sum::<f64>() / 4096.0;
                assert!((mean - 1.0 / m as f64).abs() < 1e-3, "weight {i} of {m} has mean {mean}");
            }
        }
        let weights = simplex(3, 4096, 9).unwrap();
        for i in 0..3 {
            let square = weights.rows().map(|w| w[i] * w[i]).sum::<f64>() / 4096.0;
            assert!((square - 1.0 / 6.0).abs() < 1e-3, "mean square {square}");
        }
    }

    #[test]
    fn one_and_two_weights_are_plain() {
        assert!(simplex(1, 5, 0).unwrap().as_flat().iter().all(|&w| w == 1.0));
        let (weights, line) = (simplex(2, 64, 3).unwrap(), cube(1, 64, 3).unwrap());
        for (w, u) in weights.rows().zip(line.rows()) {
            assert_eq!(w, [u[0], 1.0 - u[0]]);
        }
        let none = Error::Shape { what: "weights of a simplex", expected: 1, found: 0 };
        assert_eq!(simplex(0, 5, 0).unwrap_err(), none);
        assert_eq!(to_simplex(&[0.75, 0.25]), [0.25, 0.5, 0.25]);
    }

    #[test]
    fn normals_have_the_moments_of_the_normal() {
        let points = normals(3, 4096, 6).unwrap();
        for d in 0..3 {
            let mean = points.rows().map(|x| x[d]).sum::<f64>() / 4096.0;
            let square = points.rows().map(|x| x[d] * x[d]).sum::<f64>() / 4096.0;
            assert!(mean.abs() < 1e-3 && (square - 1.0).abs() < 5e-3, "{mean}, {square}");
        }
    }

    #[test]
    fn points_are_the_same_however_they_are_reached() {
        let sobol = Sobol::new(7, 12).unwrap();
        let all = sobol.points(100);
        assert_eq!(all, cube(7, 100, 12).unwrap());
        let later = sobol.points_from(40, 60);
        assert!((0..60).all(|i| later.row(i) == all.row(40 + i)));
        let mut x = [0.0; 7];
        sobol.point(77, &mut x);
        assert_eq!(x, all.row(77));
        let leading = cube(3, 100, 12).unwrap();
        assert!(leading.rows().zip(all.rows()).all(|(few, many)| few == &many[..3]));
        let weights = simplex(4, 30, 5).unwrap();
        let rest = simplex_from(4, 20, 10, 5).unwrap();
        assert!((0..10).all(|i| rest.row(i) == weights.row(20 + i)));
        assert_ne!(all, cube(7, 100, 13).unwrap());
    }

    #[test]
    fn coordinates_are_strictly_inside_the_unit_interval() {
        assert!(midpoint(0) > 0.0 && midpoint(u32::MAX) < 1.0);
        assert!(normals(2, 1000, 0).unwrap().as_flat().iter().all(|z| z.is_finite()));
        assert_eq!(Sobol::new(1, 0).unwrap().points_from(u32::MAX, 2).len(), 2);
    }

    #[test]
    fn dimensions_from_zero_to_the_limit_work_and_no_more() {
        let none = cube(0, 5, 0).unwrap();
        assert_eq!((none.dim(), none.len()), (0, 5));
        assert_eq!(cube(MAX_DIMENSIONS, 2, 0).unwrap().dim(), MAX_DIMENSIONS);
        let error = Error::TooManyDimensions { asked: 1001, most: 1000 };
        assert_eq!(Sobol::new(1001, 0).unwrap_err(), error);
    }
}
