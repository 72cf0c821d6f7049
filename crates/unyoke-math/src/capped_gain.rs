//! What an observation is expected to add to the best of several values that have ceilings.
//!
//! A value of design j is a concave function of a normal variable X_j, whose mean an observation moves
//! by b_j Z, Z ~ N(0, 1), and whose variance it reduces by b_j²:
//!
//! U_j(z) = l_j + ρ (m_j + b_j z) + Σ_i p_i E min(X_j, C_ij),  X_j ~ N(m_j + b_j z, v_j − b_j²),
//!
//! with ceilings C_ij ~ N(ν_ij, τ²_ij), independent of X_j; τ = 0 is a fixed level. With θ² the
//! sum of both variances, E min(X, C) = ν − θ f((ν − m)/θ), f(z) = φ(z) + z Φ(z) (Clark 1961). U_j(Z) is a
//! martingale: its mean over Z is U_j with b_j = 0, what the design is worth now. The gain is
//!
//! α = E[max_j U_j(Z) − U_j*(Z)],  j* the design that is worth most now.
//!
//! The integrand is never negative and nothing cancels. The curves rise or fall with z throughout, so
//! each is bounded at every z by what it is worth now (`Bounds`): few have to be evaluated.
//! The places where another curve becomes the highest are found (`scan`), and between them the
//! integrand is smooth: a few nodes each give it to about eight digits, however small the gain is. Where a
//! ceiling is all but reached, curves are level but for a narrow bend, and differ by what rounding
//! would take from their heights: they are compared by what is missing, and nodes are closer there (`bend`).
//!
//! [`minimum`] has ceilings that are the least of several normal variables.

pub mod minimum;
mod bend;
mod scan;

use crate::envelope::Gain;
use crate::error::{Result, check_finite, check_shape};
use crate::normal;
use scan::{Piece, Scan};

/// A level beyond which more is worth nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// What the part of the value below it counts.
    pub weight: f64,
    /// Its mean.
    pub mean: f64,
    /// Its variance; 0 where it is known.
    pub variance: f64,
}

/// What a value depends on beside its ceilings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    /// What does not depend on the normal variable.
    pub level: f64,
    /// What the variable counts without a ceiling.
    pub free: f64,
    /// Mean of the variable, before the observation.
    pub mean: f64,
    /// Its variance, before the observation.
    pub variance: f64,
}

/// Derivatives of a value, or of a gain.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Slopes {
    /// In the level.
    pub level: f64,
    /// In the mean.
    pub mean: f64,
    /// In the variance.
    pub variance: f64,
    /// In mean and variance of each ceiling.
    pub ceilings: Vec<[f64; 2]>,
}

impl Slopes {
    fn clear(&mut self, ceilings: usize) {
        (self.level, self.mean, self.variance) = (0.0, 0.0, 0.0);
        self.ceilings.clear();
        self.ceilings.resize(ceilings, [0.0; 2]);
    }

    fn scale(&mut self, factor: f64) {
        self.level *= factor;
        self.mean *= factor;
        self.variance *= factor;
        self.ceilings.iter_mut().flatten().for_each(|slope| *slope *= factor);
    }
}

/// A curve with its ceilings.
#[derive(Debug, Clone, Copy)]
struct Capped<'a> {
    curve: Curve,
    ceilings: &'a [Ceiling],
}

/// Further apart than so many standard deviations, the lesser of two is certain.
const CERTAIN: f64 = 38.0;

/// The least of the variance that an observation can leave, as a part of what it takes away. What is left
/// is the difference of the two, in which rounding hides as much. Nothing at all would make an edge of
/// the bend at a ceiling, of which derivatives under the integral see nothing.
const LEAST_REST: f64 = 1e-14;

