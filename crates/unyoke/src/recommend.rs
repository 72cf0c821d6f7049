//! The predicted Pareto set: NSGA-II on the posterior means; and what was measured, which no mere
//! prediction displaces.
//!
//! A front of a few points is chosen from it by what decision makers lose who have to choose among
//! these points, and only then by how evenly they are spread: evenly spread points may all lie
//! beside those that people with linear utilities want.

use crate::config::FrontSearch;
use crate::design::Design;
use crate::discretise::{best_utility, filling};
use crate::error::Result;
use crate::model::subset::{add_farthest, distinct};
use crate::model::{Caution, Expected, Model};
use crate::space::Space;
use rayon::prelude::*;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use unyoke_math::Points;
use unyoke_math::nsga2::Nsga2;
use unyoke_math::optimize::largest;
use unyoke_math::pareto::{dominates, non_dominated, thin};

/// The predicted Pareto set, or the part of it that decision makers lose least with, and designs that
/// were measured and that no prediction is certain to beat.
///
/// ```
/// use unyoke::{Design, Problem, Study};
///
/// let problem =
///     Problem::builder().continuous("x", 0.0, 1.0).maximise("f", 1.0).minimise("g", 5.0).build()?;
/// let mut study = Study::new(problem)?;
/// for x in [0.0, 0.3, 0.6, 1.0] {
///     study.tell_result(Design::new().with("x", x), "f", x)?;
///     study.tell_result(Design::new().with("x", x), "g", x * x)?;
/// }
/// for point in study.front(5)?.points {
///     let [f, g] = &point.outputs[..] else { continue };
///     println!("{}: f = {:.2} ± {:.2}, g = {:.2} ± {:.2}", point.design, f.mean, f.sd, g.mean, g.sd);
/// }
/// # Ok::<(), unyoke::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Front {
    /// The outputs' names, in the order of each point's predictions.
    pub outputs: Vec<String>,
    /// Designs that are best for some trade-off, as far as the models can tell.
    pub points: Vec<FrontPoint>,
}

/// A design of the predicted Pareto set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FrontPoint {
    /// The design.
    pub design: Design,
    /// What is known about each output there.
    pub outputs: Vec<Forecast>,
    /// The probability that all constraints hold and no run fails there; `None` where there are no
    /// constraints and nothing has failed.
    pub feasibility: Option<f64>,
}

impl FrontPoint {
    /// Whether every output was measured at this very design, or is a formula.
    pub fn is_measured(&self) -> bool {
        self.outputs.iter().all(|forecast| forecast.is_formula || !forecast.measured.is_empty())
    }
}

/// A design of the predicted Pareto set, and what is expected of the objectives there: for whoever
/// needs many designs and no more about each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expectation {
    /// The design.
    pub design: Design,
    /// What is expected of each objective, in its own units.
    pub means: Vec<f64>,
    /// What decision makers go by when they choose among designs, by [`Config::recommendations`]: the same,
    /// or less.
    ///
    /// [`Config::recommendations`]: crate::Config::recommendations
    pub choices: Vec<f64>,
}

/// An output at a design: what is expected, and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// Expected value, in the output's own units; not a number where a formula has no value.
    pub mean: f64,
    /// Standard deviation of that expectation (observation noise not included), by the errors that the
    /// model has made so far. On a log scale half the distance from `low` to `high`.
    pub sd: f64,
    /// One standard deviation below the expected value, in the output's own units.
    pub low: f64,
    /// One standard deviation above the expected value.
    pub high: f64,
    /// Between these the true value lies in nine cases of ten, if the model is right about its errors.
    pub interval: [f64; 2],
    /// Values measured at this very design.
    pub measured: Vec<f64>,
    /// Whether it is a formula of the parameters, known everywhere.
    pub is_formula: bool,
}

impl Forecast {
    /// That a formula has this value, which is certain.
    pub(crate) fn of_formula(value: f64) -> Self {
        let (low, high, interval) = (value, value, [value; 2]);
        Self { mean: value, sd: 0.0, low, high, interval, measured: vec![], is_formula: true }
    }
}

