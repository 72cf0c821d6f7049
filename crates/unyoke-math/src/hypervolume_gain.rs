//! What an observation of one objective is expected to add to the hypervolume of posterior means.
//!
//! After the observation, objective m of design j has the mean a_j + b_j Z, Z ~ N(0, 1), while its
//! other objectives keep theirs, t_j. The hypervolume over the reference point r is an integral
//! over the fixed objectives u: at each u it is as high as the best line among the designs that
//! reach u. So the expected gain is
//!
//! α = ∫_{u > r} G(u) du,
//! G(u) = E max(r_m, max_{j: t_j ≥ u} (a_j + b_j Z)) − max(r_m, max_{j: t_j ≥ u} a_j).
//!
//! G(u) is the gain of an envelope of lines, a sum over its break points ([`crate::envelope`]), and
//! the break point of two lines is the same at every u where they are neighbours. Hence
//!
//! α = Σ_{l, r} A_lr (b_r − b_l) f(−|c_lr|),  f(z) = φ(z) + z Φ(z),
//!
//! where A_lr is the size of the set of u at which lines l and r are neighbours on the envelope and
//! c_lr their crossing. No term is negative and nothing cancels; each term has a derivative of its
//! own. The line r_m takes part in every envelope. The sizes come from one sweep over the designs
//! (`sweep`), the sum is made in units of e^(log_scale) so that it cannot underflow (`terms`).
//!
//! One and two fixed objectives are exact. With d ≥ 3 of them, u = r + ρ v with v a direction of the
//! positive orthant (Zhang & Golovin 2020): the designs reach ρ_j(v) = min_k (t_jk − r_k)/v_k, and
//! α = V_d E_v[∫ G d(ρ^d)], V_d the volume of the orthant's part of the unit ball. Each direction is
//! exact as one fixed objective ρ^d is; the mean over directions is by quasi-Monte Carlo.
//!
//! Several objectives of independent models observed at once are a chain of such gains (`joint`).
//!
//! At ties in a fixed objective, where the gain has a kink, derivatives are those towards lower
//! values of the candidate's own.

mod terms;
mod sweep;
mod arrangement;
mod joint;

use crate::envelope::{Gain, magnitude};
use crate::error::{Error, Result, check_finite, check_shape};
use crate::points::Points;
use crate::sobol;
use arrangement::{Arrangement, Axes, Corner, Newcomer};
use sweep::{Sweep, Tracked};

pub use joint::{JointHypervolumeGain, JointWork};

/// Designs whose objectives are compared by hypervolume while one objective moves.
#[derive(Debug, Clone)]
pub struct HypervolumeGain {
    objectives: usize,
    designs: usize,
    moving: usize,
    reference: Vec<f64>,
    form: Form,
}

/// How the fixed objectives are integrated over.
#[derive(Debug, Clone)]
enum Form {
    /// One or two of them, exactly.
    Exact(Axes, Arrangement),
    /// Any number, along directions.
    Along(Vec<Ray>, Orthant),
}

/// One direction, and the designs by how far they reach along it.
#[derive(Debug, Clone)]
struct Ray {
    direction: Vec<f64>,
    arrangement: Arrangement,
}

/// The units that directions are in.
#[derive(Debug, Clone)]
struct Orthant {
    /// The lead of the best design over the reference, for each fixed objective.
    spans: Vec<f64>,
    /// Logarithm of what the mean of the rays' gains must be multiplied by, over their number.
    log_volume: f64,
}

/// Buffers of an evaluation, to be reused, and the derivatives of the last gain.
#[derive(Debug, Clone, Default)]
pub struct Work {
    sweep: Sweep,
    total: Total,
    wants_derivatives: bool,
}

/// A sum of gains and their derivatives, all in units of e^(log_scale).
#[derive(Debug, Clone, Default)]
struct Total {
    log_scale: f64,
    gain: f64,
    /// In each slope, the candidate's last.
    slopes: Vec<f64>,
    /// In the means of the candidate's objectives.
    means: Vec<f64>,
}