impl Capped<'_> {
    /// U(z) for an observation that moves the mean by `slope` Z.
    fn at(&self, slope: f64, z: f64) -> f64 {
        let [most, missing] = self.parts(slope, z);
        most - missing
    }

    /// What it would be if everything were known, and how much less it is because it is not. Close to a
    /// ceiling the first is the same for all curves, and the difference between two is in the second.
    fn parts(&self, slope: f64, z: f64) -> [f64; 2] {
        let Curve { level, free, mean, .. } = self.curve;
        let (mean, rest) = (mean + slope * z, self.rest(slope));
        let (mut most, mut missing) = (level + free * mean, 0.0);
        for c in self.ceilings {
            most += c.weight * mean.min(c.mean);
            missing += c.weight * shortfall(mean - c.mean, (rest + c.variance).sqrt());
        }
        [most, missing]
    }

    /// The variance that is left after an observation that moves the mean by `slope` Z.
    fn rest(&self, slope: f64) -> f64 {
        (self.curve.variance - slope * slope).max(LEAST_REST * slope * slope)
    }

    /// Derivatives of that in the variance and in the slope.
    fn rest_slopes(&self, slope: f64) -> [f64; 2] {
        match self.curve.variance - slope * slope > LEAST_REST * slope * slope {
            true => [1.0, -2.0 * slope],
            false => [0.0, 2.0 * LEAST_REST * slope],
        }
    }

    /// The most that U changes when the mean does by 1.
    fn steepness(&self) -> f64 {
        self.curve.free + self.ceilings.iter().map(|c| c.weight).sum::<f64>()
    }

    /// Adds `unit` times the derivatives of U(z); returns that in the slope.
    fn differentiate(&self, slope: f64, z: f64, unit: f64, slopes: Option<&mut Slopes>) -> f64 {
        let Curve { free, mean, .. } = self.curve;
        let (mean, rest) = (mean + slope * z, self.rest(slope));
        let (mut by_mean, mut by_all_rests) = (free, 0.0);
        let mut own = slopes;
        for (i, c) in self.ceilings.iter().enumerate() {
            let deviation = (rest + c.variance).sqrt();
            let [below, above, by_rest] = least_slopes(mean, c.mean, deviation);
            by_mean += c.weight * below;
            by_all_rests += c.weight * by_rest;
            if let Some(slopes) = own.as_deref_mut() {
                slopes.ceilings[i][0] += unit * c.weight * above;
                slopes.ceilings[i][1] += unit * c.weight * by_rest;
            }
        }
        let [by_variance, by_slope] = self.rest_slopes(slope).map(|slope| slope * by_all_rests);
        if let Some(slopes) = own {
            slopes.level += unit;
            slopes.mean += unit * by_mean;
            slopes.variance += unit * by_variance;
        }
        unit * (z * by_mean + by_slope)
    }
}

/// By how much E min of two independent normals is below the lesser of their means, which differ by
/// this; θ² is the sum of their variances.
fn shortfall(difference: f64, deviation: f64) -> f64 {
    let gap = difference.abs();
    // Not a division by 0 where both are known.
    match gap >= CERTAIN * deviation {
        true => 0.0,
        false => deviation * normal::expected_excess(-gap / deviation),
    }
}

/// Derivatives of E min in the first mean, in the second, and in θ².
fn least_slopes(a: f64, b: f64, deviation: f64) -> [f64; 3] {
    if (a - b).abs() >= CERTAIN * deviation {
        let first = f64::from(u8::from(a <= b));
        return [first, 1.0 - first, 0.0];
    }
    let k = (b - a) / deviation;
    let density = normal::pdf(k);
    // Φ(−|k|), with which two more densities are saved.
    let tail = density * normal::mills(k.abs());
    let [first, second] = if k < 0.0 { [tail, 1.0 - tail] } else { [1.0 - tail, tail] };
    [first, second, -0.5 * density / deviation]
}

/// What a curve is worth now.
pub fn worth(curve: Curve, ceilings: &[Ceiling]) -> f64 {
    Capped { curve, ceilings }.at(0.0, 0.0)
}

