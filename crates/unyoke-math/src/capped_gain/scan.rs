//! Which curve is the highest where: pieces of the axis on which it is another than the one that is
//! best now.

use super::bend::{self, Bend, Extent, MOST_CEILINGS};
use super::{FALL, Family, NODES, NOTHING, above};
use crate::envelope::Gain;
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

    /// Adds the integral over the normal density of by how much the highest curve is above the best to
    /// `gain`, from the end of the largest density on. Calls `add` with places and weights.
    pub(super) fn integrate(
        &self,
        family: &Family<'_>,
        best: usize,
        gain: &mut Gain,
        mut add: impl FnMut(f64, f64),
    ) {
        // Away from zero, so that the density falls along the way.
        let outward = self.from + self.to >= 0.0;
        let (start, length) = (if outward { self.from } else { self.to }, self.to - self.from);
        let (mut done, sign) = (0.0, if outward { 1.0 } else { -1.0 });
        let first = (FALL / start.abs()).min(self.panel).min(length);
        let lead = |part: f64| family.lead(self.top, best, start + sign * part * first);
        let size = || [0.0, 0.5, 1.0].map(lead).into_iter().fold(0.0, f64::max);
        let extent = Extent { from: self.from, to: self.to, panel: self.panel };
        let bends = bend::obstacles(family, [self.top, best], extent, size);
        let log_rise = family.log_rise(self.from.abs().max(self.to.abs()));
        while done < length {
            let z = start + sign * done;
            // The rest of the piece is nothing beside what there is, or beside any number.
            let least = (gain.log() - NOTHING - log_rise).max(gain.log_scale - UNDERFLOW);
            if z * sign > 0.0 && normal::log_pdf(z) < least {
                break;
            }
            let width = (FALL / z.abs()).min(self.panel).min(length - done);
            let width = bends.iter().fold(width, |width, bend| bend.room(z, sign, width));
            for [node, weight] in NODES {
                let z = z + sign * node * width;
                let rise = family.lead(self.top, best, z);
                if rise > 0.0 {
                    let weight = weight * width * (normal::log_pdf(z) - gain.log_scale).exp();
                    gain.scaled += weight * rise;
                    add(z, weight);
                }
            }
            // A width that rounding makes nothing of ends it.
            done = if done + width > done { done + width } else { length };
        }
    }
}

/// Weights of which only this much is left, as a logarithm, are hardly numbers any more.
const UNDERFLOW: f64 = 700.0;

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

/// Differences below this part of the numbers are rounding errors.
const ROUNDING: f64 = 1e-14;

/// Crossings within crossings that are looked for.
const DEPTH: usize = 24;
const TURNS: usize = 128;

