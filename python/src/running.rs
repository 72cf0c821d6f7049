//! What a run in Python makes next, and what becomes of it. The loop itself, which calls functions and
//! executors, is in `python/unyoke/running.py`; what may be started is decided by the same limits as in
//! the program.

use serde::Serialize;
use unyoke::{
    Appraisal, Asked, Cost, CostSource, Design, Evaluation, LearnedCost, Outcome, Permission,
    Status, Study, Suggestion,
};
use unyoke_run::{Budget, Choosing, Failing, Layout, Limits, Purpose, RunSettings, claim_by_hand};
use unyoke_store::Store;
use unyoke_view::{AppraisalView, SuggestionView};

use crate::error::{Failure, Result};
use crate::place::Found;
use crate::state::State;
use crate::threads::compute;
use crate::written::{WrittenOutcome, asked_design};

/// How often a suggestion is computed again because others asked for the same thing first.
const SEARCHES: u32 = 64;

/// What a run does next.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Next {
    /// This evaluation, which is pending and claimed.
    Start(Box<Start>),
    /// Nothing until something ends.
    Wait,
    /// It ends.
    Over(Over),
}

/// An evaluation to be made.
#[derive(Debug, Serialize)]
pub(crate) struct Start {
    evaluation: u64,
    measurement: String,
    design: Design,
    cost: f64,
    /// Somebody else asked for it and is gone.
    resumed: bool,
}

/// Why a run ends.
#[derive(Debug, Serialize)]
pub(crate) struct Over {
    ending: &'static str,
    reason: String,
}

/// What to evaluate next, for somebody who does it by hand.
pub(crate) fn ask(state: &State, only: &[String], fixed: &Design) -> Result<SuggestionView> {
    state.with(|found| {
        for name in only {
            found.study.problem().measurement_index(name)?;
        }
        Ok(())
    })?;
    let (budget, run, stop) =
        state.with(|found| Ok((found.budget.clone(), found.run.clone(), found.stop.clone())))?;
    loop {
        let limits = Limits::new(&budget, &run, vec![]).only(only);
        let allowed = |study: &Study<Store>, which: &[usize]| limits.permission(study, which);
        let choose = |study: Study<Store>| Ok((study.suggest_within(fixed, allowed)?, None));
        let Choice::Asked(suggestion) = ask_for(state, choose, allowed)? else {
            return Err(Failure::Exhausted);
        };
        let is_ours = state.with(|found| claim(found, suggestion.evaluation))?;
        if !is_ours {
            continue;
        }
        let study = state.snapshot()?;
        let appraisal = match &stop {
            Some(stop) => compute(|| study.appraise(stop, &suggestion))??,
            None => None,
        };
        return Ok(SuggestionView::new(study.problem(), &suggestion, appraisal.as_ref()));
    }
}

/// Claims for somebody who works by hand what was just asked for. False if a run was faster.
fn claim(found: &mut Found, evaluation: u64) -> Result<bool> {
    let Some(lease) = claim_by_hand(&found.store, evaluation)? else { return Ok(false) };
    found.study.refresh()?;
    let is_pending = is_pending(&found.study, evaluation);
    if !is_pending {
        found.store.release(&lease)?;
    }
    Ok(is_pending)
}

fn is_pending(study: &Study<Store>, evaluation: u64) -> bool {
    let is_it = |e: &&Evaluation| e.id == evaluation;
    study.evaluations().iter().rev().find(is_it).is_some_and(|e| e.status == Status::Pending)
}

/// What came of choosing.
enum Choice {
    Asked(Box<Suggestion>),
    /// The best there is, but not worth its cost.
    NotWorthwhile(String),
    Nothing,
}

/// Chooses what to evaluate and asks for it. The study can be used meanwhile.
fn ask_for(
    state: &State,
    choose: impl Fn(Study<Store>) -> Result<(Option<Suggestion>, Option<Appraisal>)> + Sync,
    allowed: impl Fn(&Study<Store>, &[usize]) -> Permission,
) -> Result<Choice> {
    for _ in 0..SEARCHES {
        let study = state.snapshot()?;
        let problem = study.problem().clone();
        let (suggestion, appraisal) = compute(|| choose(study))??;
        if let Some(appraisal) = appraisal.filter(|appraisal| appraisal.verdict.is_stop()) {
            let sentence = AppraisalView::new(&problem, &appraisal).sentence();
            return Ok(Choice::NotWorthwhile(sentence));
        }
        let Some(suggestion) = suggestion else { return Ok(Choice::Nothing) };
        match state.with(|found| Ok(found.study.ask_for(suggestion, &allowed)?))? {
            Asked::Recorded(asked) => return Ok(Choice::Asked(Box::new(asked))),
            Asked::NotAllowed => return Ok(Choice::Nothing),
            Asked::Outdated => {}
        }
    }
    Err(unyoke::Error::Contended { times: SEARCHES }.into())
}

