//! Maximisation within bounds: L-BFGS-B from one start, and from the best of many.
//!
//! The only file that names the optimisation crate. Objectives are closures that return the value
//! and write the gradient; a value that is infinite or not a number never wins.

use crate::error::{Error, Result, check_finite, check_shape};
use crate::points::Points;
use basin::{
    BoxBounds, ConstraintDescription, ConstraintSet, Constraints, CostFunction, Executor,
    FirstOrderState, Gradient, Lbfgsb,
};
use rayon::prelude::*;
use std::cell::RefCell;
use std::convert::Infallible;

/// A box, each side possibly of length zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Bounds {
    /// Finite bounds with lower ≤ upper throughout.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>) -> Result<Self> {
        check_shape("upper bounds", lower.len(), upper.len())?;
        check_finite("lower bounds", &lower)?;
        check_finite("upper bounds", &upper)?;
        match lower.iter().zip(&upper).find(|(l, u)| l > u) {
            Some((&value, _)) => {
                Err(Error::OutOfRange { what: "lower bound", value, must: "at most the upper" })
            }
            None => Ok(Self { lower, upper }),
        }
    }

    /// [0, 1]ᴰ.
    pub fn unit_cube(dim: usize) -> Self {
        Self { lower: vec![0.0; dim], upper: vec![1.0; dim] }
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.lower.len()
    }

    /// Lower end of each side.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// Upper end of each side.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// The nearest point of the box, coordinate by coordinate.
    pub fn clamp(&self, x: &[f64]) -> Vec<f64> {
        let sides = self.lower.iter().zip(&self.upper);
        x.iter()
            .zip(sides)
            .map(|(v, (l, u))| if v.is_nan() { *l } else { v.clamp(*l, *u) })
            .collect()
    }
}

impl Bounds {
    /// Length of the part of an upward gradient at `x` that does not lead out of the box.
    pub(crate) fn slope_inside(&self, x: &[f64], gradient: &[f64]) -> f64 {
        let sides = self.lower.iter().zip(&self.upper);
        let parts = x.iter().zip(gradient).zip(sides).map(|((v, g), (l, u))| {
            let leads_out = (*v <= *l && *g < 0.0) || (*v >= *u && *g > 0.0);
            if leads_out { 0.0 } else { g * g }
        });
        parts.sum::<f64>().sqrt()
    }
}

/// Fraction of a side within which a climb does not distinguish a point from the end of the side.
const AT_THE_END: f64 = 1e-12;

impl Bounds {
    /// Moves coordinates that a climb left next to the end of their side onto it.
    pub(crate) fn snap(&self, x: &mut [f64]) {
        for (v, (l, u)) in x.iter_mut().zip(self.lower.iter().zip(&self.upper)) {
            let near = AT_THE_END * (u - l);
            *v = match *v {
                v if v - l < near => *l,
                v if u - v < near => *u,
                v => v,
            };
        }
    }
}

/// When an L-BFGS-B run ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Stopping {
    /// At most this many iterations.
    pub iterations: usize,
    /// Once no component of the projected gradient exceeds this.
    pub gradient: f64,
    /// Once a step gains less than this, relative to the value (or to 1 if that is larger).
    pub gain: f64,
}

impl Default for Stopping {
    fn default() -> Self {
        Self { iterations: 200, gradient: 1e-7, gain: 1e-12 }
    }
}

/// The best point an optimisation found.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimum {
    /// Where.
    pub x: Vec<f64>,
    /// The objective there; −∞ if it was nowhere a number.
    pub value: f64,
    /// How often the objective was evaluated.
    pub evaluations: usize,
}

