//! How the study came to where it is: how much of what the front offers had been found after each evaluation,
//! what was expected of continuing at some moments of the past, and what was measured of all objectives.

use std::collections::HashMap;
use unyoke::{
    Design, Event, Journal, MemoryJournal, Milestone, Output, Predictions, Record, Status, Study,
    Suggestion,
};

use crate::figures::{Moment, Stage};

/// At how many moments of the past it is computed what was expected then. Each takes as long as a suggestion.
const MOMENTS: usize = 5;

/// Moments with more evaluations are left out: a suggestion takes seconds there.
const MOST_EVALUATIONS: usize = 200;

/// How much of what the front offers had been found, where that has changed, and now.
pub(super) fn stages<J: Journal>(
    study: &Study<J>,
    predictions: &Predictions<'_>,
) -> unyoke::Result<Vec<Stage>> {
    // What has ended by then was paid for, in the order of evaluations.
    let mut spent = 0.0;
    let mut costs: HashMap<u64, f64> = HashMap::new();
    for evaluation in study.evaluations() {
        spent += evaluation.spent();
        costs.insert(evaluation.id, spent);
    }
    let mut reached = 0.0;
    let stage = |Milestone { evaluation, share }: Milestone| {
        // Evaluations need not end in the order in which they began.
        reached = costs.get(&evaluation).copied().unwrap_or(reached).max(reached);
        Stage { evaluation, spent: reached, share }
    };
    let all: Vec<Stage> = predictions.progress()?.into_iter().map(stage).collect();
    let changes = |i: &usize| {
        let share = |i: usize| all[i].share;
        *i == 0 || *i + 1 == all.len() || share(*i) != share(*i - 1)
    };
    Ok((0..all.len()).filter(changes).map(|i| all[i]).collect())
}

/// What the next evaluation was expected to gain at some moments of the past, and now; empty before models
/// were asked.
pub(super) fn moments<J: Journal>(
    study: &Study<J>,
    records: &[Record],
    now: &Suggestion,
) -> unyoke::Result<Vec<Moment>> {
    let is_choice = |record: &Record| matches!(record.event, Event::Asked { initial: false, .. });
    // Gains in another problem cannot be compared with those in the present one.
    let is_other = |record: &Record| matches!(record.event, Event::Redefined { .. });
    let first = records.iter().rposition(is_other).unwrap_or(0);
    let begins = |record: &Record| {
        use Event::{Added, Asked, ConfirmationAsked, Imported};
        matches!(
            record.event,
            Asked { .. } | ConfirmationAsked { .. } | Added { .. } | Imported { .. }
        )
    };
    let small = records.iter().enumerate().filter(|(_, record)| begins(record));
    let end = small.map(|(i, _)| i).nth(MOST_EVALUATIONS).unwrap_or(records.len());
    let chosen: Vec<usize> = (first..end.max(first)).filter(|i| is_choice(&records[*i])).collect();
    let every = chosen.len().div_ceil(MOMENTS).max(1);
    let mut moments = vec![];
    for at in chosen.into_iter().step_by(every) {
        let mut journal = MemoryJournal::default();
        journal.append(0, &records[..at])?;
        let then = Study::open(journal)?;
        moments.extend(moment(&then, &then.suggest()?));
    }
    if !moments.is_empty() {
        moments.extend(moment(study, now));
    }
    Ok(moments)
}

/// What a suggestion is expected to gain; `None` where that is not known.
fn moment<J: Journal>(study: &Study<J>, next: &Suggestion) -> Option<Moment> {
    let prospect = next.prospect.as_ref().filter(|prospect| prospect.range > 0.0)?;
    Some(Moment { spent: study.spent(), gain: prospect.gain / prospect.range })
}

/// Values of all objectives at designs where all that are not formulas were measured, the last one of
/// each.
pub fn measured<J: Journal>(study: &Study<J>) -> unyoke::Result<Vec<Vec<f64>>> {
    Ok(measured_designs(study)?.into_iter().map(|(_, values)| values).collect())
}

/// The same with the designs.
pub(super) fn measured_designs<J: Journal>(
    study: &Study<J>,
) -> unyoke::Result<Vec<(Design, Vec<f64>)>> {
    let objectives: Vec<(usize, &Output)> = study.problem().objectives().collect();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut designs: Vec<(&Design, Vec<Option<f64>>)> = vec![];
    for evaluation in study.evaluations() {
        if !matches!(evaluation.status, Status::Completed(_)) {
            continue;
        }
        let at = match places.get(&evaluation.design.to_string()) {
            Some(at) => *at,
            None => {
                let formula = |(_, output): &(usize, &Output)| {
                    study.formula_value(&output.name, &evaluation.design)
                };
                let values = objectives.iter().map(formula).collect::<unyoke::Result<_>>()?;
                designs.push((&evaluation.design, values));
                places.insert(evaluation.design.to_string(), designs.len() - 1);
                designs.len() - 1
            }
        };
        for (value, (place, _)) in designs[at].1.iter_mut().zip(&objectives) {
            *value = evaluation.reading(*place).map(|reading| reading.value).or(*value);
        }
    }
    let complete = designs.into_iter().filter_map(|(design, values)| {
        Some((design.clone(), values.into_iter().collect::<Option<Vec<f64>>>()?))
    });
    Ok(complete.collect())
}