/// What a curve is worth now, and the derivatives of that.
pub fn worth_with_slopes(curve: Curve, ceilings: &[Ceiling], slopes: &mut Slopes) -> f64 {
    slopes.clear(ceilings.len());
    let capped = Capped { curve, ceilings };
    capped.differentiate(0.0, 0.0, 1.0, Some(slopes));
    capped.at(0.0, 0.0)
}

/// The curves of designs that are compared; what does not depend on the observation is kept.
///
/// ```
/// use unyoke_math::capped_gain::{Ceiling, Curve, Curves, Work};
///
/// // Two designs worth 1 and 0.8, the second uncertain, nothing beyond 1.1 worth anything.
/// let enough = [Ceiling { weight: 1.0, mean: 1.1, variance: 0.0 }];
/// let curve = |mean, variance| Curve { level: 0.0, free: 0.0, mean, variance };
/// let mut curves = Curves::default();
/// curves.push(curve(1.0, 0.0), &enough)?;
/// curves.push(curve(0.8, 0.25), &enough)?;
/// let gain = curves.gain(None, &[0.0, 0.5], &mut Work::default())?;
/// // E min(max(1, X), 1.1) − 1 with X ~ N(0.8, 0.25): normal tail excesses at 0.4 and 0.6.
/// assert!((gain.value() - 0.5 * (0.230_439 - 0.168_673)).abs() < 1e-6);
/// # Ok::<(), unyoke_math::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Curves {
    curves: Vec<Curve>,
    ceilings: Vec<Ceiling>,
    /// Where the ceilings of each curve end.
    ends: Vec<usize>,
    bounds: Vec<Bounds>,
}

/// What bounds a curve: it is a martingale, and rises or falls throughout at most this steeply.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// What it is worth now, in parts.
    now: [f64; 2],
    steepness: f64,
}

impl Bounds {
    fn new(capped: &Capped<'_>) -> Self {
        Self { now: capped.parts(0.0, 0.0), steepness: capped.steepness() }
    }

    /// By how much the curve can at most be above another that is at `height` at z, given f(z) and f(−z).
    ///
    /// For b > 0, U(z) − U(Z) ≤ L b (z − Z)⁺; taking the mean over Z, U(z) ≤ now + L b f(z).
    fn most_above(&self, height: [f64; 2], slope: f64, [rising, falling]: [f64; 2]) -> f64 {
        let rise = self.steepness * slope.abs() * if slope > 0.0 { rising } else { falling };
        above(self.now, height) + rise
    }
}

/// By how much one value is above another, both in parts: what two curves under the same ceiling have in
/// common is taken away first.
fn above([most, missing]: [f64; 2], [others_most, others_missing]: [f64; 2]) -> f64 {
    (most - others_most) + (others_missing - missing)
}

impl Curves {
    /// Adds the curve of a design.
    pub fn push(&mut self, curve: Curve, ceilings: &[Ceiling]) -> Result<()> {
        check(curve, ceilings)?;
        self.curves.push(curve);
        self.ceilings.extend_from_slice(ceilings);
        self.ends.push(self.ceilings.len());
        self.bounds.push(Bounds::new(&Capped { curve, ceilings }));
        Ok(())
    }

    /// Number of designs.
    pub fn len(&self) -> usize {
        self.curves.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.curves.is_empty()
    }

