//! The sum over break points, in units in which it does not underflow, and its derivatives.
//!
//! A break point at c between lines l and r counts A (b_r − b_l) f(−|c|). Its derivatives are
//! A φ(c) in b_r and the opposite in b_l; A Φ(−|c|) with the sign of c in a_r and the opposite in
//! a_l; and those of A in the candidate's fixed objectives times the rest.
//!
//! All are divided by φ at the crossing c* of the term that is about the largest, which makes them
//! ordinary numbers.

use super::arrangement::Units;
use super::sweep::Line;
use crate::envelope::{FARTHEST, FRAC_1_SQRT_TAU, Gain, NEGLIGIBLE};
use crate::normal;
use std::f64::consts::LN_2;

/// Where two lines cross that are neighbours on an envelope.
#[derive(Debug, Clone, Copy)]
pub(super) struct BreakPoint {
    /// Numbers of the lines of lower and higher slope.
    pub(super) left: u32,
    pub(super) right: u32,
    /// a_l − a_r and b_r − b_l.
    drop: f64,
    rise: f64,
    /// For how much of the fixed objectives they are neighbours.
    pub(super) area: f64,
    /// Derivatives of the area in the candidate's fixed objectives.
    pub(super) by_level: f64,
    pub(super) by_edge: f64,
    crossing: f64,
    /// φ at the crossing over φ(c*).
    density: f64,
}

/// The sum, and what its derivatives need.
#[derive(Debug)]
pub(super) struct Sum<'a> {
    pub(super) gain: Gain,
    break_points: &'a [BreakPoint],
    units: Units,
    /// Number of the candidate's line.
    own: u32,
}

/// Derivatives in what the candidate has besides its slope.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AtOwn {
    pub(super) height: f64,
    pub(super) level: f64,
    pub(super) edge: f64,
}

impl BreakPoint {
    pub(super) fn new(left: Line, right: Line) -> Self {
        Self {
            left: left.number,
            right: right.number,
            drop: left.height - right.height,
            rise: right.slope - left.slope,
            area: 0.0,
            by_level: 0.0,
            by_edge: 0.0,
            crossing: f64::INFINITY,
            density: 0.0,
        }
    }

    /// About the logarithm of its term: only the binary exponent of the factors counts.
    fn log_size(&self) -> f64 {
        let size = self.area * self.rise;
        let exponent = (size.to_bits() >> 52) as f64 - 1023.0;
        if size > 0.0 { LN_2 * exponent - 0.5 * self.crossing * self.crossing } else { f64::NAN }
    }
}

impl<'a> Sum<'a> {
    /// Adds up the terms; `None` if their sum is 0, even as a logarithm.
    pub(super) fn new(points: &'a mut [BreakPoint], units: Units, own: u32) -> Option<Self> {
        let stretch = power_of_two(exponent(units.slope) - exponent(units.height));
        let mut largest = (f64::NEG_INFINITY, f64::INFINITY);
        for point in points.iter_mut() {
            point.crossing = (point.drop / point.rise) * stretch;
            let size = point.log_size();
            if size > largest.0 {
                largest = (size, point.crossing.abs());
            }
        }
        let (_, peak) = largest;
        if peak > FARTHEST {
            return None;
        }
        let mut scaled = 0.0;
        for point in points.iter_mut() {
            let c = point.crossing.abs();
            // (c² − c*²)/2 without cancellation.
            let exponent = 0.5 * (c - peak) * (c + peak);
            if exponent > NEGLIGIBLE {
                continue;
            }
            // A term of no size may have a larger density, which only derivatives see.
            point.density = FRAC_1_SQRT_TAU * (-exponent.max(-LARGEST)).exp();
            scaled += point.area * point.excess();
        }
        let binary = exponent(units.slope) + exponent(units.level) + exponent(units.edge);
        let log_scale = -0.5 * peak * peak - LN_2 * f64::from(binary);
        Some(Self { gain: Gain { scaled, log_scale }, break_points: points, units, own })
    }

    /// Adds `factor` times the derivatives in the lines' slopes to `slopes`, and returns the others
    /// likewise; in units of e^(log_scale).
    pub(super) fn add_gradient(&self, factor: f64, slopes: &mut [f64]) -> AtOwn {
        let mut at_own = AtOwn::default();
        let in_lines = factor * self.units.slope;
        for point in self.break_points.iter().filter(|point| point.density > 0.0) {
            let by_slope = in_lines * (point.area * point.density);
            for (line, change) in [(point.left, -by_slope), (point.right, by_slope)] {
                // The reference is not among them.
                if let Some(slope) = slopes.get_mut(line as usize) {
                    *slope += change;
                }
            }
            if point.left == self.own || point.right == self.own {
                let tail = in_lines * (point.area * point.tail());
                let outward = (point.right == self.own) == (point.crossing >= 0.0);
                at_own.height += if outward { tail } else { -tail };
            }
            if point.by_level != 0.0 || point.by_edge != 0.0 {
                let excess = factor * point.excess();
                at_own.level += self.units.level * point.by_level * excess;
                at_own.edge += self.units.edge * point.by_edge * excess;
            }
        }
        at_own
    }
}

impl BreakPoint {
    /// (b_r − b_l) f(−|c|), scaled.
    fn excess(&self) -> f64 {
        self.rise * (self.density * normal::tail_excess_ratio(self.crossing.abs()))
    }

    /// Φ(−|c|), scaled.
    fn tail(&self) -> f64 {
        self.density * normal::mills(self.crossing.abs())
    }
}

/// e to this power is a number still.
const LARGEST: f64 = 700.0;

/// e of the power of two 2^e.
fn exponent(power: f64) -> i32 {
    (power.to_bits() >> 52) as i32 - 1023
}

/// 2^e, or the nearest to it that is a normal number.
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(((e.clamp(-1022, 1023) + 1023) as u64) << 52)
}
