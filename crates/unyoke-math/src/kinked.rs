//! Maximisation within bounds of functions whose kinks are known.
//!
//! f is smooth but for −Σ_q w_q max(0, c_q(x)) with smooth c_q. Its tops lie on kinks, where a climb that
//! takes it for smooth gets stuck. Here every step maximises a model that keeps the kinks, with linear c_q
//! and the curvature of the Lagrangian, learned by BFGS: sequential quadratic programming in a trust region
//! (Fletcher, Practical Methods of Optimization, 1987, chapter 14). Near a top each evaluation then adds
//! digits, also where several kinks meet. A step that fails because kinks are bent is corrected once, by
//! where they were found at its end.

mod step;

use crate::error::{Result, check_shape};
use crate::optimize::{Bounds, Optimum, Stopping};
use step::{Buffers, Curvature, Model, Step, dot, product};

/// Kinks of a function as seen from a point, always the same ones in the same order.
#[derive(Debug, Clone, Default)]
pub struct Kinks {
    gaps: Vec<f64>,
    weights: Vec<f64>,
    /// One after the other.
    normals: Vec<f64>,
    /// −1 for those that are seen from beyond, with their other side in front.
    signs: Vec<f64>,
}

impl Kinks {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.gaps.clear();
        self.weights.clear();
        self.normals.clear();
        self.signs.clear();
    }

    /// Adds −`weight` · max(0, `gap`), where `normal` is the gradient of the gap.
    #[inline]
    pub fn add(&mut self, gap: f64, weight: f64, normal: &[f64]) {
        // −w max(0, c) = −w c − w max(0, −c): a kink that was passed is one that lies ahead on the way back.
        // So no large number has to be added to the gradient and taken off again.
        let sign = if gap > 0.0 { -1.0 } else { 1.0 };
        self.gaps.push(sign * gap);
        self.weights.push(weight);
        self.normals.extend(normal.iter().map(|n| sign * n));
        self.signs.push(sign);
    }

    fn len(&self) -> usize {
        self.gaps.len()
    }

    fn normal(&self, q: usize) -> &[f64] {
        let dim = self.normals.len() / self.len();
        &self.normals[q * dim..(q + 1) * dim]
    }

    fn is_finite(&self) -> bool {
        [&self.gaps, &self.weights, &self.normals].into_iter().flatten().all(|v| v.is_finite())
    }
}

/// Climbs from `start` and returns the best point seen. The objective returns its value, writes its gradient
/// and adds its kinks.
///
/// ```
/// use unyoke_math::kinked::{Kinks, maximize};
/// use unyoke_math::optimize::{Bounds, Stopping};
///
/// // x₀ − 3 max(0, x₀ − x₁²) − (x₁ − 0.5)²
/// let ridge = |x: &[f64], gradient: &mut [f64], kinks: &mut Kinks| {
///     let gap = x[0] - x[1] * x[1];
///     let passed = if gap > 0.0 { 3.0 } else { 0.0 };
///     gradient.copy_from_slice(&[1.0 - passed, passed * 2.0 * x[1] - 2.0 * (x[1] - 0.5)]);
///     kinks.add(gap, 3.0, &[1.0, -2.0 * x[1]]);
///     x[0] - 3.0 * gap.max(0.0) - (x[1] - 0.5).powi(2)
/// };
/// // Along the kink it is x₁² − (x₁ − 0.5)².
/// let top = maximize(ridge, &[0.1, 0.2], &Bounds::unit_cube(2), &Stopping::default())?;
/// assert!(top.x.iter().all(|x| (x - 1.0).abs() < 1e-9) && top.evaluations < 30);
/// # Ok::<(), unyoke_math::Error>(())
/// ```
pub fn maximize(
    objective: impl FnMut(&[f64], &mut [f64], &mut Kinks) -> f64,
    start: &[f64],
    bounds: &Bounds,
    stopping: &Stopping,
) -> Result<Optimum> {
    maximize_beside(objective, start, bounds, stopping, &[])
}

/// The same beside `tops` that are known: the climb ends where it has come to one of them, or seems to lead
/// to a top that is lower than the highest of them. What it returns then is no top.
pub fn maximize_beside(
    objective: impl FnMut(&[f64], &mut [f64], &mut Kinks) -> f64,
    start: &[f64],
    bounds: &Bounds,
    stopping: &Stopping,
    tops: &[Optimum],
) -> Result<Optimum> {
    check_shape("coordinates of the start", bounds.dim(), start.len())?;
    let start = bounds.clamp(start);
    let best = Optimum { x: start.clone(), value: f64::NEG_INFINITY, evaluations: 0 };
    let mut seen = Seen { objective, best, spare: vec![] };
    let here = seen.look(&start);
    if !here.x.is_empty() && here.is_finite() {
        Climb::new(bounds, here).climb(&mut seen, stopping, tops);
    }
    Ok(seen.best)
}

/// The objective, and the best that was seen of it.
struct Seen<F> {
    objective: F,
    best: Optimum,
    /// Points that were left behind, for their memory.
    spare: Vec<Point>,
}