impl HypervolumeGain {
    /// Designs by the means of their two or three objectives, of which `moving` is observed.
    ///
    /// ```
    /// use unyoke_math::Points;
    /// use unyoke_math::hypervolume_gain::{HypervolumeGain, Work};
    ///
    /// // One design, as good as the reference in the objective that moves: E max(0, Z) = φ(0) over
    /// // a length of 2. The candidate does not reach the reference.
    /// let designs = Points::from_rows(2, [[0.0, 2.0]])?;
    /// let set = HypervolumeGain::new(&designs, 0, &[0.0, 0.0])?;
    /// let gain = set.gain(&[1.0, 0.5], &[0.0, -1.0], &mut Work::default())?;
    /// assert!((gain.value() - 2.0 * 0.398_942_280_401_432_7).abs() < 1e-15);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn new(means: &Points, moving: usize, reference: &[f64]) -> Result<Self> {
        if !(2..=3).contains(&means.dim()) {
            let (what, must) = ("number of objectives", "2 or 3 without directions");
            return Err(Error::OutOfRange { what, value: means.dim() as f64, must });
        }
        check(means, moving, reference)?;
        let axes = Axes::new(means.dim(), moving);
        let designs: Vec<Corner> = means.rows().map(|row| axes.corner(row)).collect();
        let form = Form::Exact(axes, Arrangement::new(&designs, axes.corner(reference)));
        Ok(Self::with_form(form, means, moving, reference))
    }

    /// As [`HypervolumeGain::new`] for any number of objectives from two: approximately, along the
    /// rows of `directions`, which have a coordinate for each fixed objective; see [`directions`].
    pub fn along(
        directions: &Points,
        means: &Points,
        moving: usize,
        reference: &[f64],
    ) -> Result<Self> {
        check(means, moving, reference)?;
        check_directions(directions, means.dim())?;
        let orthant = Orthant::new(means, moving, reference, directions.len());
        let ray = |direction: &[f64]| {
            let corner = |values: &[f64]| Corner {
                height: values[moving],
                level: orthant.reach(direction, values, moving, reference).level,
                edge: None,
            };
            let designs: Vec<Corner> = means.rows().map(corner).collect();
            let arrangement = Arrangement::new(&designs, corner(reference));
            Ray { direction: direction.to_vec(), arrangement }
        };
        let rays = directions.rows().map(ray).collect();
        Ok(Self::with_form(Form::Along(rays, orthant), means, moving, reference))
    }

    fn with_form(form: Form, means: &Points, moving: usize, reference: &[f64]) -> Self {
        let (objectives, designs) = (means.dim(), means.len());
        Self { objectives, designs, moving, reference: reference.to_vec(), form }
    }

    /// The expected gain when a candidate with these `means` joins the designs and its observation
    /// moves them with these `slopes`, the candidate's own last. `work` then has the derivatives.
    pub fn gain(&self, slopes: &[f64], means: &[f64], work: &mut Work) -> Result<Gain> {
        work.wants_derivatives = true;
        self.evaluate(slopes, means, work)
    }

    /// The same gain without derivatives, more quickly.
    pub fn value(&self, slopes: &[f64], means: &[f64], work: &mut Work) -> Result<Gain> {
        work.wants_derivatives = false;
        self.evaluate(slopes, means, work)
    }

    fn evaluate(&self, slopes: &[f64], means: &[f64], work: &mut Work) -> Result<Gain> {
        check_shape("slopes of the designs and the candidate", self.designs + 1, slopes.len())?;
        check_shape("means of the candidate", self.objectives, means.len())?;
        check_finite("means of the candidate", means)?;
        let slope_size = magnitude(slopes);
        if slope_size >= f64::INFINITY.to_bits() {
            check_finite("slopes of the designs and the candidate", slopes)?;
        }
        match work.wants_derivatives {
            true => work.total.clear(slopes.len(), means.len()),
            false => work.total.clear(0, 0),
        }
        match &self.form {
            Form::Exact(axes, arrangement) => {
                let own = Newcomer { corner: axes.corner(means), slopes, slope_size };
                add_exact(axes, arrangement, &own, work);
            }
            Form::Along(rays, orthant) => {
                for ray in rays {
                    let reach = orthant.reach(&ray.direction, means, self.moving, &self.reference);
                    let height = means[self.moving];
                    let corner = Corner { height, level: reach.level, edge: None };
                    let own = Newcomer { corner, slopes, slope_size };
                    self.add_ray(ray, &own, &reach, work);
                }
                if work.total.gain > 0.0 {
                    work.total.log_scale += orthant.log_volume;
                }
            }
        }
        Ok(Gain { scaled: work.total.gain, log_scale: work.total.log_scale })
    }

    fn add_ray(&self, ray: &Ray, own: &Newcomer<'_>, reach: &Reach, work: &mut Work) {
        let tracked = if work.wants_derivatives { Tracked::Candidate } else { Tracked::Nothing };
        let Work { sweep, total, .. } = work;
        let Some(sum) = ray.arrangement.sweep(own, tracked, sweep) else { return };
        let factor = total.add(sum.gain);
        if !work.wants_derivatives {
            return;
        }
        total.means[self.moving] += sum.add_slopes(factor, &mut total.slopes);
        let by_level: f64 = sum.fixed_slopes(factor).map(|slope| slope.level).sum();
        // In this order, nothing over- or underflows that the result does not.
        let by_log_level = by_level * reach.level;
        if by_log_level != 0.0 {
            total.means[reach.objective] += by_log_level * reach.log_slope;
        }
    }
}

