//! `unyoke front`: the predicted trade-offs.

use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;
use unyoke::{Forecast, Front, FrontPoint, Journal, Problem, Status, Study};

use crate::arguments::StudyArgument;
use crate::failure::Failure;
use crate::output::{Form, Table, say, say_json};
use crate::words::{goal, plus_minus, value};

/// Arguments of `unyoke front`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke front                     at most 20 designs that trade the objectives off best
  unyoke front --points 5          fewer, well spread
  unyoke front --weights 0.7,0.3   the one design that is best for these weights
  unyoke front --json | jq '.points[0].design'

Each value is the expected one ± one standard deviation; * marks what was measured there.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// At most so many designs.
    #[arg(long, default_value_t = 20)]
    points: usize,
    /// Weights of the objectives, in the order of the study file: shows the best design for them.
    #[arg(long, value_delimiter = ',', value_name = "WEIGHTS")]
    weights: Option<Vec<f64>>,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let study = arguments.study.read()?.open()?.study;
    refuse_without_values(&study)?;
    let front = match &arguments.weights {
        Some(weights) => {
            Front { objectives: names(study.problem()), points: vec![study.best_for(weights)?] }
        }
        None => study.front(arguments.points)?,
    };
    match form {
        Form::Json => say_json(&as_json(&front))?,
        Form::Table => say(&table(study.problem(), &front))?,
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
pub(crate) fn table(problem: &Problem, front: &Front) -> String {
    let parameters = problem.parameters.iter().map(|parameter| parameter.name().to_owned());
    let objectives =
        problem.objectives.iter().map(|o| format!("{} ({})", o.name, goal(o.direction)));
    let columns = problem.parameters.len() + problem.objectives.len();
    let mut table = Table::new(parameters.chain(objectives));
    let mut points: Vec<&FrontPoint> = front.points.iter().collect();
    points.sort_by(|a, b| first_mean(a).total_cmp(&first_mean(b)));
    for point in points {
        let design = problem.parameters.iter().map(|p| value(&point.design, p));
        table.row(design.chain(point.objectives.iter().map(forecast)));
    }
    table.right(0..columns).to_string()
}

fn first_mean(point: &FrontPoint) -> f64 {
    point.objectives.first().map_or(0.0, |forecast| forecast.mean)
}

/// `1.5 ± 0.1`, with a star if it was measured.
pub(crate) fn forecast(forecast: &Forecast) -> String {
    let star = if forecast.measured.is_empty() { "" } else { " *" };
    plus_minus(forecast.mean, forecast.sd) + star
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