impl<F: FnMut(&[f64], &mut [f64], &mut Kinks) -> f64> Seen<F> {
    fn look(&mut self, x: &[f64]) -> Point {
        let mut point = self.spare.pop().unwrap_or_default();
        point.x.clear();
        point.x.extend_from_slice(x);
        point.slope.clear();
        point.slope.resize(x.len(), 0.0);
        point.kinks.clear();
        point.value = (self.objective)(x, &mut point.slope, &mut point.kinks);
        self.best.evaluations += 1;
        if point.value.is_finite() && point.value > self.best.value {
            self.best.value = point.value;
            self.best.x.copy_from_slice(x);
        }
        point
    }
}

/// A point with all that is known of it.
#[derive(Default)]
struct Point {
    x: Vec<f64>,
    value: f64,
    slope: Vec<f64>,
    kinks: Kinks,
}

impl Point {
    fn is_finite(&self) -> bool {
        self.value.is_finite() && self.slope.iter().all(|s| s.is_finite()) && self.kinks.is_finite()
    }

    fn way_to(&self, there: &Self) -> Vec<f64> {
        there.x.iter().zip(&self.x).map(|(to, from)| to - from).collect()
    }

    /// The slope of the Lagrangian in which each kink, as it is seen from `frame`, counts a share of its
    /// weight.
    fn lagrangian(&self, frame: &Self, shares: &[f64]) -> Vec<f64> {
        let mut slope = self.slope.clone();
        for (q, share) in shares.iter().enumerate() {
            let sign = self.kinks.signs[q] * frame.kinks.signs[q];
            // Points that see it from different sides have it between them.
            let passed = if sign < 0.0 { 1.0 } else { 0.0 };
            if passed != *share {
                let factor = sign * (passed - share) * self.kinks.weights[q];
                slope.iter_mut().zip(self.kinks.normal(q)).for_each(|(s, n)| *s += factor * n);
            }
        }
        slope
    }
}

/// Length of the first step in the unit cube, unless it is stopped.
const FIRST: f64 = 0.1;

/// No step is longer, or shorter.
const LONGEST: f64 = 1.0;
const SHORTEST: f64 = 1e-10;

/// Steps are tried, or go on, as long as they promise this part of the gain that is too little to be
/// continued for.
const PROMISING: f64 = 0.01;

/// The part of what the model promises that a step must gain not to be corrected and shortened, and that
/// from which the next may be longer.
const POOR: f64 = 0.1;
const GOOD: f64 = 0.7;

/// A climb beside known tops goes on as long as so many times the gain of the last step, or of the next one
/// as the model promises it, would make it the highest, and for its first steps in any case.
const HOPE: f64 = 3.0;
const TRIED: usize = 8;

/// This near to a known top it has come to it.
const ARRIVED: f64 = 1e-3;

/// A climb under way.
struct Climb<'b> {
    bounds: &'b Bounds,
    here: Point,
    curvature: Curvature,
    knows_size: bool,
    radius: f64,
    buffers: Buffers,
}

impl<'b> Climb<'b> {
    fn new(bounds: &'b Bounds, here: Point) -> Self {
        let steepness = dot(&here.slope, &here.slope).sqrt().max(f64::MIN_POSITIVE);
        let curvature = Curvature::unit(here.x.len(), steepness / FIRST);
        let buffers = Buffers::default();
        Self { bounds, here, curvature, knows_size: false, radius: FIRST, buffers }
    }

    fn climb<F>(&mut self, seen: &mut Seen<F>, stopping: &Stopping, tops: &[Optimum])
    where
        F: FnMut(&[f64], &mut [f64], &mut Kinks) -> f64,
    {
        let highest = tops.iter().map(|top| top.value).fold(f64::NEG_INFINITY, f64::max);
        let (mut small, mut gained) = (0, f64::INFINITY);
        for round in 0..stopping.iterations {
            let little = stopping.gain * self.here.value.abs().max(1.0);
            let step = self.step(None);
            if step.gain.is_nan() || step.gain <= PROMISING * little {
                return;
            }
            let hope = self.here.value + HOPE * step.gain.max(gained);
            if (round >= TRIED && hope < highest) || tops.iter().any(|top| self.is_below(top)) {
                return;
            }
            gained = self.advance(seen, step);
            // One may be an accident.
            small = if 0.0 < gained && gained < little { small + 1 } else { small };
            if small == 2 || self.radius < SHORTEST {
                return;
            }
        }
    }

    /// Whether it has come to a top that is known.
    fn is_below(&self, top: &Optimum) -> bool {
        let mut sides = top.x.iter().zip(&self.here.x);
        top.value >= self.here.value && sides.all(|(a, b)| (a - b).abs() < ARRIVED)
    }

    /// Takes a step if that is a gain, and learns from it in any case.
    fn advance<F>(&mut self, seen: &mut Seen<F>, step: Step) -> f64
    where
        F: FnMut(&[f64], &mut [f64], &mut Kinks) -> f64,
    {
        let promised = step.gain;
        let there = seen.look(&self.end(&step));
        let (there, step) = match there.value - self.here.value >= POOR * promised {
            true => (there, step),
            false => self.corrected(seen, there, step),
        };
        let gained = there.value - self.here.value;
        self.adapt(gained, promised, &step);
        if there.is_finite() && there.kinks.len() == self.here.kinks.len() {
            self.learn(&there, &step.shares);
            if gained > 0.0 {
                seen.spare.push(std::mem::replace(&mut self.here, there));
                return gained;
            }
        }
        seen.spare.push(there);
        gained
    }

