//! When measuring is no longer worth what it costs.
//!
//! Whether an evaluation is worth its cost follows from its expected gain and from what the user says that
//! gains are worth. A single search may be mistaken, so those before it are made again, each from what was
//! known then: the answer depends on the journal alone, and is the same after a restart.

use crate::engine::Engine;
use crate::error::Result;
use crate::event::{Event, Record};
use crate::history::History;
use crate::plan::Permission;
use crate::prospect::Unit;
use crate::suggestion::Suggestion;
use serde::Serialize;
use std::collections::BTreeMap;

/// When to stop: what improvements are worth.
///
/// ```
/// use unyoke::{Problem, Stop, Study};
///
/// let problem = Problem::builder().continuous("x", 0.0, 1.0);
/// let problem = problem.minimise("mass", 1.0).minimise("drag", 10.0).build()?;
/// let mut study = Study::new(problem)?;
/// // One unit of mass less is worth 50 units of cost.
/// let stop = Stop::worth("mass", 50.0);
/// while study.spent() < 500.0 {
///     let next = study.ask()?;
///     if study.appraise(&stop, &next)?.is_some_and(|appraisal| appraisal.verdict.is_stop()) {
///         break;
///     }
///     let x = next.design.real("x").unwrap_or_default();
///     study.tell(next.evaluation, if next.measurement == "mass" { x } else { (1.0 - x).powi(2) })?;
/// }
/// assert!(study.spent() < 500.0);
/// # Ok::<(), unyoke::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// What an improvement of an objective by one of its units, the others as they are, is worth in
    /// units of cost; an improvement by one percent where it is on a log scale. Of several, the one by
    /// which a gain is worth most counts.
    pub worth: BTreeMap<String, f64>,
    /// How many searches in a row must find that nothing is worth its cost, each knowing more than
    /// the one before: a single model may be mistaken.
    pub searches: usize,
}

impl Stop {
    /// How many searches in a row must agree by default; `docs/stopping.md` has the trials.
    pub const SEARCHES: usize = 5;

    /// One unit of this objective is worth so much.
    pub fn worth(objective: &str, worth: f64) -> Self {
        Self { worth: BTreeMap::from([(objective.to_owned(), worth)]), searches: Self::SEARCHES }
    }

    /// Whether a suggestion is worth its cost, going by it alone; `None` if nobody can tell.
    pub(crate) fn appraise(&self, suggestion: &Suggestion) -> Option<Appraisal> {
        let prospect = suggestion.prospect.as_ref()?;
        let worth_of =
            |unit: &Unit| self.worth.get(&unit.objective).map_or(0.0, |w| w * unit.amount);
        let is_valued = |unit: &&Unit| worth_of(unit) > 0.0 && unit.amount.is_finite();
        let valued = prospect.units.iter().filter(is_valued);
        let unit = valued.max_by(|a, b| worth_of(a).total_cmp(&worth_of(b)))?;
        let (amount, worth) = (unit.amount, *self.worth.get(&unit.objective)?);
        let gain = amount * prospect.gain;
        let most = prospect.most.map(|most| amount * most);
        let cost = suggestion.options.get(suggestion.chosen.unwrap_or(usize::MAX));
        let cost = cost.map_or(suggestion.cost, |row| row.cost);
        let verdict = match worth * gain < cost {
            true if most.is_some_and(|most| worth * most < prospect.cheapest) => Verdict::Final,
            true => Verdict::Stop,
            false => Verdict::Continue,
        };
        let (objective, cheapest) = (unit.objective.clone(), prospect.cheapest);
        Some(Appraisal { verdict, objective, worth, gain, cost, most, cheapest, searches: 1 })
    }
}

/// Whether the next evaluation is worth its cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Appraisal {
    /// What to do.
    pub verdict: Verdict,
    /// The objective in whose unit gains are told here.
    pub objective: String,
    /// What an improvement of it by one is worth, in units of cost.
    pub worth: f64,
    /// The improvement that is as good as what the next evaluation is expected to gain.
    pub gain: f64,
    /// What the next evaluation costs.
    pub cost: f64,
    /// The improvement that is as good as the most that all further evaluations could gain.
    pub most: Option<f64>,
    /// The least that any measurement costs.
    pub cheapest: f64,
    /// How many searches in a row found that nothing is worth its cost, as far as that was looked
    /// into; with [`Verdict::Continue`] it means nothing.
    pub searches: usize,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Evaluate: it is expected to be worth its cost.
    Continue,
    /// Evaluate, although it is not expected to be worth its cost: too few searches have found that.
    Unconfirmed,
    /// Stop: the next evaluation is not worth its cost.
    Stop,
    /// Stop: no evaluation can be, since all that is left to be gained is worth less than the cheapest
    /// of them.
    Final,
}

impl Verdict {
    /// Whether to stop.
    pub fn is_stop(self) -> bool {
        matches!(self, Self::Stop | Self::Final)
    }
}

/// The appraisal of `next`, confirmed or not by the searches before it.
pub(crate) fn appraise(
    stop: &Stop,
    next: &Suggestion,
    records: impl FnOnce() -> Result<Vec<Record>>,
) -> Result<Option<Appraisal>> {
    let Some(mut appraisal) = stop.appraise(next) else { return Ok(None) };
    if appraisal.verdict.is_stop() && stop.searches > 1 {
        let records = records()?;
        for at in earlier_searches(&records, next.evaluation) {
            if appraisal.searches == stop.searches {
                break;
            }
            let then = History::replay(&records[..at])?;
            let Some(earlier) = Engine::new(&then).suggest(&|_| Permission::Granted)? else {
                break;
            };
            if !earlier.is_searched() {
                continue;
            }
            match stop.appraise(&earlier) {
                Some(earlier) if earlier.verdict.is_stop() => appraisal.searches += 1,
                _ => break,
            }
        }
        if appraisal.searches < stop.searches {
            appraisal.verdict = Verdict::Unconfirmed;
        }
    }
    Ok(Some(appraisal))
}

/// Where in the journal evaluations before number `next` were asked for, the latest first, each with
/// less known than at the one after it: those that were asked for together count once. What was found
/// before a value was corrected or retracted, or for another problem, confirms nothing.
fn earlier_searches(records: &[Record], next: u64) -> impl Iterator<Item = usize> {
    let mut has_news = false;
    let is_wrong = |at: &usize| {
        use Event::{Corrected, Redefined, Retracted};
        matches!(records[*at].event, Corrected { .. } | Retracted { .. } | Redefined { .. })
    };
    (0..records.len()).rev().take_while(move |at| !is_wrong(at)).filter(move |at| {
        match &records[*at].event {
            Event::Asked { initial: false, evaluation, .. } if *evaluation < next => {
                std::mem::take(&mut has_news)
            }
            Event::Measured { .. }
            | Event::Told { .. }
            | Event::Failed { .. }
            | Event::Added { .. }
            | Event::Imported { .. } => {
                has_news = true;
                false
            }
            _ => false,
        }
    })
}
