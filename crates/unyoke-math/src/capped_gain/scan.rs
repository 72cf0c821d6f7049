//! Which curve is the highest where: pieces of the axis on which it is another than the one that is
//! best now.

use super::{Bounds, Ceiling, FALL, Family, NODES, NOTHING};
use crate::normal;

/// An interval on which one curve is the highest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    from: f64,
    to: f64,
    pub(super) top: usize,
    /// No panel on it is wider.
    panel: f64,
}

impl Piece {
    /// The logarithm of the largest density on it.
    pub(super) fn log_density(&self) -> f64 {
        let nearest = if self.from > 0.0 { self.from } else { self.to.min(0.0) };
        normal::log_pdf(nearest)
    }

    /// Calls `add` with nodes and weights for an integral over the normal density, in units of
    /// e^(log_scale), from the end of the largest density on.
    pub(super) fn nodes(&self, log_scale: f64, mut add: impl FnMut(f64, f64)) {
        // Away from zero, so that the density falls along the way.
        let outward = self.from + self.to >= 0.0;
        let (start, length) = (if outward { self.from } else { self.to }, self.to - self.from);
        let (mut done, sign) = (0.0, if outward { 1.0 } else { -1.0 });
        while done < length {
            let z = start + sign * done;
            if normal::log_pdf(z) < log_scale - NOTHING && z * sign > 0.0 {
                break;
            }
            let width = (FALL / z.abs()).min(self.panel).min(length - done);
            for [node, weight] in NODES {
                let z = z + sign * node * width;
                add(z, weight * width * (normal::log_pdf(z) - log_scale).exp());
            }
            // A width that rounding makes nothing of ends it.
            done = if done + width > done { done + width } else { length };
        }
    }
}

/// The widest panel, and the narrowest for curves that bend often.
const PANEL: f64 = 0.25;
const NARROW_PANEL: f64 = 0.05;

/// Where curves are compared first: this far to either side, this far apart. Between two such places
/// curves are nearly straight, apart from bends that are looked at separately.
const REACH: f64 = 8.0;
const STEP: f64 = 0.5;

/// Further out, by such a factor, up to here.
const STRIDE: f64 = 1.25;
const FARTHEST: f64 = 1e4;

/// Narrower bends than this get places of their own.
const BEND: f64 = 2.0 * STEP;
const MOST_CEILINGS: usize = 4;

/// Differences below this part of the numbers are rounding errors.
const ROUNDING: f64 = 1e-14;

/// Crossings within crossings that are looked for.
const DEPTH: usize = 24;
const TURNS: usize = 64;

/// A place with the curve that is the highest there.
#[derive(Debug, Clone, Copy)]
struct Place {
    z: f64,
    top: usize,
}