/// Climbs from `start` by L-BFGS-B (Byrd et al. 1995) and returns the best point seen.
///
/// ```
/// use unyoke_math::optimize::{Bounds, Stopping, maximize};
///
/// let hill = |x: &[f64], gradient: &mut [f64]| {
///     gradient[0] = -2.0 * (x[0] - 2.0);
///     -(x[0] - 2.0).powi(2)
/// };
/// let top = maximize(hill, &[0.2], &Bounds::unit_cube(1), &Stopping::default())?;
/// assert_eq!(top.x, [1.0]);
/// # Ok::<(), unyoke_math::Error>(())
/// ```
pub fn maximize(
    objective: impl FnMut(&[f64], &mut [f64]) -> f64,
    start: &[f64],
    bounds: &Bounds,
    stopping: &Stopping,
) -> Result<Optimum> {
    check_shape("coordinates of the start", bounds.dim(), start.len())?;
    let start = bounds.clamp(start);
    let best = Optimum { x: start.clone(), value: f64::NEG_INFINITY, evaluations: 0 };
    let climb = Climb { bounds, inner: RefCell::new(Inner { objective, best }) };
    let solver = Lbfgsb::new()
        .with_absolute_projected_gradient_tolerance(stopping.gradient)
        .with_relative_cost_reduction_tolerance(stopping.gain);
    if bounds.dim() == 0 {
        climb.evaluate(&start, &mut []);
    } else {
        // A failed line search ends the run; the best point seen stands all the same.
        let _ = Executor::new(&climb, solver, FirstOrderState::new(start))
            .max_iter(stopping.iterations as u64)
            .run();
    }
    let mut best = climb.inner.into_inner().best;
    bounds.snap(&mut best.x);
    Ok(best)
}

/// The objective in the form the solver wants: to be minimised, and shared.
struct Climb<'a, F> {
    bounds: &'a Bounds,
    inner: RefCell<Inner<F>>,
}

struct Inner<F> {
    objective: F,
    best: Optimum,
}

/// Stands for "infinitely bad" where the solver computes with it.
const WORST: f64 = 1e100;

impl<F: FnMut(&[f64], &mut [f64]) -> f64> Climb<'_, F> {
    /// Cost at x, and its gradient.
    fn evaluate(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let Inner { objective, best } = &mut *self.inner.borrow_mut();
        let value = objective(x, gradient);
        best.evaluations += 1;
        if value.is_finite() && value > best.value {
            best.value = value;
            best.x.copy_from_slice(x);
        }
        if !value.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
            gradient.fill(0.0);
            return WORST;
        }
        for g in gradient {
            *g = -*g;
        }
        -value
    }
}

impl<F: FnMut(&[f64], &mut [f64]) -> f64> CostFunction for &Climb<'_, F> {
    type Param = Vec<f64>;
    type Output = f64;
    type Error = Infallible;

    fn cost(&self, x: &Vec<f64>) -> std::result::Result<f64, Infallible> {
        Ok(self.evaluate(x, &mut vec![0.0; x.len()]))
    }
}

impl<F: FnMut(&[f64], &mut [f64]) -> f64> Gradient for &Climb<'_, F> {
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> std::result::Result<Vec<f64>, Infallible> {
        Ok(self.cost_and_gradient(x)?.1)
    }

    fn cost_and_gradient(&self, x: &Vec<f64>) -> std::result::Result<(f64, Vec<f64>), Infallible> {
        let mut gradient = vec![0.0; x.len()];
        let cost = self.evaluate(x, &mut gradient);
        Ok((cost, gradient))
    }

    fn cost_and_gradient_into(
        &self,
        x: &Vec<f64>,
        gradient: &mut Vec<f64>,
    ) -> std::result::Result<f64, Infallible> {
        gradient.resize(x.len(), 0.0);
        Ok(self.evaluate(x, gradient))
    }
}

impl<F> Constraints for &Climb<'_, F> {
    type Set = ConstraintSet<BoxBounds<Vec<f64>>>;

    fn constraints(&self) -> <Self::Set as ConstraintDescription>::Borrowed<'_> {
        let bounds = BoxBounds::new(Some(&self.bounds.lower), Some(&self.bounds.upper));
        ConstraintSet::new().with_bounds(bounds)
    }
}

/// Climbs from several starts on all cores and returns every optimum, in the order of the starts.
///
/// Each climb is on its own, so the result does not depend on the number of threads. `objective`
/// makes one objective per start, so that each may own its buffers.
pub fn maximize_each<F>(
    objective: impl Fn() -> F + Sync,
    starts: &Points,
    bounds: &Bounds,
    stopping: &Stopping,
) -> Result<Vec<Optimum>>
where
    F: FnMut(&[f64], &mut [f64]) -> f64,
{
    let climb = |i: usize| maximize(objective(), starts.row(i), bounds, stopping);
    (0..starts.len()).into_par_iter().map(climb).collect()
}

/// The optimum with the largest value, the first of equals; `None` of none.
pub fn best(optima: Vec<Optimum>) -> Option<Optimum> {
    optima.into_iter().reduce(|best, next| if next.value > best.value { next } else { best })
}

