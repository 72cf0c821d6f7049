//! `unyoke status`: how a study stands.

use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;
use unyoke::{Evaluation, Status};
use unyoke_run::{BY_HAND, Layout, Looked, StudyFile, is_gone};
use unyoke_store::{LeaseState, LeaseStatus};

use crate::arguments::StudyArgument;
use crate::failure::Failure;
use crate::output::{Form, Table, say, say_json};
use crate::words::{count, direction, exact_design, is_over_budget, short, spent_of};

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

/// How a study stands.
#[derive(Debug, Serialize)]
struct Standing {
    name: Option<String>,
    store: String,
    spent: f64,
    committed: f64,
    budget: Option<f64>,
    /// Most evaluations of single objectives.
    evaluations: BTreeMap<String, u64>,
    /// Seconds that a run may take.
    wall_time: Option<f64>,
    objectives: Vec<ObjectiveStanding>,
    pending: Vec<PendingStanding>,
    late_results: usize,
}

#[derive(Debug, Serialize)]
struct ObjectiveStanding {
    name: String,
    direction: &'static str,
    cost: f64,
    values: usize,
    failed: usize,
    pending: usize,
    spent: f64,
    best: Option<f64>,
}

#[derive(Debug, Serialize)]
struct PendingStanding {
    evaluation: u64,
    objective: String,
    design: unyoke::Design,
    /// Who works on it; nobody if it is orphaned and waits to be resumed.
    owner: Option<String>,
    attempt: u32,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let looked = file.look()?;
    let standing = standing(&file, &looked)?;
    match form {
        Form::Json => say_json(&standing)?,
        Form::Table => say(&in_words(&file, &standing))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn standing(file: &StudyFile, Looked { study, store }: &Looked) -> Result<Standing, Failure> {
    let (leases, layout) = (store.leases()?, Layout::new(&file.runs));
    let has_owner = |status: &LeaseStatus| {
        let is_live = matches!(status.state, LeaseState::Live { .. });
        is_live && !is_gone(&layout, &status.lease.owner).unwrap_or(false)
    };
    let pending = study.evaluations().iter().filter(|e| e.status == Status::Pending);
    let pending = pending.map(|e| {
        let lease = leases.iter().find(|status| status.lease.evaluation == e.id);
        PendingStanding {
            evaluation: e.id,
            objective: study.problem().objectives[e.objective].name.clone(),
            design: e.design.clone(),
            owner: lease.filter(|status| has_owner(status)).map(|s| s.lease.owner.clone()),
            attempt: lease.map_or(0, |status| status.lease.attempt),
        }
    });
    Ok(Standing {
        name: file.name.clone(),
        store: file.store.to_string(),
        spent: study.spent(),
        committed: study.committed(),
        budget: file.budget.cost,
        evaluations: file.budget.evaluations.clone(),
        wall_time: file.budget.wall_time.map(|time| time.as_secs_f64()),
        pending: pending.collect(),
        objectives: objectives(study.problem(), study.evaluations(), |name| study.cost(name))?,
        late_results: store.late()?.len(),
    })
}

fn objectives(
    problem: &unyoke::Problem,
    evaluations: &[Evaluation],
    cost: impl Fn(&str) -> unyoke::Result<f64>,
) -> Result<Vec<ObjectiveStanding>, Failure> {
    let standing = |(m, objective): (usize, &unyoke::Objective)| {
        let of = || evaluations.iter().filter(move |e| e.objective == m);
        let values: Vec<f64> = of()
            .filter_map(|e| match e.status {
                Status::Told(value) => Some(value),
                _ => None,
            })
            .collect();
        let failed = of().filter(|e| matches!(e.status, Status::Failed(_)));
        let paid = of().filter(|e| matches!(e.status, Status::Told(_) | Status::Failed(_)));
        let best = match objective.direction {
            unyoke::Direction::Minimise => values.iter().copied().reduce(f64::min),
            unyoke::Direction::Maximise => values.iter().copied().reduce(f64::max),
        };
        Ok(ObjectiveStanding {
            name: objective.name.clone(),
            direction: direction(objective.direction),
            cost: cost(&objective.name)?,
            values: values.len(),
            failed: failed.count(),
            pending: of().filter(|e| e.status == Status::Pending).count(),
            spent: paid.map(|e| e.cost).sum(),
            best,
        })
    };
    problem.objectives.iter().enumerate().map(standing).collect()
}

fn in_words(file: &StudyFile, standing: &Standing) -> String {
    let name = standing.name.as_deref().unwrap_or("the study");
    let mut text = format!("{name}, kept in {}\n", standing.store);
    text += &spent_of(standing.spent, standing.budget);
    if standing.committed > standing.spent {
        text += &format!(", {} under way", short(standing.committed - standing.spent));
    }
    text += "\n";
    if is_over_budget(standing.spent, standing.budget) {
        text +=
            "the budget was lowered, or evaluations that had been withdrawn were made after all\n";
    }
    for (objective, most) in &standing.evaluations {
        text += &format!("at most {} of {objective}\n", count(*most as usize, "evaluation"));
    }
    let head = ["objective", "direction", "cost", "values", "failed", "pending", "spent", "best"];
    let mut table = Table::new(head);
    for o in &standing.objectives {
        table.row([
            o.name.clone(),
            o.direction.to_owned(),
            short(o.cost),
            o.values.to_string(),
            o.failed.to_string(),
            o.pending.to_string(),
            short(o.spent),
            o.best.map_or_else(|| "-".to_owned(), short),
        ]);
    }
    text += &format!("{}\n", table.right(2..8));
    for pending in &standing.pending {
        text += &pending_in_words(file, pending);
    }
    if standing.late_results > 0 {
        let late = count(standing.late_results, "late result");
        text += &format!("{late}, kept but not counted: the evaluation had been settled before\n");
    }
    text
}

fn pending_in_words(file: &StudyFile, pending: &PendingStanding) -> String {
    let who = match pending.owner.as_deref() {
        Some(BY_HAND) => format!(
            "asked for by hand; record its result: unyoke tell {} VALUE",
            pending.evaluation
        ),
        Some(owner) => format!("running, by {owner}"),
        None => "orphaned; `unyoke run` will resume it".to_owned(),
    };
    let at = exact_design(&file.problem, &pending.design);
    format!("evaluation {}: {} at {at}; {who}\n", pending.evaluation, pending.objective)
}