/// The curves, and the one that is best now.
pub(super) struct Scan<'a> {
    family: &'a Family<'a>,
    pub(super) best: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(family: &'a Family<'a>) -> Self {
        let now = |j: usize| family.bounds(j).now;
        let best = (0..family.len()).fold(0, |best, j| if now(j) > now(best) { j } else { best });
        Self { family, best }
    }

    /// Lists the pieces on which another curve is higher than the one that is best now. `log_gain`
    /// tells what some pieces are worth: what is negligible beside it is left out.
    pub(super) fn pieces(&self, pieces: &mut Vec<Piece>, log_gain: impl Fn(&[Piece]) -> f64) {
        let places: Vec<Place> = self.places().into_iter().map(|z| self.place(z)).collect();
        for pair in places.windows(2) {
            self.divide(pair[0], pair[1], DEPTH, pieces);
        }
        let mut found = log_gain(pieces);
        for sign in [-1.0, 1.0] {
            let mut last = self.place(sign * REACH);
            while last.z.abs() < FARTHEST && normal::log_pdf(last.z) > found - NOTHING {
                let next = self.place(last.z * STRIDE);
                let before = pieces.len();
                let ends = if sign > 0.0 { [last, next] } else { [next, last] };
                self.divide(ends[0], ends[1], DEPTH, pieces);
                if found == f64::NEG_INFINITY && pieces.len() > before {
                    found = log_gain(pieces);
                }
                last = next;
            }
        }
    }

    /// Where to look first, in order.
    fn places(&self) -> Vec<f64> {
        let count = (2.0 * REACH / STEP) as usize;
        let mut places: Vec<f64> = (0..=count).map(|i| i as f64 * STEP - REACH).collect();
        for j in 0..self.family.len() {
            self.add_bends(j, &mut places);
        }
        places.sort_by(f64::total_cmp);
        places.dedup_by(|b, a| *b - *a < 1e-9);
        places
    }

    /// Adds where a curve bends sharply, if it may be the highest there.
    fn add_bends(&self, j: usize, places: &mut Vec<f64>) {
        let (capped, slope) = (self.family.capped(j), self.family.slopes[j]);
        if slope == 0.0 || capped.ceilings.len() > MOST_CEILINGS {
            return;
        }
        let rest = (capped.curve.variance - slope * slope).max(0.0);
        let bounds = self.family.bounds(j);
        for Ceiling { mean, variance, .. } in capped.ceilings {
            let z = (mean - capped.curve.mean) / slope;
            let width = (rest + variance).sqrt() / slope.abs();
            let matters = || {
                let most = bounds.most(slope, excesses(z));
                j == self.best || most > self.family.at(self.best, z)
            };
            if width < BEND && z.abs() < REACH && matters() {
                let near = [-5.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 5.0].map(|t| z + t * width);
                places.extend(near.into_iter().filter(|z| z.abs() < REACH));
            }
        }
    }

    /// How wide panels may be for a curve: those with many ceilings bend anywhere, the sharper the less
    /// the observation leaves unknown.
    fn panel(&self, j: usize) -> f64 {
        let (capped, slope) = (self.family.capped(j), self.family.slopes[j]);
        if slope == 0.0 || capped.ceilings.len() <= MOST_CEILINGS {
            return PANEL;
        }
        let rest = (capped.curve.variance - slope * slope).max(0.0);
        let least = capped.ceilings.iter().map(|c| c.variance).fold(f64::INFINITY, f64::min);
        (0.5 * (rest + least).sqrt() / slope.abs()).clamp(NARROW_PANEL, PANEL)
    }

    /// The highest curve at z.
    fn place(&self, z: f64) -> Place {
        let (family, excesses) = (self.family, excesses(z));
        let (mut top, mut lead, height) = (self.best, 0.0, family.at(self.best, z));
        for j in (0..family.len()).filter(|j| *j != self.best) {
            let bounds: Bounds = family.bounds(j);
            if bounds.most(family.slopes[j], excesses) > height + lead {
                let own = self.lead_beyond_rounding(j, self.best, z);
                if own > lead {
                    (top, lead) = (j, own);
                }
            }
        }
        Place { z, top }
    }

    /// By how much one curve is above another; nothing where rounding may have made the difference.
    fn lead_beyond_rounding(&self, j: usize, other: usize, z: f64) -> f64 {
        let [lead, size] = self.family.lead_and_size(j, other, z);
        if lead > ROUNDING * size { lead } else { 0.0 }
    }

    /// Lists the pieces between two places. Where the highest curves there differ, they cross, and
    /// another one may be higher still at the crossing.
    fn divide(&self, from: Place, to: Place, depth: usize, pieces: &mut Vec<Piece>) {
        let mut list = |from: f64, to: f64, top: usize| {
            if top != self.best && to > from {
                pieces.push(Piece {
                    from,
                    to,
                    top,
                    panel: self.panel(top).min(self.panel(self.best)),
                });
            }
        };
        if from.top == to.top {
            return list(from.z, to.z, from.top);
        }
        let crossing = self.crossing(from, to);
        let middle = self.place(crossing);
        let is_new = middle.top != from.top
            && middle.top != to.top
            && self.lead_beyond_rounding(middle.top, from.top, crossing) > 0.0
            && self.lead_beyond_rounding(middle.top, to.top, crossing) > 0.0;
        if depth == 0 || !is_new || crossing <= from.z || crossing >= to.z {
            list(from.z, crossing, from.top);
            list(crossing, to.z, to.top);
            return;
        }
        self.divide(from, middle, depth - 1, pieces);
        self.divide(middle, to, depth - 1, pieces);
    }

    /// Where the highest curve of one place meets that of the other: by secants, with bisection
    /// where these are slow.
    fn crossing(&self, from: Place, to: Place) -> f64 {
        let lead = |z: f64| self.family.lead(from.top, to.top, z);
        let (mut a, mut b) = (from.z, to.z);
        let (mut at_a, mut at_b) = (lead(a), lead(b));
        if at_a <= 0.0 || at_b >= 0.0 {
            // A tie at one of the places.
            return if at_a <= 0.0 { a } else { b };
        }
        for turn in 0..TURNS {
            let secant = a + (b - a) * at_a / (at_a - at_b);
            let z = if turn % 2 == 1 { 0.5 * (a + b) } else { secant };
            if z <= a || z >= b {
                // The secant has arrived.
                return if at_a < -at_b { a } else { b };
            }
            let at_z = lead(z);
            if at_z > 0.0 {
                (a, at_a) = (z, at_z);
            } else {
                (b, at_b) = (z, at_z);
            }
            // What is left matters by its square.
            if at_z == 0.0 || b - a <= 1e-9 * (1.0 + b.abs()) {
                return z;
            }
        }
        0.5 * (a + b)
    }
}

/// f(z) and f(−z).
fn excesses(z: f64) -> [f64; 2] {
    let beyond = normal::expected_excess(-z.abs());
    if z > 0.0 { [z + beyond, beyond] } else { [beyond, beyond - z] }
}
