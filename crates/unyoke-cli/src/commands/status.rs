//! `unyoke status`: how a study stands.

use clap::Args;
use std::process::ExitCode;
use unyoke_run::{BY_HAND, Layout, Looked, StudyFile, is_gone, job_of};
use unyoke_store::{LeaseState, LeaseStatus, Store};
use unyoke_view::{Custody, OutputStatus, PendingView, Plan, StatusView, Worker, status};

use crate::arguments::StudyArgument;
use crate::failure::Failure;
use crate::output::{Form, Table, say, say_json};
use crate::words::{
    cost, count, exact_design, how_to_tell, is_over_budget, reading, short, spent_of,
};

/// Arguments of `unyoke status`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke status
  unyoke status --json | jq .spent

It may be called at any time, also while the study runs.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let Looked { study, store, .. } = file.look()?;
    let status = status(&study, plan(&file), &custody(&file, &store)?)?;
    match form {
        Form::Json => say_json(&status)?,
        Form::Table => say(&in_words(&file, &status))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(file: &StudyFile) -> Plan {
    Plan {
        name: file.name.clone(),
        store: file.store.to_string(),
        budget: file.budget.cost,
        evaluations: file.budget.evaluations.clone(),
        wall_time: file.budget.wall_time.map(|time| time.as_secs_f64()),
    }
}

/// Who works on what, by the leases of the study.
fn custody(file: &StudyFile, store: &Store) -> Result<Custody, Failure> {
    let layout = Layout::new(&file.runs);
    let has_owner = |status: &LeaseStatus| {
        let is_live = matches!(status.state, LeaseState::Live { .. });
        is_live && !is_gone(&layout, &status.lease.owner).unwrap_or(false)
    };
    let worker = |status: LeaseStatus| {
        let owner = has_owner(&status).then(|| status.lease.owner.clone());
        (status.lease.evaluation, Worker { owner, attempt: status.lease.attempt })
    };
    let workers = store.leases()?.into_iter().map(worker).collect();
    Ok(Custody { workers, late_results: store.late()?.len() })
}

fn in_words(file: &StudyFile, status: &StatusView) -> String {
    let name = status.plan.name.as_deref().unwrap_or("the study");
    let mut text = format!("{name}, stored in {}\n", status.plan.store);
    text += &spent_of(status.spent, status.plan.budget);
    if status.committed > status.spent {
        text += &format!(", {} under way", short(status.committed - status.spent));
    }
    text += "\n";
    if is_over_budget(status.spent, status.plan.budget) {
        text += "evaluations cost more than expected, the budget was lowered, or evaluations that had \
                 been withdrawn were made after all\n";
    }
    for (measurement, most) in &status.plan.evaluations {
        text += &format!("at most {} of {measurement}\n", count(*most as usize, "evaluation"));
    }
    text += &format!("{}\n\n{}\n", measurements(status), outputs(status));
    for pending in &status.pending {
        text += &pending_in_words(file, pending);
    }
    for corrected in &status.corrections {
        if let Some(changes) = corrected.changes() {
            let number = corrected.evaluation;
            let what = corrected.measurement.as_deref().unwrap_or("imported");
            text += &format!("evaluation {number} ({what}): {changes}\n");
        }
    }
    if status.late_results > 0 {
        let late = count(status.late_results, "late result");
        text += &format!("{late}, kept but not counted: the evaluation had ended before\n");
    }
    text
}

fn measurements(status: &StatusView) -> Table {
    let head = ["measurement", "gives", "cost", "completed", "failed", "pending", "spent"];
    let mut table = Table::new(head);
    for m in &status.measurements {
        table.row([
            m.name.clone(),
            m.outputs.join(", "),
            cost(&m.cost),
            m.completed.to_string(),
            m.failed.to_string(),
            m.pending.to_string(),
            short(m.spent),
        ]);
    }
    table.right(2..7)
}

fn outputs(status: &StatusView) -> Table {
    let mut table = Table::new(["output", "wanted", "values", "best"]);
    for OutputStatus { output, best, best_sd } in &status.outputs {
        let values = match &output.formula {
            Some(_) => "formula".to_owned(),
            None => output.values.to_string(),
        };
        let best = best.map_or_else(|| "-".to_owned(), |best| reading(best, *best_sd));
        table.row([output.name.clone(), output.wish.words(), values, best]);
    }
    table.right(2..4)
}

fn pending_in_words(file: &StudyFile, pending: &PendingView) -> String {
    let outputs = file.measurement_run(&pending.measurement).map_or(&[][..], |run| &run.outputs);
    let who = match pending.owner.as_deref() {
        Some(BY_HAND) => format!(
            "asked for by hand; record its result: {}",
            how_to_tell(pending.evaluation, outputs)
        ),
        Some(owner) => format!("running, by {owner}"),
        None => "orphaned; `unyoke run` will resume it".to_owned(),
    };
    let job = job_of(&Layout::new(&file.runs), pending.evaluation);
    let who = job.map_or(who.clone(), |job| format!("{who}; job {job}"));
    let at = exact_design(&file.problem, &pending.design);
    format!("evaluation {}: {} at {at}; {who}\n", pending.evaluation, pending.measurement)
}