/// What was measured: the designs at which every output was, which are feasible by what was measured, and
/// of which none is better in everything.
///
/// ```
/// use unyoke::{Design, Problem, Study};
///
/// let problem = Problem::builder().continuous("x", 0.0, 1.0);
/// let problem = problem.minimise("f", 1.0).minimise("g", 5.0).build()?;
/// let mut study = Study::new(problem)?;
/// for (x, f, g) in [(0.2, 1.0, 3.0), (0.5, 2.0, 2.0), (0.9, 2.5, 2.5)] {
///     study.tell_result(Design::new().with("x", x), "f", f)?;
///     study.tell_result(Design::new().with("x", x), "g", g)?;
/// }
/// let found: Vec<Option<f64>> =
///     study.measured_front()?.points.iter().map(|point| point.design.real("x")).collect();
/// assert_eq!(found, [Some(0.2), Some(0.5)]);
/// # Ok::<(), unyoke::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredFront {
    /// The outputs' names, in the order of each point's values.
    pub outputs: Vec<String>,
    /// The designs, in the order in which they were first measured.
    pub points: Vec<MeasuredPoint>,
}

/// A design at which every output was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredPoint {
    /// The design.
    pub design: Design,
    /// What was measured of each output there.
    pub outputs: Vec<Average>,
}

/// How the predictions of recommended designs held up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confirmation {
    /// How many records the journal had when the designs were recommended.
    pub round: u64,
    /// Each value that was measured since to confirm them, in the order in which these arrived.
    pub values: Vec<ConfirmedValue>,
}

impl Confirmation {
    /// How many values lie inside the intervals that were predicted.
    pub fn inside(&self) -> usize {
        self.values.iter().filter(|value| value.is_inside()).count()
    }
}

/// A value of a recommended design, and what was predicted of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfirmedValue {
    /// The evaluation that gave it.
    pub evaluation: u64,
    /// The design.
    pub design: Design,
    /// The output.
    pub output: String,
    /// The expected value.
    pub mean: f64,
    /// The interval that was to hold the measured value in nine cases of ten, noise included.
    pub interval: [f64; 2],
    /// What came out.
    pub measured: f64,
}

impl ConfirmedValue {
    /// Whether it came out as predicted.
    pub fn is_inside(&self) -> bool {
        (self.interval[0]..=self.interval[1]).contains(&self.measured)
    }
}

/// How much of what the front offers had been found after an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Milestone {
    /// The evaluation that gave values.
    pub evaluation: u64,
    /// From 0, as bad as the worst choice from the front, to 1, as good as the front: the mean over decision
    /// makers of the best design that had been evaluated by then, as models judge it now.
    pub share: f64,
}

/// What was measured of an output at a design, once or more often.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Average {
    /// The value; of several, their average, those with smaller standard errors counting for more. On a
    /// log scale the average of logarithms.
    pub value: f64,
    /// Its standard error; `None` where there is no noise.
    pub sd: Option<f64>,
    /// The single values, in the order in which they arrived; empty for a formula.
    pub measured: Vec<f64>,
}

/// Encoded designs that no other is predicted to dominate, at most `count`, well spread.
pub(crate) fn predicted_pareto_set(
    space: &Space,
    model: &Model,
    observed: &Points,
    search: FrontSearch,
    count: usize,
) -> Result<Points> {
    bred(space, model, &seeds(space, model, observed)?, &genetic(search), count)
}

/// Most inputs of a problem in which a screening leaves no part of a front undiscovered.
const SCREENED_INPUTS: usize = 2;
/// Designs of a screening.
const SCREENED: usize = 2000;
/// Generations that follow it, at most, and the share of offspring that they have beside their parents: nearly as
/// large a hypervolume of what is predicted as a hundred ordinary generations find (docs/performance.md).
const GENERATIONS: usize = 16;
const NEARBY: f64 = 0.4;

/// All encoded designs found that no other is predicted to dominate. With two objectives and few inputs,
/// where these can be screened and fronts are curves, a sixth of the generations will do.
pub(crate) fn screened_pareto_set(
    space: &Space,
    model: &Model,
    observed: &Points,
    search: FrontSearch,
) -> Result<Points> {
    if model.objectives.len() != 2 || space.dim() > SCREENED_INPUTS {
        return predicted_pareto_set(space, model, observed, search, usize::MAX);
    }
    let mut seeds = seeds(space, model, observed)?;
    filling(space, SCREENED, 0)?.rows().try_for_each(|x| seeds.push(x))?;
    let generations = search.generations.min(GENERATIONS);
    let nsga2 = Nsga2 { generations, nearby: NEARBY, ..genetic(search) };
    bred(space, model, &seeds, &nsga2, usize::MAX)
}