/// Indices of the `count` largest values, largest first, ties by position; NaN comes last.
pub fn largest(values: &[f64], count: usize) -> Vec<usize> {
    let key = |i: usize| if values[i].is_nan() { f64::NEG_INFINITY } else { values[i] };
    if count == 1 {
        let larger =
            |best: usize, i: usize| if key(i).total_cmp(&key(best)).is_gt() { i } else { best };
        return (0..values.len()).reduce(larger).into_iter().collect();
    }
    let by_size = |i: &usize, j: &usize| key(*j).total_cmp(&key(*i)).then(i.cmp(j));
    let mut order: Vec<usize> = (0..values.len()).collect();
    // Of many only the largest need to be in order.
    if 0 < count && count < values.len() {
        order.select_nth_unstable_by(count - 1, by_size);
    }
    order.truncate(count);
    order.sort_unstable_by(by_size);
    order
}

/// Multistart: screen raw points by value, climb from the best of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Multistart {
    /// How many of the raw points to climb from.
    pub restarts: usize,
    /// When each climb ends.
    pub stopping: Stopping,
}

impl Default for Multistart {
    fn default() -> Self {
        Self { restarts: 4, stopping: Stopping::default() }
    }
}

impl Multistart {
    /// Climbs from the raw points with the largest `values`; `None` if there are no raw points.
    pub fn maximize<F>(
        &self,
        objective: impl Fn() -> F + Sync,
        raw: &Points,
        values: &[f64],
        bounds: &Bounds,
    ) -> Result<Option<Optimum>>
    where
        F: FnMut(&[f64], &mut [f64]) -> f64,
    {
        check_shape("values of the raw points", raw.len(), values.len())?;
        let starts = raw.select(&largest(values, self.restarts.max(1)));
        Ok(best(maximize_each(objective, &starts, bounds, &self.stopping)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rosenbrock(x: &[f64], gradient: &mut [f64]) -> f64 {
        let mut value = 0.0;
        gradient.fill(0.0);
        for i in 0..x.len() - 1 {
            let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
            value -= a * a + 100.0 * b * b;
            gradient[i] += 2.0 * a + 400.0 * x[i] * b;
            gradient[i + 1] -= 200.0 * b;
        }
        value
    }

    fn tight() -> Stopping {
        Stopping { iterations: 500, gradient: 1e-10, gain: 1e-16 }
    }

    #[test]
    fn slopes_that_lead_out_of_the_box_do_not_count() {
        let bounds = Bounds::unit_cube(4);
        let slope = bounds.slope_inside(&[0.0, 1.0, 0.5, 1.0], &[-7.0, 7.0, 3.0, -4.0]);
        assert_eq!(slope, 5.0);
    }

    #[test]
    fn the_largest_are_those_of_a_stable_sort_whatever_their_number() {
        let mut rng = crate::random::Rng::new(5, 0);
        for n in [0, 1, 2, 30, 200] {
            let value = |i: usize| if i % 7 == 3 { f64::NAN } else { 0.0 };
            let values: Vec<f64> =
                (0..n).map(|i| value(i) + (5.0 * rng.uniform()).floor()).collect();
            let key = |i: usize| if values[i].is_nan() { f64::NEG_INFINITY } else { values[i] };
            let mut sorted: Vec<usize> = (0..n).collect();
            sorted.sort_by(|&i, &j| key(j).total_cmp(&key(i)));
            for count in 0..n + 2 {
                assert_eq!(largest(&values, count), sorted[..count.min(n)]);
            }
        }
    }

    #[test]
    fn the_valley_of_rosenbrock_is_followed_to_its_end() {
        for dim in [2, 5, 10] {
            let bounds = Bounds::new(vec![-2.0; dim], vec![2.0; dim]).unwrap();
            let top = maximize(rosenbrock, &vec![-1.2; dim], &bounds, &tight()).unwrap();
            // Above three dimensions there is a local optimum too, of value −4: it must not do.
            assert!(top.value > -1e-15, "{top:?}");
            assert!(top.x.iter().all(|x| (x - 1.0).abs() < 1e-8), "{top:?}");
        }
    }

    #[test]
    fn an_optimum_outside_the_box_is_found_on_its_face() {
        // On x₀ ≤ ½ the optimum of Rosenbrock's function is (½, ¼).
        let bounds = Bounds::new(vec![-2.0, -2.0], vec![0.5, 2.0]).unwrap();
        let top = maximize(rosenbrock, &[-1.2, 1.0], &bounds, &tight()).unwrap();
        assert_eq!(top.x[0], 0.5);
        assert!((top.x[1] - 0.25).abs() < 1e-9 && (top.value + 0.25).abs() < 1e-12);
    }

    #[test]
    fn an_optimum_on_a_face_is_exactly_there_wherever_the_climb_starts() {
        let slope = |_: &[f64], gradient: &mut [f64]| {
            gradient.copy_from_slice(&[1e-9, -1.0]);
            1.0
        };
        let start = [1.0 - 1e-14, 1e-14];
        let top = maximize(slope, &start, &Bounds::unit_cube(2), &tight()).unwrap();
        assert_eq!(top.x, [1.0, 0.0]);
    }

    #[test]
    fn sides_of_length_zero_and_no_sides_at_all_are_fine() {
        let bounds = Bounds::new(vec![0.3, 0.0], vec![0.3, 1.0]).unwrap();
        let top = maximize(rosenbrock, &[7.0, f64::NAN], &bounds, &tight()).unwrap();
        assert_eq!(top.x[0], 0.3);
        assert!((top.x[1] - 0.09).abs() < 1e-9);
        let point = maximize(|_, _| 3.0, &[], &Bounds::unit_cube(0), &tight()).unwrap();
        assert_eq!((point.value, point.evaluations), (3.0, 1));
    }

    #[test]
    fn values_that_are_not_numbers_never_win_and_never_panic() {
        let cliff = |x: &[f64], g: &mut [f64]| {
            g[0] = 1.0;
            if x[0] > 0.6 { f64::NAN } else { x[0] }
        };
        let top = maximize(cliff, &[0.1], &Bounds::unit_cube(1), &tight()).unwrap();
        assert!(top.value >= 0.1 && top.value <= 0.6, "{top:?}");
        let nowhere = |_: &[f64], _: &mut [f64]| f64::NAN;
        let top = maximize(nowhere, &[0.1], &Bounds::unit_cube(1), &tight()).unwrap();
        assert_eq!((top.value, &top.x[..]), (f64::NEG_INFINITY, &[0.1][..]));
        let wild = |x: &[f64], g: &mut [f64]| {
            g[0] = f64::INFINITY;
            x[0] * 1e300
        };
        assert!(maximize(wild, &[0.1], &Bounds::unit_cube(1), &tight()).unwrap().value >= 1e299);
        let flat = |_: &[f64], g: &mut [f64]| {
            g[0] = 0.0;
            1.0
        };
        assert_eq!(maximize(flat, &[0.1], &Bounds::unit_cube(1), &tight()).unwrap().value, 1.0);
    }

    #[test]
    fn multistart_finds_the_higher_hill_whatever_the_number_of_threads() {
        let hills = |x: &[f64], g: &mut [f64]| {
            let bump = |c: f64, h: f64| h * (-50.0 * (x[0] - c).powi(2)).exp();
            let slope = |c: f64, h: f64| -100.0 * (x[0] - c) * bump(c, h);
            g[0] = slope(0.2, 1.0) + slope(0.8, 1.5);
            bump(0.2, 1.0) + bump(0.8, 1.5)
        };
        let raw = Points::from_rows(1, (0..21).map(|i| [i as f64 / 20.0])).unwrap();
        let values: Vec<f64> = raw.rows().map(|x| hills(x, &mut [0.0])).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let multistart = Multistart { restarts: 21, stopping: tight() };
            let cube = Bounds::unit_cube(1);
            pool.install(|| multistart.maximize(|| hills, &raw, &values, &cube)).unwrap().unwrap()
        };
        assert!((run(1).x[0] - 0.8).abs() < 1e-6);
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(7));
    }

    #[test]
    fn the_largest_values_come_first_and_nan_last() {
        let values = [1.0, f64::NAN, 3.0, 1.0, f64::NEG_INFINITY];
        assert_eq!(largest(&values, 3), [2, 0, 3]);
        assert_eq!(largest(&values, 9).len(), 5);
        assert_eq!(best(vec![]), None);
    }

    #[test]
    fn impossible_bounds_are_refused() {
        assert!(Bounds::new(vec![1.0], vec![0.0]).is_err());
        assert!(Bounds::new(vec![f64::NAN], vec![0.0]).is_err());
        assert!(Bounds::new(vec![0.0], vec![f64::INFINITY]).is_err());
        assert!(Bounds::new(vec![0.0], vec![]).is_err());
    }
}