    /// What each design is worth now.
    pub fn worths(&self) -> impl Iterator<Item = f64> + '_ {
        self.bounds.iter().map(|bounds| bounds.now[0] - bounds.now[1])
    }

    /// The expected gain of an observation that moves the means by `slopes` times Z. The candidate,
    /// where it is none of the designs, is one more design, with the last of the slopes.
    ///
    /// The derivatives are then in `work`, in units of the gain's e^(log_scale).
    pub fn gain(
        &self,
        candidate: Option<(Curve, &[Ceiling])>,
        slopes: &[f64],
        work: &mut Work,
    ) -> Result<Gain> {
        let count = self.len() + usize::from(candidate.is_some());
        check_shape("slopes of curves", count, slopes.len())?;
        check_finite("slope of a curve", slopes)?;
        let mut own = None;
        if let Some((curve, ceilings)) = candidate {
            check(curve, ceilings)?;
            let capped = Capped { curve, ceilings };
            own = Some((capped, Bounds::new(&capped)));
        }
        let family = Family { curves: self, own, slopes, magnitude: 0.0, log_steepness: 0.0 };
        let family = family.measure();
        work.clear(count, candidate.map_or(0, |(_, ceilings)| ceilings.len()));
        if count > 0 {
            let scan = Scan::new(&family);
            scan.list_near(&mut work.pieces);
            work.integrate(&family, scan.best);
            let near = work.gain.log();
            scan.list_far(near, &mut work.pieces, |far| integrated(&family, scan.best, far));
            work.integrate(&family, scan.best);
            work.normalise();
        }
        Ok(work.gain)
    }

    fn ceilings_of(&self, j: usize) -> &[Ceiling] {
        let start = if j == 0 { 0 } else { self.ends[j - 1] };
        &self.ceilings[start..self.ends[j]]
    }
}

fn check(curve: Curve, ceilings: &[Ceiling]) -> Result<()> {
    check_finite("curve", &[curve.level, curve.free, curve.mean, curve.variance])?;
    for c in ceilings {
        check_finite("ceiling", &[c.weight, c.mean, c.variance])?;
    }
    Ok(())
}

/// The curves with the candidate's as the last, as an observation would move them.
struct Family<'a> {
    curves: &'a Curves,
    own: Option<(Capped<'a>, Bounds)>,
    slopes: &'a [f64],
    /// Size of the numbers that are added up: what rounding is relative to.
    magnitude: f64,
    /// Logarithm of the most that one curve can gain on another while z changes by 1.
    log_steepness: f64,
}

impl Family<'_> {
    fn len(&self) -> usize {
        self.slopes.len()
    }

    fn capped(&self, j: usize) -> Capped<'_> {
        match self.own {
            Some((own, _)) if j == self.curves.len() => own,
            _ => Capped { curve: self.curves.curves[j], ceilings: self.curves.ceilings_of(j) },
        }
    }

    fn bounds(&self, j: usize) -> Bounds {
        match self.own {
            Some((_, bounds)) if j == self.curves.len() => bounds,
            _ => self.curves.bounds[j],
        }
    }

    fn parts(&self, j: usize, z: f64) -> [f64; 2] {
        self.capped(j).parts(self.slopes[j], z)
    }

    /// By how much one curve is above another.
    fn lead(&self, j: usize, other: usize, z: f64) -> f64 {
        above(self.parts(j, z), self.parts(other, z))
    }

    fn measure(self) -> Self {
        let size = |j: usize| {
            let Curve { level, mean, .. } = self.capped(j).curve;
            level.abs() + mean.abs()
        };
        let steepness = |j: usize| self.bounds(j).steepness * self.slopes[j].abs();
        let magnitude = (0..self.len()).map(size).fold(0.0, f64::max);
        let steepest = (0..self.len()).map(steepness).fold(0.0, f64::max);
        Self { magnitude, log_steepness: (2.0 * steepest).ln(), ..self }
    }

    /// Logarithm of the most that a curve can be above the best one at z, or nearer to zero.
    ///
    /// Both are within L |b| (|z| + 1) of what they are worth now, of which that of the best is larger.
    fn log_rise(&self, z: f64) -> f64 {
        self.log_steepness + z.abs().ln_1p()
    }
}

