//! What people do to a study by hand, the same on the command line and in a browser.

use unyoke::{Evaluation, Journal, Outcome, Problem, Status, Study, Suggestion};
use unyoke_store::{LeaseStatus, Store};

use crate::error::Result;
use crate::runner::{Limits, claim_by_hand, release_by_hand};
use crate::study_file::{Budget, RunSettings};

/// Asks, in the way of `ask`, for an evaluation that nobody else works on. `None` if none is possible.
///
/// A run may take up what was asked for before it is claimed here. Then it is the run's, and
/// another one is asked for.
pub fn ask_by_hand<J: Journal>(
    study: &mut Study<J>,
    store: &Store,
    (budget, run): (&Budget, &RunSettings),
    ask: impl Fn(&mut Study<J>, &Limits<'_>) -> unyoke::Result<Option<Suggestion>>,
) -> Result<Option<Suggestion>> {
    loop {
        let limits = Limits::new(budget, run, vec![]);
        let Some(suggestion) = ask(study, &limits)? else { return Ok(None) };
        let Some(lease) = claim_by_hand(store, suggestion.evaluation)? else { continue };
        // The run may even be done with it, and have given it back.
        study.refresh()?;
        let is_pending =
            |e: &Evaluation| e.id == suggestion.evaluation && e.status == Status::Pending;
        if study.evaluations().iter().rev().any(is_pending) {
            return Ok(Some(suggestion));
        }
        store.release(&lease)?;
    }
}

/// What somebody records of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// What came out.
    Result(Outcome),
    /// What came out of one that is recorded as failed.
    InPlaceOfFailure(Outcome),
    /// What was recorded is wrong; this came out.
    Correction(Outcome),
    /// What was recorded does not count, for this reason.
    Retraction(Option<String>),
    /// It will not be made.
    Withdrawal,
    /// It will not be made, and is not to be suggested again right away.
    Skip,
    /// It failed, and will be made again.
    Retry,
}

/// Records something of an evaluation, which is nobody's any more. Returns what whoever recorded it should know.
pub fn record_by_hand<J: Journal>(
    study: &mut Study<J>,
    store: &Store,
    evaluation: u64,
    entry: Entry,
) -> Result<Vec<String>> {
    let find = |study: &Study<J>| {
        study.evaluations().iter().find(|e| e.id == evaluation).map(|e| e.status.clone())
    };
    let before = find(study);
    let is_result = matches!(entry, Entry::Result(_) | Entry::InPlaceOfFailure(_));
    match entry {
        Entry::Result(outcome) => study.tell(evaluation, outcome)?,
        Entry::InPlaceOfFailure(outcome) => study.replace_failure(evaluation, outcome)?,
        Entry::Correction(outcome) => study.correct(evaluation, outcome)?,
        Entry::Retraction(reason) => study.retract(evaluation, reason.as_deref())?,
        Entry::Withdrawal => study.withdraw(evaluation)?,
        Entry::Skip => study.skip(evaluation)?,
        Entry::Retry => study.retry(evaluation)?,
    }
    release_by_hand(store, evaluation)?;
    let mut notes = vec![];
    if before == Some(Status::Withdrawn) && is_result {
        notes.push("it had been withdrawn; its value and its cost count now".to_owned());
    }
    let is_live = |status: &LeaseStatus| status.is_live() && status.lease.evaluation == evaluation;
    if let Some(status) = store.leases()?.into_iter().find(is_live) {
        notes.push(format!(
            "{} is still working on it; what comes out is kept as a late result and does not count",
            status.lease.owner
        ));
    }
    Ok(notes)
}

/// The outputs of an evaluation that are not among these: an output that was forgotten could not be recorded later,
/// so all of them are wanted, or a reason why some are missing.
pub fn left_out<'a>(
    problem: &'a Problem,
    evaluation: &Evaluation,
    named: impl Fn(&str) -> bool,
) -> Vec<&'a str> {
    let names = evaluation.outputs.iter().map(|output| problem.outputs[*output].name.as_str());
    names.filter(|name| !named(name)).collect()
}