/// What a run makes next that makes these evaluations now.
pub(crate) fn next(
    state: &State,
    budget: &Budget,
    run: &RunSettings,
    running: &[u64],
    too_long: &[String],
) -> Result<Next> {
    let worker = state.worker()?;
    let by_hand = worker.by_hand()?;
    let (measurements, too_long, failing) = state.refreshed(|found| {
        let problem = found.study.problem();
        let places = too_long.iter().map(|name| problem.measurement_index(name));
        let too_long = places.collect::<unyoke::Result<Vec<usize>>>()?;
        let layout = found.layout.clone().unwrap_or_else(|| Layout::new(""));
        let failing = Failing::find(&found.study, &layout, run.trials);
        Ok((measurements_of(&found.study, running)?, too_long, failing))
    })?;
    if let Some(failing) = failing {
        let reason = format!("{failing}; the last time: {}", failing.reason);
        return Ok(after(running, "failing", reason));
    }
    let limits = || {
        let limits = Limits::new(budget, run, measurements.clone()).with_trials(by_hand.clone());
        limits.without(too_long.clone())
    };
    if let Some(start) = take_up(state, &limits(), running)? {
        return Ok(Next::Start(Box::new(start)));
    }
    if measurements.len() >= run.slots {
        return Ok(Next::Wait);
    }
    let (limits, stop) = (limits(), state.with(|found| Ok(found.stop.clone()))?);
    let choose = |study: Study<Store>| {
        let choosing = Choosing {
            study,
            budget: budget.clone(),
            stop: stop.clone(),
            run: run.clone(),
            running: measurements.clone(),
            by_hand: by_hand.clone(),
            only: vec![],
            too_long: too_long.clone(),
            purpose: Purpose::Search,
            round: None,
        };
        Ok(choosing.choose()?)
    };
    loop {
        let permission = |study: &Study<Store>, which: &[usize]| limits.permission(study, which);
        match ask_for(state, choose, permission)? {
            // If somebody else has taken it up in this very moment, it is theirs.
            Choice::Asked(asked) if !worker.claim(asked.evaluation)? => {}
            Choice::Asked(asked) => {
                let Suggestion { evaluation, measurement, design, cost, .. } = *asked;
                let start = Start { evaluation, measurement, design, cost, resumed: false };
                return Ok(Next::Start(Box::new(start)));
            }
            Choice::NotWorthwhile(reason) => return Ok(after(running, "not_worthwhile", reason)),
            Choice::Nothing if running.is_empty() && !too_long.is_empty() => {
                let reason = "nothing else would end in time".to_owned();
                return Ok(Next::Over(Over { ending: "until", reason }));
            }
            Choice::Nothing => return state.with(|found| Ok(nothing(found, &limits, running))),
        }
    }
}

/// The measurements of evaluations by their places.
fn measurements_of(study: &Study<Store>, running: &[u64]) -> Result<Vec<usize>> {
    let measurement = |id: &u64| {
        let known = usize::try_from(*id).ok().and_then(|index| study.evaluations().get(index));
        let measurement = known.and_then(|evaluation| evaluation.measurement);
        Ok(measurement.ok_or(unyoke::Error::UnknownEvaluation { id: *id })?)
    };
    running.iter().map(measurement).collect()
}

/// A run ends once what it has begun has ended.
fn after(running: &[u64], ending: &'static str, reason: String) -> Next {
    if running.is_empty() { Next::Over(Over { ending, reason }) } else { Next::Wait }
}