fn genetic(FrontSearch { population, generations }: FrontSearch) -> Nsga2 {
    Nsga2 { population, generations, offspring: population, ..Nsga2::default() }
}

/// What a genetic algorithm makes of the `seeds`.
fn bred(
    space: &Space,
    model: &Model,
    seeds: &Points,
    nsga2: &Nsga2,
    count: usize,
) -> Result<Points> {
    let objectives = model.objectives.len();
    let found = nsga2.run(space.dim(), seeds, 0, |designs| {
        let valid = space.snapped(designs);
        // A wrong shape makes the search end with its error.
        penalised(space, model, &valid).unwrap_or_else(|_| Points::new(objectives))
    })?;
    let designs = space.snapped(&found.designs);
    let designs = designs.select(&recommendable(space, model, &designs)?);
    let means = model.worths(&designs)?;
    // Of designs with the same expectations one will do.
    let different = distinct(&rounded(&means));
    let (designs, means) = (designs.select(&different), means.select(&different));
    let front = non_dominated(&means)?;
    let kept = if front.len() > count { thin(&means, &front, count)? } else { front };
    Ok(designs.select(&kept))
}

/// Means with which every other design dominates those that are likely infeasible or not allowed.
fn penalised(space: &Space, model: &Model, designs: &Points) -> Result<Points> {
    const NOT_ALLOWED: f64 = 1e7;
    let mut means = model.expected(designs)?.penalised(model);
    if space.is_limited() {
        let mut slopes = vec![0.0; designs.dim()];
        for (i, x) in designs.rows().enumerate().filter(|(_, x)| !space.allows(x)) {
            let violation = space.violation(x, &mut slopes).min(1.0);
            means.row_mut(i).iter_mut().for_each(|mean| *mean -= NOT_ALLOWED * (1.0 + violation));
        }
    }
    Ok(means)
}

/// Which designs are allowed and at least as likely to be feasible as not.
fn recommendable(space: &Space, model: &Model, designs: &Points) -> Result<Vec<usize>> {
    let feasible = model.expected(designs)?.are_feasible();
    let recommendable = |i: &usize| feasible[*i] && space.allows(designs.row(*i));
    Ok((0..designs.len()).filter(recommendable).collect())
}

/// Designs at which every output was measured, feasible by that.
pub(crate) struct Measurements {
    /// Encoded.
    pub(crate) designs: Points,
    /// Standardised values of the objectives where these are known exactly.
    pub(crate) values: Vec<Vec<Option<f64>>>,
}

/// What takes the place of a measured design must be better even if it turns out as low as this.
const CERTAIN: f64 = 0.95;

/// Designs of which each is best for somebody, as far as is known.
#[derive(Clone)]
pub(crate) struct Candidates {
    designs: Points,
    expected: Expected,
    /// What they are chosen by, where that is not what is expected.
    steady: Option<Expected>,
    /// What each is worth in each objective.
    worths: Points,
    /// The first so many were measured.
    measured: usize,
}