    /// The best step by the model, with kinks that have these gaps, or those seen from here.
    fn step(&mut self, gaps: Option<&[f64]>) -> Step {
        let room = |end: &[f64], sign: f64| -> Vec<f64> {
            let room = |(e, x): (&f64, &f64)| sign * (sign * (e - x)).min(self.radius);
            end.iter().zip(&self.here.x).map(room).collect()
        };
        let (lower, upper) = (room(self.bounds.lower(), -1.0), room(self.bounds.upper(), 1.0));
        let Point { slope, kinks, .. } = &self.here;
        let (lower, upper, gaps) = (&lower[..], &upper[..], gaps.unwrap_or(&kinks.gaps));
        let model = Model { slope, curvature: &self.curvature, kinks, gaps, lower, upper };
        model.best_step(&mut self.buffers)
    }

    fn end(&self, step: &Step) -> Vec<f64> {
        let end: Vec<f64> = self.here.x.iter().zip(&step.to).map(|(x, d)| x + d).collect();
        let mut end = self.bounds.clamp(&end);
        self.bounds.snap(&mut end);
        end
    }

    /// The better one of a step that failed and another one, by where the kinks were found at its end.
    fn corrected<F>(&mut self, seen: &mut Seen<F>, there: Point, step: Step) -> (Point, Step)
    where
        F: FnMut(&[f64], &mut [f64], &mut Kinks) -> f64,
    {
        let (before, after) = (&self.here.kinks, &there.kinks);
        if before.len() != after.len() || before.len() == 0 || !there.is_finite() {
            return (there, step);
        }
        let way = self.here.way_to(&there);
        let gap = |q: usize| {
            let found = before.signs[q] * after.signs[q] * after.gaps[q];
            found - dot(before.normal(q), &way)
        };
        let gaps: Vec<f64> = (0..before.len()).map(gap).collect();
        let again = self.step(Some(&gaps));
        let other = seen.look(&self.end(&again));
        if other.value > there.value { (other, again) } else { (there, step) }
    }

    fn adapt(&mut self, gained: f64, promised: f64, step: &Step) {
        let length = step.to.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
        if gained.is_nan() || gained <= POOR * promised {
            self.radius = 0.3 * length;
        } else if gained > GOOD * promised && length > 0.9 * self.radius {
            self.radius = (2.5 * self.radius).min(LONGEST);
        }
    }

    /// Learns the curvature of the Lagrangian.
    fn learn(&mut self, there: &Point, shares: &[f64]) {
        let way = self.here.way_to(there);
        let (before, after) =
            (self.here.lagrangian(&self.here, shares), there.lagrangian(&self.here, shares));
        let fall: Vec<f64> = before.iter().zip(&after).map(|(a, b)| a - b).collect();
        let (bent, square) = (dot(&way, &fall), dot(&fall, &fall));
        if !square.is_finite() || way.iter().all(|v| *v == 0.0) {
            return;
        }
        if !self.knows_size && bent > 0.0 {
            self.curvature = Curvature::unit(way.len(), square / bent);
            self.knows_size = true;
        }
        self.curvature.update(&way, fall);
    }
}

impl Curvature {
    /// A multiple of the identity.
    fn unit(dim: usize, size: f64) -> Self {
        let diagonal = |value: f64| {
            let mut matrix = vec![0.0; dim * dim];
            (0..dim).for_each(|i| matrix[i * dim + i] = value);
            matrix
        };
        Self { matrix: diagonal(size), inverse: diagonal(1.0 / size) }
    }

    /// BFGS for a slope that falls by `fall` along `way`, damped where it does not fall (Powell 1978).
    fn update(&mut self, way: &[f64], mut fall: Vec<f64>) {
        const LEAST: f64 = 0.2;
        let expected = product(&self.matrix, way);
        let (size, found) = (dot(way, &expected), dot(way, &fall));
        if found < LEAST * size {
            let share = (1.0 - LEAST) * size / (size - found);
            let mix = |(f, e): (&mut f64, &f64)| *f = share * *f + (1.0 - share) * e;
            fall.iter_mut().zip(&expected).for_each(mix);
        }
        let found = dot(way, &fall);
        let image = product(&self.inverse, &fall);
        let factor = (1.0 + dot(&fall, &image) / found) / found;
        if !(found > 0.0 && size > 0.0 && factor.is_finite()) {
            return;
        }
        let dim = way.len();
        for i in 0..dim {
            for j in 0..dim {
                let place = i * dim + j;
                self.matrix[place] += fall[i] * fall[j] / found - expected[i] * expected[j] / size;
                self.inverse[place] +=
                    factor * way[i] * way[j] - (image[i] * way[j] + way[i] * image[j]) / found;
            }
        }
    }
}

#[cfg(test)]
mod tests;
