//! Evaluations that need no model: the initial design, and what algorithms that measure everything
//! still owe. What may be asked for is decided elsewhere; here it is respected.

use crate::choices::{Choice, choices, initial_counts};
use crate::config::Algorithm;
use crate::cost::CostModel;
use crate::error::Result;
use crate::history::{Evaluation, History, Status};
use crate::space::{Space, key};
use crate::suggestion::Origin;
use std::collections::HashSet;
use unyoke_math::random::seed_for;

/// The stream of random numbers behind space-filling designs.
const DESIGNS: u64 = 0;

/// Whether an evaluation may be asked for; see [`Study::ask_where`](crate::Study::ask_where).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Permission {
    /// It may.
    Granted,
    /// It may, at designs where all that is asked about is expected to cost at most this together.
    UpTo(f64),
    /// Not now, but when something under way has ended. What cannot be left out, such as an initial
    /// evaluation, is waited for.
    Later,
    /// Not any more: others take its place.
    Never,
}

impl Permission {
    /// The most that may be spent now, if anything.
    pub(crate) fn most(self) -> Option<f64> {
        match self {
            Self::Granted => Some(f64::INFINITY),
            Self::UpTo(most) => Some(most),
            Self::Later | Self::Never => None,
        }
    }
}

/// Whether something that costs this can be evaluated, given the most that may be spent.
pub(crate) fn is_payable(cost: f64, most: f64) -> bool {
    cost.is_finite() && cost <= most
}

/// What somebody thinks of making these measurements at one design, the first of them now.
pub(crate) type Allowed<'a> = &'a dyn Fn(&[usize]) -> Permission;

/// What comes next.
pub(crate) enum Planned {
    /// This evaluation, whatever the models would say.
    Given { x: Vec<f64>, measurement: usize, origin: Origin },
    /// Whatever is worth most.
    Search,
    /// Nothing: what comes next is not allowed now.
    Nothing,
}

/// Looks at what was asked and told so far. Designs are chosen `within` a space where some values may be
/// held.
pub(crate) fn next(history: &History, within: &Space, allowed: Allowed<'_>) -> Result<Planned> {
    let behind = initial(history, within, allowed)?;
    if !behind.is_empty() {
        let granted = behind.into_iter().find(|(_, m)| allowed(&[*m]).most().is_some());
        return Ok(given(granted, Origin::Initial));
    }
    if let Some((x, m)) = owed(history, within) {
        let cost = CostModel::new(history, &[m])?.at(&x);
        let is_granted = allowed(&[m]).most().is_some_and(|most| is_payable(cost, most));
        return Ok(given(is_granted.then_some((x, m)), Origin::SameDesign));
    }
    let no_values = || (0..history.problem.outputs.len()).all(|k| history.count(k) == 0);
    match history.config.algorithm {
        Algorithm::Sobol => filling(history, within, Origin::SpaceFilling, allowed),
        _ if no_values() => filling(history, within, Origin::NoValues, allowed),
        _ => Ok(Planned::Search),
    }
}

/// The next initial evaluation of each measurement that is behind. One that is not permitted any
/// more, or is too expensive at its design, is left out.
fn initial(
    history: &History,
    within: &Space,
    allowed: Allowed<'_>,
) -> Result<Vec<(Vec<f64>, usize)>> {
    let mut found = vec![];
    for (index, m) in behind(history) {
        let permission = allowed(&[m]);
        if permission == Permission::Never {
            continue;
        }
        let cost = CostModel::new(history, &[m])?;
        let is_possible = |x: &[f64]| cost.at(x).is_finite();
        let Some(x) = new_design(history, within, index, m, &is_possible)? else { continue };
        if permission.most().is_none_or(|most| is_payable(cost.at(&x), most)) {
            found.push((x, m));
        }
    }
    Ok(found)
}

fn given(found: Option<(Vec<f64>, usize)>, origin: Origin) -> Planned {
    match found {
        Some((x, measurement)) => Planned::Given { x, measurement, origin },
        None => Planned::Nothing,
    }
}

/// What the algorithm of a study chooses among.
fn choices_of(history: &History) -> Vec<Choice> {
    choices(&history.problem, history.config.algorithm)
}

/// The next space-filling design that may be paid for, for one choice after the other.
fn filling(
    history: &History,
    within: &Space,
    origin: Origin,
    allowed: Allowed<'_>,
) -> Result<Planned> {
    let choices = choices_of(history);
    let asked = history.asked().filter(|e| e.confirms.is_none() && e.queued.is_none()).count();
    let per_design: usize = choices.iter().map(|choice| choice.measurements.len()).sum();
    let index = asked.div_ceil(per_design.max(1));
    for choice in (0..choices.len()).map(|turn| &choices[(asked + turn) % choices.len()]) {
        let Some(&measurement) = choice.measurements.first() else { continue };
        let Some(most) = allowed(&choice.measurements).most() else { continue };
        let cost = CostModel::new(history, &choice.measurements)?;
        let is_possible = |x: &[f64]| is_payable(cost.at(x), most);
        if let Some(x) = new_design(history, within, index, measurement, &is_possible)? {
            return Ok(Planned::Given { x, measurement, origin });
        }
        if let Some(x) = designs(history, within)?.nth(index).filter(|x| is_possible(x)) {
            return Ok(Planned::Given { x, measurement, origin: Origin::Repeated });
        }
    }
    Ok(Planned::Nothing)
}