/// Nodes and weights of Gauss and Legendre on \[0, 1\].
const NODES: [[f64; 2]; 4] = [
    [0.069_431_844_202_973_71, 0.173_927_422_568_726_93],
    [0.330_009_478_207_571_87, 0.326_072_577_431_273_07],
    [0.669_990_521_792_428_1, 0.326_072_577_431_273_07],
    [0.930_568_155_797_026_3, 0.173_927_422_568_726_93],
];

/// Over a panel the density falls by at most a factor of e to this power.
const FALL: f64 = 1.5;

/// What is so much smaller, as a logarithm, adds nothing.
const NOTHING: f64 = 42.0;

/// No gain yet.
const NO_GAIN: Gain = Gain { scaled: 0.0, log_scale: f64::NEG_INFINITY };

/// Logarithm of the gain of these pieces alone.
fn integrated(family: &Family<'_>, best: usize, pieces: &mut [Piece]) -> f64 {
    let mut gain = NO_GAIN;
    integrate(family, best, pieces, &mut gain, |_, _, _| ());
    gain.log()
}

/// Adds the gain of these pieces, those of the largest density first. Calls `add` for each node with the
/// curve that is the highest there, the place, and the weight in units of the gain's e^(log_scale).
fn integrate(
    family: &Family<'_>,
    best: usize,
    pieces: &mut [Piece],
    gain: &mut Gain,
    mut add: impl FnMut(usize, f64, f64),
) {
    pieces.sort_by(|a, b| b.log_density().total_cmp(&a.log_density()));
    if gain.scaled == 0.0 {
        gain.log_scale = pieces.first().map_or(f64::NEG_INFINITY, Piece::log_density);
    }
    for piece in pieces {
        piece.integrate(family, best, gain, |z, weight| add(piece.top, z, weight));
    }
}

/// Buffers of an evaluation, to be reused, and the derivatives of the last gain.
#[derive(Debug, Clone)]
pub struct Work {
    pieces: Vec<Piece>,
    gain: Gain,
    slopes: Vec<f64>,
    own: Slopes,
}

impl Default for Work {
    fn default() -> Self {
        Self { pieces: vec![], gain: NO_GAIN, slopes: vec![], own: Slopes::default() }
    }
}

impl Work {
    /// Derivatives of the gain in how far the observation moves each mean.
    pub fn slopes(&self) -> &[f64] {
        &self.slopes
    }

    /// Derivatives of the gain in the candidate's curve; 0 where it is one of the designs.
    pub fn candidate(&self) -> &Slopes {
        &self.own
    }

    fn clear(&mut self, count: usize, ceilings: usize) {
        self.gain = NO_GAIN;
        self.pieces.clear();
        self.slopes.clear();
        self.slopes.resize(count, 0.0);
        self.own.clear(ceilings);
    }

    /// Adds the gain of all pieces and its derivatives, and drops the pieces.
    fn integrate(&mut self, family: &Family<'_>, best: usize) {
        let (mut pieces, mut gain) = (std::mem::take(&mut self.pieces), self.gain);
        integrate(family, best, &mut pieces, &mut gain, |top, z, weight| {
            self.share(family, top, z, weight);
            self.share(family, best, z, -weight);
        });
        pieces.clear();
        (self.pieces, self.gain) = (pieces, gain);
    }

    /// Makes everything ordinary numbers also where all rises are tiny.
    fn normalise(&mut self) {
        let factor = self.gain.scaled.recip();
        if factor.is_finite() {
            self.gain = Gain { scaled: 1.0, log_scale: self.gain.log() };
            self.slopes.iter_mut().for_each(|slope| *slope *= factor);
            self.own.scale(factor);
        }
    }

    fn share(&mut self, family: &Family<'_>, j: usize, z: f64, unit: f64) {
        let is_own = family.own.is_some() && j == family.curves.len();
        let own = is_own.then_some(&mut self.own);
        self.slopes[j] += family.capped(j).differentiate(family.slopes[j], z, unit, own);
    }
}

#[cfg(test)]
mod tests;