impl Candidates {
    /// Those of the `found` designs that no other is expected to dominate, and those of the measured ones
    /// that no other measured one dominates, nor a found one beyond its uncertainty.
    pub(crate) fn new(model: &Model, found: &Points, measured: &Measurements) -> Result<Self> {
        let is_new = |i: &usize| !measured.designs.rows().any(|x| x == found.row(*i));
        let found = found.select(&(0..found.len()).filter(is_new).collect::<Vec<_>>());
        let mut known = model.expected(&measured.designs)?;
        measured.values.iter().enumerate().for_each(|(i, values)| known.settle(i, values));
        let worths = known.worths(model);
        let mut best = non_dominated(&worths)?;
        if !best.is_empty() {
            let feared = model.feared(&found, Caution::at(CERTAIN))?.worths(model);
            best.retain(|i| !feared.rows().any(|other| dominates(other, worths.row(*i))));
        }
        let mut designs = measured.designs.select(&best);
        for x in found.rows() {
            designs.push(x)?;
        }
        let expected = known.select(&best).and(model.expected(&found)?)?;
        let mut steady = model.steadily_expected(&designs)?;
        for (i, place) in best.iter().enumerate() {
            steady.iter_mut().for_each(|steady| steady.settle(i, &measured.values[*place]));
        }
        let worths = expected.worths(model);
        let is_found = |i: &usize| *i >= best.len();
        let front = non_dominated(&worths)?.into_iter().filter(is_found);
        let front: Vec<usize> = (0..best.len()).chain(front).collect();
        // Of designs with the same expectations, or that differ only beyond what is enough, one will do:
        // the one that was measured.
        let kept = first_of_equals(&rounded(&worths), &front);
        Ok(Self {
            designs: designs.select(&kept),
            expected: expected.select(&kept),
            steady: steady.map(|steady| steady.select(&kept)),
            worths: worths.select(&kept),
            measured: kept.iter().filter(|i| **i < best.len()).count(),
        })
    }

    /// The value of each to a decision maker, by which one is chosen.
    pub(crate) fn utilities(&self, model: &Model, weights: &[f64]) -> Vec<f64> {
        self.steady.as_ref().unwrap_or(&self.expected).utilities(model, weights)
    }

    /// Standardised values of the objectives that designs are chosen by, a row per design.
    pub(crate) fn choices(&self) -> &Points {
        &self.steady.as_ref().unwrap_or(&self.expected).means
    }

    /// Standardised means of the objectives, a row per design.
    pub(crate) fn means(&self) -> &Points {
        &self.expected.means
    }

    /// All of them, encoded; those that were measured come first.
    pub(crate) fn designs(&self) -> &Points {
        &self.designs
    }

    /// At most `count`: half of them those with which decision makers, `weights` a row each, lose least,
    /// then those that were measured, then others, spread over the front.
    pub(crate) fn recommended(self, model: &Model, weights: &Points, count: usize) -> Self {
        if self.designs.len() <= count {
            return self;
        }
        let mut chosen = least_loss(&self.all_utilities(model, weights), count.div_ceil(2));
        let (all, scaled): (Vec<usize>, Points) =
            ((0..self.designs.len()).collect(), in_ranges(&self.worths));
        add_farthest(&scaled, &mut chosen, &all[..self.measured], count);
        add_farthest(&scaled, &mut chosen, &all, count);
        chosen.sort_unstable();
        Self {
            designs: self.designs.select(&chosen),
            expected: self.expected.select(&chosen),
            steady: self.steady.map(|steady| steady.select(&chosen)),
            worths: self.worths.select(&chosen),
            measured: chosen.iter().filter(|i| **i < self.measured).count(),
        }
    }

    /// A row for each design with its expected value to each decision maker.
    pub(crate) fn all_utilities(&self, model: &Model, weights: &Points) -> Points {
        if model.worth.is_none() {
            return model.weigh_all(weights, &self.worths);
        }
        let mut utilities = Points::zeros(weights.len(), self.designs.len());
        for (q, row) in weights.rows().enumerate() {
            for (i, utility) in self.expected.utilities(model, row).into_iter().enumerate() {
                utilities.row_mut(i)[q] = utility;
            }
        }
        utilities
    }

    /// The designs that were not measured, encoded, in the order in which measuring them is worth most:
    /// each adds most, per unit of what that `costs`, to what decision makers have with those before it.
    pub(crate) fn to_confirm(
        &self,
        model: &Model,
        weights: &Points,
        costs: impl Fn(&[f64]) -> Result<f64>,
    ) -> Result<Vec<Vec<f64>>> {
        let utilities = self.all_utilities(model, weights);
        let mut left: Vec<usize> = (self.measured..self.designs.len()).collect();
        let prices = left.iter().map(|i| costs(self.designs.row(*i)));
        let prices: Vec<f64> = prices.collect::<Result<_>>()?;
        let price = |i: usize| prices[i - self.measured];
        left.retain(|i| price(*i).is_finite());
        let mut reached = worst_of(&utilities);
        let have = |reached: &mut [f64], i: usize| {
            let row = utilities.row(i).iter();
            reached.iter_mut().zip(row).for_each(|(reached, u)| *reached = reached.max(*u));
        };
        (0..self.measured).for_each(|i| have(&mut reached, i));
        let mut ordered = vec![];
        while !left.is_empty() {
            let gain = |i: &usize| gain(&utilities, &reached, *i) / price(*i);
            let gains: Vec<f64> = left.iter().map(gain).collect();
            let next = left.remove(largest(&gains, 1).first().map_or(0, |place| *place));
            have(&mut reached, next);
            ordered.push(self.designs.row(next).to_vec());
        }
        Ok(ordered)
    }
}