/// Initial evaluations that are still to be made: how many there were of which measurement, the
/// one that is furthest behind first. Values from elsewhere count. Failures teach something too:
/// they are made up for until there are half the values, within reason.
fn behind(history: &History) -> Vec<(usize, usize)> {
    let counts = initial_counts(&history.config.initial, &history.problem);
    let behind = |(m, count): (usize, &usize)| {
        let outputs = history.problem.outputs_of(m);
        let have = |k: &usize| history.count(*k) + history.pending(*k).count();
        let have = outputs.iter().map(have).min().unwrap_or(0);
        let tried = history.asked().filter(|e| e.initial && e.measurement == Some(m)).count();
        let enough = if tried < *count { *count } else { count.div_ceil(2) };
        (have < enough && tried < count.saturating_mul(2).saturating_add(4)).then_some((tried, m))
    };
    let mut behind: Vec<(usize, usize)> = counts.iter().enumerate().filter_map(behind).collect();
    behind.sort_unstable();
    behind
}

/// Measurements at one design that came from one search.
struct Searched<'h> {
    x: &'h [f64],
    measurements: Vec<usize>,
}

/// The searches so far: how many there were, and those whose designs still lack a measurement of
/// `choice`, which is all that the algorithm makes at each design.
fn searches_for_all<'h>(history: &'h History, choice: &Choice) -> (u64, Vec<Searched<'h>>) {
    let (mut count, mut open) = (0, Vec::<Searched<'_>>::new());
    for Evaluation { id, measurement, .. } in history.asked().filter(|e| e.is_searched()) {
        let Some(m) = measurement else { continue };
        let x = history.point(*id);
        let lacks = |searched: &Searched<'_>| {
            history.space.same(searched.x, x) && !searched.measurements.contains(m)
        };
        match open.iter().position(lacks) {
            Some(found) => {
                open[found].measurements.push(*m);
                if open[found].measurements.len() == choice.measurements.len() {
                    open.remove(found);
                }
            }
            None => {
                count += 1;
                if choice.measurements.len() > 1 {
                    open.push(Searched { x, measurements: vec![*m] });
                }
            }
        }
    }
    (count, open)
}

/// The number of searches so far, which decides the random numbers of the next one. A design at
/// which everything is measured is one search; initial evaluations, confirmations, and what was withdrawn or
/// retracted are none.
pub(crate) fn searches(history: &History) -> u64 {
    match &choices_of(history)[..] {
        [all] if history.config.algorithm.is_coupled() => searches_for_all(history, all).0,
        _ => history.asked().filter(|e| e.is_searched()).count() as u64,
    }
}

/// Where everything is measured at each design: a measurement that the earliest incomplete one
/// still lacks.
fn owed(history: &History, within: &Space) -> Option<(Vec<f64>, usize)> {
    if !history.config.algorithm.is_coupled() {
        return None;
    }
    let choices = choices_of(history);
    let all = choices.first()?;
    let (_, open) = searches_for_all(history, all);
    let Searched { x, measurements } = open.iter().find(|open| within.has_held(open.x))?;
    let missing = all.measurements.iter().find(|m| !measurements.contains(m))?;
    Some((x.to_vec(), *missing))
}

/// The first possible space-filling design at which the measurement would give something new, of
/// those up to the given number and some more; none where all seem to have been evaluated.
fn new_design(
    history: &History,
    within: &Space,
    count: usize,
    m: usize,
    is_possible: &dyn Fn(&[f64]) -> bool,
) -> Result<Option<Vec<f64>>> {
    const TRIES: usize = 256;
    let outputs = history.problem.outputs_of(m);
    let gave = |e: &Evaluation| outputs.iter().all(|k| e.outputs.contains(k));
    // Where another measurement failed, this one may well fail too: elsewhere comes first.
    let failed = |e: &Evaluation| matches!(e.status, Status::Failed(_));
    let keys = |is_meant: &dyn Fn(&Evaluation) -> bool| -> HashSet<Vec<u64>> {
        let standing =
            history.evaluations.iter().filter(|e| e.status.counts() || history.is_aside(e));
        let meant: Vec<&Evaluation> = standing.filter(|e| is_meant(e)).collect();
        // Where it was made, and where it was to be made.
        let made = meant.iter().map(|e| key(history.point(e.id)));
        made.chain(meant.iter().map(|e| key(history.suggested_point(e.id)))).collect()
    };
    // As a history would hold it: bounds are not exact in binary, and a design that was evaluated
    // must be recognised to the last bit.
    let recorded =
        |x: &[f64]| history.space.encode(&within.decode(x)).unwrap_or_else(|_| x.to_vec());
    for taken in [keys(&|e| gave(e) || failed(e)), keys(&gave)] {
        let mut designs = designs(history, within)?.take(count + TRIES);
        let found = designs.find(|x| !taken.contains(&key(&recorded(x))) && is_possible(x));
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Allowed designs that fill the space: each depends on the study's seed and its number alone.
fn designs<'s>(
    history: &History,
    within: &'s Space,
) -> Result<impl Iterator<Item = Vec<f64>> + use<'s>> {
    within.allowed_designs(seed_for(history.seed, DESIGNS))
}

#[cfg(test)]
mod tests;
