//! `unyoke front`: the predicted trade-offs.

use clap::Args;
use std::process::ExitCode;
use unyoke::{Journal, Study};
use unyoke_view::{FrontView, PointView, best_for, front, has_values};

use crate::arguments::StudyArgument;
use crate::failure::Failure;
use crate::output::{Form, Table, say, say_json};
use crate::words::value;

/// Arguments of `unyoke front`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke front                     at most 20 designs that trade the objectives off best
  unyoke front --points 5          fewer, well spread
  unyoke front --weights 0.7,0.3   the one design that is best for these weights
  unyoke front --json | jq '.points[0].design'

Each value is the expected one ± one standard deviation; * marks what was measured there. Values of
formulas are exact; \"no value\" says that a formula has none there. An output with fewer than two
measured values is \"unknown\". \"feasible\" is the probability that all constraints hold and no
run fails.")]
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
        Some(weights) => best_for(&study, weights)?,
        None => front(&study, arguments.points.get())?,
    };
    match form {
        Form::Json => say_json(&front)?,
        Form::Table => say(&table(&front))?,
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn refuse_without_values<J: Journal>(study: &Study<J>) -> Result<(), Failure> {
    if has_values(study) {
        return Ok(());
    }
    Err(Failure::Refused("there are no values yet, so nothing can be predicted".to_owned()))
}

/// The front as a table, sorted by its first objective.
pub(crate) fn table(front: &FrontView) -> String {
    let titles = front.outputs.iter().map(|output| output.title());
    let feasible = front.has_feasibility().then(|| "feasible".to_owned());
    let mut table = Table::new(front.parameters.iter().cloned().chain(titles).chain(feasible));
    for point in front.sorted() {
        table.row(cells(front, point));
    }
    table.right(0..front.parameters.len() + front.outputs.len() + 1).to_string()
}

fn cells(front: &FrontView, point: &PointView) -> Vec<String> {
    let design = front.parameters.iter().map(|name| value(point.design.get(name)));
    let expected = front.outputs.iter().map(|output| point.expected(output));
    let feasible = front.has_feasibility().then(|| point.likely());
    design.chain(expected).chain(feasible).collect()
}