/// Expectations without what nobody could measure: the models of two objectives that always agree
/// differ in the last digits, and every design is then best for somebody.
fn rounded(means: &Points) -> Points {
    const STEPS: f64 = 1e7;
    let mut rounded = means.clone();
    rounded.as_flat_mut().iter_mut().for_each(|mean| *mean = (*mean * STEPS).round() / STEPS);
    rounded
}

/// Those of `places` whose rows are different.
fn first_of_equals(rows: &Points, places: &[usize]) -> Vec<usize> {
    distinct(&rows.select(places)).into_iter().map(|i| places[i]).collect()
}

/// What counts as no gain: a fraction of what one standard deviation in every objective is worth.
const NEGLIGIBLE: f64 = 1e-6;

/// The designs `found`, and for each of `weights` the best one where it is better than all others.
pub(crate) fn with_best_for_weights(
    space: &Space,
    model: &Model,
    found: Points,
    weights: &Points,
) -> Result<Points> {
    if found.is_empty() {
        return Ok(found);
    }
    let weights = weights.select(&distinct(weights));
    let mut designs = found;
    let expected = model.expected(&designs)?;
    let means = expected.worths(model);
    let climb = |q: usize| -> Result<(f64, Vec<f64>)> {
        let values = model.weigh_expected(weights.row(q), &expected, &means);
        let start = largest(&values, 1).first().map_or(0, |i| *i);
        let top = best_utility(space, model, weights.row(q), designs.row(start))?;
        Ok((values.into_iter().fold(f64::NEG_INFINITY, f64::max), top))
    };
    let climbed: Result<Vec<(f64, Vec<f64>)>> =
        (0..weights.len()).into_par_iter().map(climb).collect();
    let (found_best, tops): (Vec<f64>, Vec<Vec<f64>>) = climbed?.into_iter().unzip();
    let tops = Points::from_rows(designs.dim(), tops)?;
    let possible = recommendable(space, model, &tops)?;
    let of_tops = model.expected(&tops)?;
    let top_means = of_tops.worths(model);
    let mut added: Vec<usize> = vec![];
    for (q, weights) in weights.rows().enumerate() {
        let of_added = match model.worth {
            None => model.weigh(weights, &top_means.select(&added)),
            Some(_) => of_tops.select(&added).utilities(model, weights),
        };
        let best = of_added.into_iter().fold(found_best[q], f64::max);
        let value =
            model.weigh_expected(weights, &of_tops.select(&[q]), &top_means.select(&[q]))[0];
        let unit = model.unit(weights);
        if value > best + NEGLIGIBLE * unit && possible.contains(&q) {
            designs.push(tops.row(q))?;
            added.push(q);
        }
    }
    Ok(designs)
}

/// Up to `count` options, each the one that most raises the sum over columns of the largest utility
/// of those chosen, of several the first; fewer where no other raises it. `utilities` has a row for
/// each option.
///
/// What an option adds only shrinks as others are chosen, so that most sums need no update (Minoux
/// 1978). The choice gains at least 1 − 1/e of what the best one would.
fn least_loss(utilities: &Points, count: usize) -> Vec<usize> {
    let mut reached = worst_of(utilities);
    let offer = |i| Offer { gain: gain(utilities, &reached, i), option: i, columns: None };
    let mut offers: BinaryHeap<Offer> = (0..utilities.len()).map(offer).collect();
    let mut chosen = Vec::new();
    while let Some(mut next) = offers.pop().filter(|best| best.gain > 0.0) {
        if chosen.len() == count {
            break;
        }
        let row = utilities.row(next.option);
        next.update(row, &reached);
        if offers.peek().is_some_and(|other| *other > next) {
            offers.push(next);
        } else if next.gain > 0.0 {
            reached.iter_mut().zip(row).for_each(|(reached, u)| *reached = reached.max(*u));
            chosen.push(next.option);
        }
    }
    chosen
}