fn add_exact(axes: &Axes, arrangement: &Arrangement, own: &Newcomer<'_>, work: &mut Work) {
    // With edges, areas are added up in another order where the candidate's is told apart.
    let tracked = match axes.edge.is_none() && !work.wants_derivatives {
        true => Tracked::Nothing,
        false => Tracked::Candidate,
    };
    let Work { sweep, total, .. } = work;
    let Some(sum) = arrangement.sweep(own, tracked, sweep) else { return };
    let factor = total.add(sum.gain);
    if !work.wants_derivatives {
        return;
    }
    total.means[axes.height] += sum.add_slopes(factor, &mut total.slopes);
    for slope in sum.fixed_slopes(factor) {
        total.means[axes.level] += slope.level;
        if let Some(edge) = axes.edge {
            total.means[edge] += slope.edge;
        }
    }
}

/// `count` directions for [`HypervolumeGain::along`] in `fixed` dimensions: unit vectors of positive
/// coordinates, spread evenly over the sphere by a scrambled Sobol' sequence.
pub fn directions(fixed: usize, count: usize, seed: u64) -> Result<Points> {
    let mut points = match fixed {
        3 => Points::from_rows(3, sobol::cube(2, count, seed)?.rows().map(on_the_sphere))?,
        _ => sobol::normals(fixed, count, seed)?,
    };
    for i in 0..points.len() {
        let row = points.row_mut(i);
        // No coordinate is 0: directions are divided by.
        row.iter_mut().for_each(|v| *v = v.abs().max(f64::EPSILON));
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v /= length);
    }
    Ok(points)
}

/// A point of the unit square on an octant of the sphere: Archimedes' map, which keeps areas. In six
/// trials its error was 0.42 to 0.75 of that with normals of three dimensions.
fn on_the_sphere(point: &[f64]) -> [f64; 3] {
    let (height, angle) = (point[0], point[1] * std::f64::consts::FRAC_PI_2);
    let radius = (1.0 - height * height).sqrt();
    [height, radius * angle.cos(), radius * angle.sin()]
}

impl Work {
    /// Derivatives of the last gain in the slopes, the candidate's own last, in units of its
    /// e^(log_scale): those of its logarithm are these over its `scaled`. Empty after a value alone.
    pub fn slopes(&self) -> &[f64] {
        &self.total.slopes
    }

    /// Derivatives of the last gain in the means of the candidate's objectives, likewise.
    pub fn means(&self) -> &[f64] {
        &self.total.means
    }
}