/// Claims a pending evaluation that nobody works on any more.
fn take_up(state: &State, limits: &Limits<'_>, running: &[u64]) -> Result<Option<Start>> {
    let worker = state.worker()?;
    let candidate = |e: &&Evaluation| {
        e.status == Status::Pending
            && !running.contains(&e.id)
            && e.measurement.is_some_and(|m| limits.has_slot(m))
    };
    loop {
        let candidates: Vec<u64> = state.with(|found| {
            let is_open =
                |e: &&Evaluation| e.measurement.is_some_and(|m| limits.is_open(&found.study, m));
            let evaluations = found.study.evaluations().iter();
            Ok(evaluations.filter(candidate).filter(is_open).map(|e| e.id).collect())
        })?;
        let Some(taken) = worker.take_up(&candidates)? else { return Ok(None) };
        let start = state.refreshed(|found| Ok(start_of(&found.study, taken)))?;
        match start {
            Some(start) => return Ok(Some(start)),
            // It was settled meanwhile.
            None => worker.release(taken)?,
        }
    }
}

/// A pending evaluation as one to be made again.
fn start_of(study: &Study<Store>, evaluation: u64) -> Option<Start> {
    let known = study.evaluations().get(usize::try_from(evaluation).ok()?)?;
    if known.status != Status::Pending {
        return None;
    }
    let measurement = study.problem().measurements[known.measurement?].name.clone();
    let (design, cost) = (known.design.clone(), known.cost);
    Some(Start { evaluation, measurement, design, cost, resumed: true })
}

/// Why nothing was chosen.
fn nothing(found: &Found, limits: &Limits<'_>, running: &[u64]) -> Next {
    let study = &found.study;
    let choices = study.config().choices(study.problem());
    let permissions: Vec<Permission> =
        choices.iter().map(|which| limits.permission(study, which)).collect();
    if !running.is_empty() || permissions.contains(&Permission::Later) {
        return Next::Wait;
    }
    let open = limits.clone().without_pauses();
    let is_open = |which: &Vec<usize>| open.permission(study, which) != Permission::Never;
    if permissions.iter().all(|p| *p == Permission::Never) && choices.iter().any(is_open) {
        let name = |m: usize| study.problem().measurements[m].name.clone();
        let paused: Vec<String> = limits.paused(study).into_iter().map(name).collect();
        let reason = format!("nothing else can be evaluated while {} is paused", paused.join(", "));
        return Next::Over(Over { ending: "paused", reason });
    }
    let (ending, reason) = match permissions.contains(&Permission::Granted) {
        true => ("exhausted", "every design has been evaluated, or nothing fits into the budget"),
        false => ("budget", "nothing more fits into the budget"),
    };
    Next::Over(Over { ending, reason: reason.to_owned() })
}

/// Records what came out of an evaluation of a run. False if it had been settled before: then it is
/// kept as a late result.
pub(crate) fn finish(state: &State, evaluation: u64, written: WrittenOutcome) -> Result<bool> {
    let counts = state.refreshed(|found| {
        let study = &mut found.study;
        let asked = asked_design(study, evaluation)?;
        let told = told(&written);
        let outcome = with_cost(study, evaluation, written).outcome(&asked);
        // What somebody withdrew does not count, whatever came out.
        let recorded = match is_pending(study, evaluation) {
            true => record(study, evaluation, outcome)?,
            false => false,
        };
        if !recorded {
            found.store.keep_late(evaluation, 0, &told)?;
        }
        Ok(recorded)
    })?;
    // A value may come when the run has ended: then there is nothing to give back.
    state.worker().map_or(Ok(()), |worker| worker.release(evaluation))?;
    Ok(counts)
}

fn record(study: &mut Study<Store>, evaluation: u64, outcome: Outcome) -> Result<bool> {
    match study.tell(evaluation, outcome) {
        Err(unyoke::Error::AlreadySettled { .. }) => Ok(false),
        told => Ok(told.map(|()| true)?),
    }
}

/// What a late result says of itself.
fn told(written: &WrittenOutcome) -> String {
    format!("{written:?}").replace('\0', " ")
}

/// How long it ran is what it cost, where that is learned.
fn with_cost(study: &Study<Store>, evaluation: u64, mut written: WrittenOutcome) -> WrittenOutcome {
    let known = usize::try_from(evaluation).ok().and_then(|at| study.evaluations().get(at));
    let name = known.and_then(|e| e.measurement).map(|m| &study.problem().measurements[m].name);
    let cost = name.and_then(|name| study.cost(name).ok());
    if let Some(Cost::Learned(LearnedCost { learn: CostSource::Time, .. })) = cost {
        written.cost = written.seconds;
    }
    written
}