/// Crossings are found to this part of the distance over which a curve changes.
const PRECISE: f64 = 1e-9;

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
        let better = |best: usize, j: usize| if above(now(j), now(best)) > 0.0 { j } else { best };
        Self { family, best: (0..family.len()).fold(0, better) }
    }

    /// Lists the pieces on which another curve is higher than the one that is best now, up to `REACH`.
    pub(super) fn list_near(&self, pieces: &mut Vec<Piece>) {
        let places: Vec<Place> = self.places().into_iter().map(|z| self.place(z)).collect();
        for pair in places.windows(2) {
            self.divide(pair[0], pair[1], DEPTH, pieces);
        }
    }

    /// Lists those further out, as far as they matter beside those up to there, whose gain has this
    /// logarithm. Where there is none `log_gain` tells what the first ones found are worth.
    pub(super) fn list_far(
        &self,
        mut found: f64,
        pieces: &mut Vec<Piece>,
        log_gain: impl Fn(&mut [Piece]) -> f64,
    ) {
        for sign in [-1.0, 1.0] {
            let mut last = self.place(sign * REACH);
            while last.z.abs() < FARTHEST && self.may_add(last.z, found) {
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

    /// Whether what lies beyond z may matter beside a gain of this logarithm.
    fn may_add(&self, z: f64, log_gain: f64) -> bool {
        normal::log_pdf(z) + self.family.log_rise(z) > log_gain - NOTHING
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
        let bounds = self.family.bounds(j);
        for Bend { z, width, .. } in bend::of_curve(&capped, slope) {
            let matters = || {
                let height = self.family.parts(self.best, z);
                j == self.best || bounds.most_above(height, slope, excesses(z)) > 0.0
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
        let rest = capped.rest(slope);
        let least = capped.ceilings.iter().map(|c| c.variance).fold(f64::INFINITY, f64::min);
        (0.5 * (rest + least).sqrt() / slope.abs()).clamp(NARROW_PANEL, PANEL)
    }

    /// The highest curve at z.
    fn place(&self, z: f64) -> Place {
        let (family, excesses) = (self.family, excesses(z));
        let (mut top, mut lead, height) = (self.best, 0.0, family.parts(self.best, z));
        for j in (0..family.len()).filter(|j| *j != self.best) {
            if family.bounds(j).most_above(height, family.slopes[j], excesses) > lead {
                let own = self.beyond_rounding(family.parts(j, z), height);
                if own > lead {
                    (top, lead) = (j, own);
                }
            }
        }
        Place { z, top }
    }

    /// By how much one value is above another, both in parts; nothing where rounding may have made the
    /// difference.
    fn beyond_rounding(&self, own: [f64; 2], other: [f64; 2]) -> f64 {
        let missing = own[1] + other[1];
        // Under the same ceiling nothing else is left.
        let size = if own[0] == other[0] { missing } else { missing + self.family.magnitude };
        let lead = above(own, other);
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
        let leads = |other: usize| {
            let parts = |j: usize| self.family.parts(j, crossing);
            middle.top != other && self.beyond_rounding(parts(middle.top), parts(other)) > 0.0
        };
        let is_new = leads(from.top) && leads(to.top);
        if depth == 0 || !is_new || crossing <= from.z || crossing >= to.z {
            list(from.z, crossing, from.top);
            list(crossing, to.z, to.top);
            return;
        }
        self.divide(from, middle, depth - 1, pieces);
        self.divide(middle, to, depth - 1, pieces);
    }

    /// Where the highest curve of one place meets that of the other: by inverse parabolas, with bisection
    /// where these are not to be trusted (Chandrupatla 1997).
    fn crossing(&self, from: Place, to: Place) -> f64 {
        let lead = |z: f64| self.family.lead(from.top, to.top, z);
        // Of the last two points one is on either side; the third was one of them before.
        let (mut new, mut old) = ((from.z, lead(from.z)), (to.z, lead(to.z)));
        if new.1 <= 0.0 || old.1 >= 0.0 {
            // A tie at one of the places.
            return if new.1 <= 0.0 { from.z } else { to.z };
        }
        let mut part = 0.5;
        for _ in 0..TURNS {
            let z = new.0 + part * (old.0 - new.0);
            let at = (z, lead(z));
            let third;
            if (at.1 > 0.0) == (new.1 > 0.0) {
                third = new;
            } else {
                (third, old) = (old, new);
            }
            new = at;
            // What is left matters by its square, but derivatives are largest there.
            let least =
                PRECISE * self.grain(from, to, z).min(1.0 + z.abs()) / (old.0 - new.0).abs();
            if new.1 == 0.0 || least >= 1.0 {
                return z;
            }
            part = inverse_parabola(new, old, third)
                .unwrap_or(0.5)
                .clamp(0.5 * least, 1.0 - 0.5 * least);
        }
        0.5 * (new.0 + old.0)
    }

    /// The distance over which the highest curves of two places change around z.
    fn grain(&self, from: Place, to: Place, z: f64) -> f64 {
        let of_curve = |j: usize| {
            let capped = self.family.capped(j);
            let bends = bend::of_curve(&capped, self.family.slopes[j]);
            bends.map(|bend| bend.grain(z)).fold(1.0, f64::min)
        };
        of_curve(from.top).min(of_curve(to.top))
    }
}

/// Where between two points the parabola z(lead) through three of them is at 0, as a part of the way, if
/// it rises or falls throughout.
fn inverse_parabola(new: (f64, f64), old: (f64, f64), third: (f64, f64)) -> Option<f64> {
    let xi = (new.0 - old.0) / (third.0 - old.0);
    let phi = (new.1 - old.1) / (third.1 - old.1);
    if phi * phi >= xi || (1.0 - phi) * (1.0 - phi) >= 1.0 - xi {
        return None;
    }
    let ratio = |a: f64, b: f64| a / (b - a);
    let part = ratio(new.1, old.1) * third.1 / (old.1 - third.1)
        + (third.0 - new.0) / (old.0 - new.0) * ratio(new.1, third.1) * old.1 / (third.1 - old.1);
    part.is_finite().then_some(part)
}

/// f(z) and f(−z).
fn excesses(z: f64) -> [f64; 2] {
    let beyond = normal::expected_excess(-z.abs());
    if z > 0.0 { [z + beyond, beyond] } else { [beyond, beyond - z] }
}
