//! Values that are separated from all others, what their neighbours say to them, and what they count
//! as. No model is asked here; that is in `outliers`.

use super::Row;
use super::subset::squared_distance;
use super::tails::Tail;
use std::f64::consts::PI;

/// A value is suspect from so many spreads on, and clipped from so many.
const SUSPECT: f64 = 2.0;
const CLIPPED: f64 = 10.0;

/// So many nearest rows must be free of suspicion for neighbours to contradict a value.
const NEIGHBOURS: usize = 2;

/// Of the unit cube, the part that a feature fills which is as rarely hit as values are wrong.
const RARE: f64 = 0.01;

/// Neighbours contradict a value that is so many standard deviations away from what they make one
/// expect.
const IMPOSSIBLE: f64 = 6.0;

/// A place is known where the variance is at most this part of what it is without data.
const KNOWN: f64 = 0.25;

/// What an output's rows say before a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Suspects {
    /// For each row its side, if it is suspect.
    sides: Vec<Option<Side>>,
}

/// Which end of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Low,
    High,
}

/// A suspect that its neighbours do not confirm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lonely {
    /// Its row.
    pub(super) row: usize,
    /// Whether neighbours are near enough to contradict it by themselves.
    has_near_neighbour: bool,
    /// Whether it is enough that the model knows the place.
    is_bad: bool,
}

/// What a model of the other values expects at the place of a suspect, standardised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    /// By how much the value differs from it.
    pub(super) error: f64,
    /// Variance of the function there.
    pub(super) variance: f64,
    /// Variance of the function anywhere, without data.
    pub(super) prior: f64,
    /// Noise variance of the value.
    pub(super) noise: f64,
}

/// A value that counts as another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clipped {
    pub(crate) evaluation: u64,
    pub(crate) value: f64,
    pub(crate) counts_as: f64,
}

impl Suspects {
    pub(super) fn of(rows: &[Row<'_>]) -> Self {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|i, j| rows[*i].value.total_cmp(&rows[*j].value));
        let values: Vec<f64> = order.iter().map(|i| rows[*i].value).collect();
        let mut sides = vec![None; rows.len()];
        let most = rows.len() / 4;
        let low = Tail::low(&values, most, SUSPECT).map_or(0, |tail| tail.count);
        let high = Tail::low(&mirrored(&values), most, SUSPECT).map_or(0, |tail| tail.count);
        order.iter().take(low).for_each(|i| sides[*i] = Some(Side::Low));
        order.iter().rev().take(high).for_each(|i| sides[*i] = Some(Side::High));
        Self { sides }
    }

    /// The rows without suspicion.
    pub(super) fn ordinary<'a>(&self, rows: &[Row<'a>]) -> Vec<Row<'a>> {
        let rows = rows.iter().zip(&self.sides);
        rows.filter(|(_, side)| side.is_none()).map(|(row, _)| *row).collect()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.sides.iter().flatten().count()
    }

    /// Those that no neighbour confirms; `parameters` is the number of them.
    pub(super) fn lonely(
        &self,
        rows: &[Row<'_>],
        parameters: usize,
        is_constraint: bool,
    ) -> Vec<Lonely> {
        let near = radius_of_rare(parameters);
        let lonely = |(row, side): (usize, &Option<Side>)| {
            let side = (*side)?;
            let mut others: Vec<(f64, usize)> = (0..rows.len())
                .filter(|other| *other != row)
                .map(|other| (squared_distance(rows[row].x, rows[other].x), other))
                .collect();
            others.sort_by(|a, b| a.0.total_cmp(&b.0));
            let is_ordinary = |(_, other): &&(f64, usize)| self.sides[*other].is_none();
            let confirms = |(_, other): &(f64, usize)| self.sides[*other] == Some(side);
            let nearest = others.iter().find(is_ordinary)?.0;
            // Another value of the very same design says more than all neighbours.
            let is_repeated = nearest == 0.0;
            let is_confirmed = others.iter().take(NEIGHBOURS).any(confirms);
            (is_repeated || !is_confirmed).then_some(Lonely {
                row,
                has_near_neighbour: nearest <= near * near,
                is_bad: side == Side::Low || is_constraint,
            })
        };
        self.sides.iter().enumerate().filter_map(lonely).collect()
    }
}

impl Lonely {
    /// Whether what its neighbours make one expect rules out the value.
    pub(super) fn is_contradicted(&self, expected: &Expected) -> bool {
        let Expected { error, variance, prior, noise } = *expected;
        let is_impossible = error.abs() >= IMPOSSIBLE * (variance + noise).sqrt();
        let is_known = self.is_bad && variance <= KNOWN * prior;
        is_impossible && (self.has_near_neighbour || is_known)
    }
}

/// Clips values that are far out on the bad side, of a constraint on both sides.
pub(super) fn clip(rows: &mut [Row<'_>], limit: Option<f64>) -> Vec<Clipped> {
    let mut sorted: Vec<f64> = rows.iter().map(|row| row.value).collect();
    sorted.sort_by(f64::total_cmp);
    let floor = floor(&sorted, limit).unwrap_or(f64::NEG_INFINITY);
    // What is too good for a constraint is too bad for its mirror image.
    let ceiling = limit.and_then(|limit| floor_of_mirrored(&sorted, limit));
    let ceiling = ceiling.unwrap_or(f64::INFINITY);
    let mut clipped = vec![];
    for row in rows.iter_mut().filter(|row| row.value < floor || row.value > ceiling) {
        let counts_as = if row.value < floor { floor } else { ceiling };
        clipped.push(Clipped { evaluation: row.evaluation, value: row.value, counts_as });
        row.value = counts_as;
    }
    clipped.sort_by_key(|one| one.evaluation);
    clipped
}

/// What values on the low side count as at least, if some are far out; not on the other side of the
/// limit.
fn floor(sorted: &[f64], limit: Option<f64>) -> Option<f64> {
    let tail = Tail::low(sorted, sorted.len().saturating_sub(1) / 2, CLIPPED)?;
    Some(limit.map_or(tail.fence(), |limit| tail.fence().min(tail.below(limit))))
}

fn floor_of_mirrored(sorted: &[f64], limit: f64) -> Option<f64> {
    floor(&mirrored(sorted), Some(-limit)).map(|floor| -floor)
}

/// Ascending values turned around.
fn mirrored(sorted: &[f64]) -> Vec<f64> {
    sorted.iter().rev().map(|value| -value).collect()
}

/// The radius of a ball that fills [`RARE`] of the unit cube.
fn radius_of_rare(parameters: usize) -> f64 {
    // V₀ = 1, V₁ = 2, Vₙ = 2π/n · Vₙ₋₂.
    let first = parameters % 2;
    let volume = (first + 2..=parameters).step_by(2).map(|n| 2.0 * PI / n as f64);
    let volume = volume.product::<f64>() * if first == 1 { 2.0 } else { 1.0 };
    (RARE / volume).powf(1.0 / parameters.max(1) as f64)
}
