//! `unyoke status`: how a study stands.

use clap::Args;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;
use unyoke::{Cost, Obstacle, Permission, Study};
use unyoke_run::{BY_HAND, Layout, Limits, Looked, StudyFile, Working, now, working};
use unyoke_store::Store;
use unyoke_view::{
    Custody, OutputStatus, PendingView, Plan, QueuedView, StatusView, Worker, status,
};

use crate::arguments::StudyArgument;
use crate::clock::{pause_in_words, since};
use crate::failure::Failure;
use crate::output::{Form, Table, say_raw};
use unyoke_view::words::visible;

use crate::words::{
    cost, count, exact_design, how_to_tell, is_over_budget, reading, short, spent_of,
};

/// Arguments of `unyoke status`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke status
  unyoke status --watch           shows it again whenever something has changed, until Ctrl-C
  unyoke status --json | jq .spent

It may be called at any time, also while the study runs.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// Show it again whenever something has changed, until Ctrl-C.
    #[arg(long)]
    watch: bool,
}

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// So many designs of the queue are shown.
const SHOWN: usize = 10;

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let (mut shown, is_terminal) = (String::new(), io::stdout().is_terminal());
    loop {
        let text = look(&file, form)?;
        if text != shown {
            // On a terminal in the place of the last, otherwise below it.
            if is_terminal && arguments.watch {
                say_raw("\u{1b}[2J\u{1b}[H")?;
            }
            say_raw(&text)?;
            shown = text;
        }
        if !arguments.watch {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(PAUSE);
    }
}

/// How the study stands now, as it is shown.
fn look(file: &StudyFile, form: Form) -> Result<String, Failure> {
    let Looked { study, store, .. } = file.look()?;
    let status = status(&study, plan(file), &custody(file, &store)?)?;
    Ok(match form {
        Form::Json => serde_json::to_string_pretty(&status).map_err(io::Error::from)?,
        Form::Table => visible(&(in_words(file, &status) + &next_in_words(file, &study, &status))),
    })
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
    let worker = |(evaluation, working): (u64, Working)| {
        let Working { owner, attempt, since, job } = working;
        (evaluation, Worker { owner, attempt, since, job })
    };
    let workers = working(&Layout::new(&file.runs), store)?.into_iter().map(worker).collect();
    Ok(Custody { workers, late_results: store.late()?.len(), now: now() })
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
    for paused in &status.paused {
        let name = &paused.measurement;
        text += &format!("{}; `unyoke resume {name}` ends that\n", pause_in_words(paused));
    }
    for pending in &status.pending {
        text += &pending_in_words(file, status, pending);
    }
    for queued in status.queue.iter().take(SHOWN) {
        text += &queued_in_words(file, queued);
    }
    if status.queue.len() > SHOWN {
        text += &format!("and {} more in the queue\n", status.queue.len() - SHOWN);
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

/// What will be asked for next, or why nothing will.
fn next_in_words(file: &StudyFile, study: &Study, status: &StatusView) -> String {
    let limits = Limits::new(&file.budget, &file.run, vec![]);
    let choices = study.config().choices(study.problem());
    let is_possible = |which: &Vec<usize>| limits.permission(study, which) != Permission::Never;
    if choices.iter().any(is_possible) {
        return String::new();
    }
    let open = limits.without_pauses();
    if choices.iter().any(|which| open.permission(study, which) != Permission::Never) {
        return "nothing new can be asked for while these measurements are paused\n".to_owned();
    }
    let left = status.plan.budget.map(|budget| (budget - status.committed).max(0.0));
    let price = |m: &unyoke_view::MeasurementStatus| match m.cost {
        Cost::Constant(cost) => Some((cost, m.name.clone())),
        Cost::Formula(_) | Cost::Learned(_) => None,
    };
    let prices = status.measurements.iter().filter_map(price);
    match (left, prices.min_by(|a, b| a.0.total_cmp(&b.0))) {
        (Some(left), Some((cost, name))) if cost > left => format!(
            "{}: {} is left, and the cheapest, {name}, costs {}\n",
            Obstacle::Budget,
            short(left),
            short(cost)
        ),
        _ => format!("{}\n", Obstacle::Budget),
    }
}

fn queued_in_words(file: &StudyFile, queued: &QueuedView) -> String {
    let QueuedView { entry, design, measurements } = queued;
    let at = exact_design(&file.problem, design);
    format!("queued as q{entry}: {} at {at}\n", measurements.join(", "))
}

fn pending_in_words(file: &StudyFile, status: &StatusView, pending: &PendingView) -> String {
    let outputs = file.measurement_run(&pending.measurement).map_or(&[][..], |run| &run.outputs);
    let who = match pending.owner.as_deref() {
        Some(BY_HAND) => format!(
            "asked for by hand; record its result: {}",
            how_to_tell(pending.evaluation, outputs)
        ),
        Some(owner) => match pending.since {
            Some(begun) => format!("running for {}, by {owner}", since(begun)),
            None => format!("running, by {owner}"),
        },
        None if status.paused.iter().any(|paused| paused.measurement == pending.measurement) => {
            "waits until it is not paused any more".to_owned()
        }
        None => "orphaned; `unyoke run` will resume it".to_owned(),
    };
    let job = pending.job.as_ref();
    let who = job.map_or(who.clone(), |job| format!("{who}; job {job}"));
    let at = exact_design(&file.problem, &pending.design);
    format!("evaluation {}: {} at {at}; {who}\n", pending.evaluation, pending.measurement)
}
