//! `unyoke ask`: what to evaluate next, for somebody who does it by hand.

use clap::Args;
use std::process::ExitCode;
use unyoke::{Appraisal, Evaluation, Problem, Status, Study, Suggestion, Verdict};
use unyoke_run::{Limits, Opened, StudyFile, claim_by_hand};
use unyoke_store::Store;
use unyoke_view::{AppraisalView, SuggestionView};

use crate::arguments::StudyArgument;
use crate::commands::run::warn_of_settings;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};
use crate::words::{exact_design, how_to_tell, short};

/// Arguments of `unyoke ask`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke ask                  one evaluation; record its result with `unyoke tell NUMBER VALUE`
  unyoke ask --count 3        three at once, for three people
  unyoke ask --json | jq '.[0].design'

What you asked for is yours until you record its result: `unyoke run` leaves it alone.
`unyoke explain` shows what would be asked for, without asking.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// How many evaluations.
    #[arg(long, default_value_t = 1)]
    count: usize,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let mut opened = file.open_or_create()?;
    warn_of_settings(&file, &opened.study);
    let mut asked = vec![];
    while asked.len() < arguments.count {
        let ask = |study: &mut Study<Store>, limits: &Limits<'_>| {
            study.ask_where(|study, which| limits.permission(study, which))
        };
        let Some(suggestion) = ask_and_claim(&file, &mut opened, ask)? else { break };
        let stop = file.stop.as_ref();
        let appraisal = stop.map(|stop| opened.study.appraise(stop, &suggestion)).transpose()?;
        asked.push((suggestion, appraisal.flatten()));
    }
    let study = opened.study;
    if asked.is_empty() && arguments.count > 0 {
        let reason = "nothing more fits into the budget, or every design has been evaluated";
        return Err(Failure::Refused(reason.to_owned()));
    }
    if form == Form::Json {
        let view = |(suggestion, appraisal): &(Suggestion, Option<Appraisal>)| {
            SuggestionView::new(study.problem(), suggestion, appraisal.as_ref())
        };
        say_json(&asked.iter().map(view).collect::<Vec<_>>())?;
    } else {
        for (suggestion, appraisal) in &asked {
            say(&in_words(study.problem(), suggestion, appraisal.as_ref()))?;
        }
        if asked.len() < arguments.count {
            let (got, wanted) = (asked.len(), arguments.count);
            say(&format!("{got} of {wanted}: nothing more fits into the budget"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks, in the way of `ask`, for an evaluation that nobody else works on. `None` if none is possible.
///
/// A run may take up what was asked for before it is claimed here. Then it is the run's, and
/// another one is asked for.
pub(crate) fn ask_and_claim(
    file: &StudyFile,
    opened: &mut Opened,
    ask: impl Fn(&mut Study<Store>, &Limits<'_>) -> unyoke::Result<Option<Suggestion>>,
) -> Result<Option<Suggestion>, Failure> {
    let Opened { study, store } = opened;
    loop {
        let limits = Limits::new(&file.budget, &file.run, vec![]);
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

pub(crate) fn in_words(
    problem: &Problem,
    suggestion: &Suggestion,
    appraisal: Option<&Appraisal>,
) -> String {
    let Suggestion { evaluation, measurement, outputs, cost, .. } = suggestion;
    let mut words = format!(
        "evaluation {evaluation}: {measurement} at {}, cost {}\n",
        exact_design(problem, &suggestion.design),
        short(*cost)
    );
    for remark in suggestion.remarks() {
        words.push_str(&format!("  {remark}\n"));
    }
    if let Some(appraisal) = appraisal.filter(|one| one.verdict != Verdict::Continue) {
        let sentence = AppraisalView::new(problem, appraisal).sentence();
        words.push_str(&format!("  [stop]: {sentence}\n"));
    }
    words + &format!("  then: {}", how_to_tell(*evaluation, outputs))
}
