//! `unyoke front`: the predicted trade-offs.

use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;
use unyoke::{Evaluation, Forecast, Front, FrontPoint, Journal, Noise, Problem, Status, Study};

use crate::arguments::StudyArgument;
use crate::failure::Failure;
use crate::output::{Form, Table, say, say_json};
use crate::words::{direction, plus_minus, short, value};

/// Arguments of `unyoke front`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke front                     at most 20 designs that trade the objectives off best
  unyoke front --points 5          fewer, well spread
  unyoke front --weights 0.7,0.3   the one design that is best for these weights
  unyoke front --json | jq '.points[0].design'

Each value is the expected one ± one standard deviation; * marks what was measured there. Of an
objective with fewer than two values nothing is known.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// At most so many designs.
    #[arg(long, default_value = "20")]
    points: std::num::NonZeroUsize,
    /// Weights of the objectives, in the order of the study file: shows the best design for them.
    #[arg(long, value_delimiter = ',', value_name = "WEIGHTS")]
    weights: Option<Vec<f64>>,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let study = arguments.study.read()?.look()?.study;
    refuse_without_values(&study)?;
    let front = match &arguments.weights {
        Some(weights) => {
            Front { objectives: names(study.problem()), points: vec![study.best_for(weights)?] }
        }
        None => study.front(arguments.points.get())?,
    };
    match form {
        Form::Json => say_json(&as_json(&front))?,
        Form::Table => say(&table(&study, &front))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether there is anything to predict from.
pub(crate) fn has_values<J: Journal>(study: &Study<J>) -> bool {
    study.evaluations().iter().any(|evaluation| matches!(evaluation.status, Status::Told(_)))
}

pub(crate) fn refuse_without_values<J: Journal>(study: &Study<J>) -> Result<(), Failure> {
    if has_values(study) {
        return Ok(());
    }
    Err(Failure::Refused("there are no values yet, so nothing can be predicted".to_owned()))
}

fn names(problem: &Problem) -> Vec<String> {
    problem.objectives.iter().map(|objective| objective.name.clone()).collect()
}

/// The front as a table, sorted by its first objective.
pub(crate) fn table<J: Journal>(study: &Study<J>, front: &Front) -> String {
    let problem = study.problem();
    let parameters = problem.parameters.iter().map(|parameter| parameter.name().to_owned());
    let objectives =
        problem.objectives.iter().map(|o| format!("{} ({})", o.name, direction(o.direction)));
    let columns = problem.parameters.len() + problem.objectives.len();
    let mut table = Table::new(parameters.chain(objectives));
    let mut points: Vec<&FrontPoint> = front.points.iter().collect();
    points.sort_by(|a, b| first_mean(a).total_cmp(&first_mean(b)));
    for point in points {
        let design = problem.parameters.iter().map(|p| value(&point.design, p));
        let forecasts = point.objectives.iter().enumerate().map(|(m, f)| forecast(study, m, f));
        table.row(design.chain(forecasts));
    }
    table.right(0..columns).to_string()
}

fn first_mean(point: &FrontPoint) -> f64 {
    point.objectives.first().map_or(0.0, |forecast| forecast.mean)
}

/// `1.5 ± 0.1`; what was measured, with a star; or that nothing is known yet of this objective.
pub(crate) fn forecast<J: Journal>(study: &Study<J>, objective: usize, f: &Forecast) -> String {
    let exact = study.problem().objectives[objective].noise == Noise::Deterministic;
    match f.measured.last() {
        Some(value) if exact => format!("{} *", short(*value)),
        _ if !has_scale(study, objective) => "unknown".to_owned(),
        Some(_) => plus_minus(f.mean, f.sd) + " *",
        None => plus_minus(f.mean, f.sd),
    }
}

/// Whether there are enough values of an objective to tell how much it varies.
fn has_scale<J: Journal>(study: &Study<J>, objective: usize) -> bool {
    let told = |e: &&Evaluation| e.objective == objective && matches!(e.status, Status::Told(_));
    study.evaluations().iter().filter(told).count() > 1
}

pub(crate) fn as_json(front: &Front) -> Value {
    let point = |point: &FrontPoint| {
        let named = front.objectives.iter().zip(&point.objectives);
        let objectives: serde_json::Map<String, Value> = named
            .map(|(name, f)| {
                (name.clone(), json!({ "mean": f.mean, "sd": f.sd, "measured": f.measured }))
            })
            .collect();
        json!({ "design": point.design, "objectives": objectives })
    };
    json!({ "points": front.points.iter().map(point).collect::<Vec<_>>() })
}