/// What an option was found to add; the greatest offer is the first of those that add most.
struct Offer {
    gain: f64,
    option: usize,
    /// Where it may add something, once that was looked at: elsewhere it never will again.
    columns: Option<Vec<usize>>,
}

impl Offer {
    /// Finds out what it adds to what is reached now: as [`gain`] does, to the bit.
    fn update(&mut self, utilities: &[f64], reached: &[f64]) {
        let mut gain = 0.0;
        let mut adds = |q: &usize| {
            let more = utilities[*q] - reached[*q];
            if more > 0.0 {
                gain += more;
            }
            more > 0.0
        };
        match &mut self.columns {
            Some(columns) => columns.retain(&mut adds),
            none => *none = Some((0..reached.len()).filter(&mut adds).collect()),
        }
        self.gain = gain;
    }
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.option.cmp(&self.option))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Offer {}

/// The smallest utility of each column.
fn worst_of(utilities: &Points) -> Vec<f64> {
    let mut worst = vec![f64::INFINITY; utilities.dim()];
    for row in utilities.rows() {
        worst.iter_mut().zip(row).for_each(|(worst, utility)| *worst = worst.min(*utility));
    }
    worst
}

/// By how much option `i` exceeds what is reached, summed over columns.
fn gain(utilities: &Points, reached: &[f64], i: usize) -> f64 {
    utilities.row(i).iter().zip(reached).map(|(u, reached)| (u - reached).max(0.0)).sum()
}

/// Each objective in units of its range.
fn in_ranges(means: &Points) -> Points {
    let mut scaled = means.clone();
    for m in 0..means.dim() {
        let column = || means.rows().map(|row| row[m]);
        let low = column().fold(f64::INFINITY, f64::min);
        let high = column().fold(f64::NEG_INFINITY, f64::max);
        for i in 0..means.len() {
            let from_low = means.row(i)[m] - low;
            scaled.row_mut(i)[m] = if high > low { from_low / (high - low) } else { 0.0 };
        }
    }
    scaled
}

/// Observed designs, and for each objective the design of its best expected value: with them the
/// ends of the front need not be discovered.
fn seeds(space: &Space, model: &Model, observed: &Points) -> Result<Points> {
    let mut seeds = space.snapped(observed);
    let objectives = model.objectives.len();
    if observed.is_empty() {
        return Ok(seeds);
    }
    for k in 0..objectives {
        let lambda: Vec<f64> = (0..objectives).map(|j| if j == k { 1.0 } else { 0.0 }).collect();
        let values = model.utilities(&lambda, &seeds)?;
        if let Some(&best) = largest(&values, 1).first() {
            seeds.push(&best_utility(space, model, &lambda, seeds.row(best))?)?;
        }
    }
    Ok(seeds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke_math::sobol;

    #[test]
    fn sums_that_are_not_updated_change_no_choice() {
        for (options, seed) in [(7, 2), (60, 3), (300, 4)] {
            let utilities = sobol::cube(9, options, seed).unwrap();
            let sum = |chosen: &[usize]| -> f64 {
                let best =
                    |q: usize| chosen.iter().map(|&i| utilities.row(i)[q]).fold(0.0, f64::max);
                (0..9).map(best).sum()
            };
            let chosen = least_loss(&utilities, 5);
            let mut so_far = vec![];
            for next in chosen {
                let with = |i: usize| [&so_far[..], &[i]].concat();
                let most = (0..options).map(|i| sum(&with(i))).fold(0.0, f64::max);
                assert!((sum(&with(next)) - most).abs() < 1e-12, "{so_far:?}");
                so_far.push(next);
            }
            assert_eq!(so_far.len(), options.min(5));
        }
    }

    #[test]
    fn options_that_nobody_wants_are_not_chosen() {
        let utilities = Points::from_rows(2, [[1.0, 0.0], [0.4, 0.4], [0.0, 2.0], [1.0, 0.0]]);
        assert_eq!(least_loss(&utilities.unwrap(), 4), [2, 0]);
    }
}