impl Total {
    fn clear(&mut self, slopes: usize, means: usize) {
        (self.gain, self.log_scale) = (0.0, 0.0);
        self.slopes.clear();
        self.slopes.resize(slopes, 0.0);
        self.means.clear();
        self.means.resize(means, 0.0);
    }

    /// Adds a gain and returns the factor that brings its derivatives to the common unit, which is
    /// the largest so far.
    fn add(&mut self, gain: Gain) -> f64 {
        if self.gain == 0.0 {
            self.log_scale = gain.log_scale;
        }
        if gain.log_scale > self.log_scale {
            let shrink = (self.log_scale - gain.log_scale).exp();
            self.log_scale = gain.log_scale;
            self.gain *= shrink;
            self.slopes.iter_mut().chain(&mut self.means).for_each(|g| *g *= shrink);
        }
        let factor = (gain.log_scale - self.log_scale).exp();
        self.gain += factor * gain.scaled;
        factor
    }
}

/// How far a point reaches along a direction.
struct Reach {
    /// ρ^d, or 0 for a point that does not reach the reference.
    level: f64,
    /// The objective that limits it.
    objective: usize,
    /// Derivative of the level's logarithm in that objective, if it reaches the reference.
    log_slope: f64,
}

impl Orthant {
    fn new(means: &Points, moving: usize, reference: &[f64], rays: usize) -> Self {
        let span = |k: usize| {
            let lead = means.rows().map(|row| row[k] - reference[k]).fold(0.0, f64::max);
            if lead > 0.0 && lead.is_finite() { lead } else { 1.0 }
        };
        let spans: Vec<f64> = fixed(means.dim(), moving).map(span).collect();
        let half = 0.5 * spans.len() as f64;
        // Π spans · π^(d/2)/(2^d Γ(d/2 + 1)).
        let ball = half * (std::f64::consts::PI / 4.0).ln() - libm::lgamma(half + 1.0);
        let log_volume =
            spans.iter().map(|s| s.ln()).sum::<f64>() + ball - (rays.max(1) as f64).ln();
        Self { spans, log_volume }
    }

    fn reach(&self, direction: &[f64], values: &[f64], moving: usize, reference: &[f64]) -> Reach {
        let fixed = fixed(values.len(), moving);
        let (mut distance, mut objective) = (f64::INFINITY, moving);
        for ((k, span), v) in fixed.zip(&self.spans).zip(direction) {
            let here = (values[k] - reference[k]) / span / v;
            if here < distance {
                (distance, objective) = (here, k);
            }
        }
        // Beyond the largest double nothing can be said of the size of a slice.
        let level = distance.max(0.0).powi(self.spans.len() as i32).min(f64::MAX);
        let lead = values[objective] - reference[objective];
        let log_slope = if level < f64::MAX { self.spans.len() as f64 / lead } else { 0.0 };
        Reach { level, objective, log_slope }
    }
}

/// The objectives that do not move.
fn fixed(objectives: usize, moving: usize) -> impl Iterator<Item = usize> {
    (0..objectives).filter(move |k| *k != moving)
}

fn check(means: &Points, moving: usize, reference: &[f64]) -> Result<()> {
    check_shape("coordinates of the reference point", means.dim(), reference.len())?;
    if moving >= means.dim() {
        let must = "the number of an objective";
        return Err(Error::OutOfRange { what: "moving objective", value: moving as f64, must });
    }
    if means.dim() < 2 {
        let must = "at least 2";
        return Err(Error::OutOfRange { what: "number of objectives", value: 1.0, must });
    }
    means.check_finite("means of the designs")?;
    check_finite("reference point", reference)
}

fn check_directions(directions: &Points, objectives: usize) -> Result<()> {
    check_shape("coordinates of a direction", objectives - 1, directions.dim())?;
    directions.check_finite("directions")?;
    let bad = directions.as_flat().iter().find(|v| **v <= 0.0);
    bad.map_or(Ok(()), |&value| {
        let (what, must) = ("coordinate of a direction", "positive");
        Err(Error::OutOfRange { what, value, must })
    })
}

#[cfg(test)]
mod tests;
