//! `unyoke front`: the predicted trade-offs, and those that were measured.

use clap::Args;
use std::process::ExitCode;
use unyoke::{Journal, Study};
use unyoke_view::{
    AverageView, FrontView, MeasuredFrontView, MeasuredPointView, PointView, ROWS, best_for, front,
    has_values, measured_front,
};

use crate::arguments::StudyArgument;
use crate::failure::Failure;
use crate::live::Busy;
use crate::output::{Form, Table, say, say_json};
use crate::words::{count, value};

/// Arguments of `unyoke front`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke front                     at most 20 designs that trade the objectives off best
  unyoke front --points 5          fewer, well spread
  unyoke front --weights 0.7,0.3   the one design that is best for these weights
  unyoke front --cautious          ranked by values that are reached with probability 90 %
  unyoke front --measured          what you have: designs at which everything was measured
  unyoke front --json | jq '.points[0].design'

Values are expected values ± one standard deviation; * marks values that were measured. Values of formulas
are exact; \"no value\": the formula has none at this design. \"unknown\": fewer than two values of this output
were measured. \"feasible\": the probability that all constraints hold and no run fails. \"confirmed\": every
output was measured at this design; a prediction replaces such a design only if it is better even at the
bad end of its 90 % interval. `unyoke confirm` measures what is missing.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// At most so many designs [default: 20].
    #[arg(long)]
    points: Option<std::num::NonZeroUsize>,
    /// Weights of the objectives, in the order of the study file: shows the best design for them,
    /// from three parameters on by values that are reached with a probability of 0.7.
    #[arg(long, value_delimiter = ',', value_name = "WEIGHTS")]
    weights: Option<Vec<f64>>,
    /// Rank designs by the values that they reach with this probability, from 0.5 to below 1 [0.9 if none is
    /// given].
    // With a blank, the study file would be taken for it.
    #[arg(long, value_name = "QUANTILE", num_args = 0..=1, require_equals = true,
          default_missing_value = "0.9")]
    cautious: Option<f64>,
    /// Show what was measured instead: designs at which every output was, feasible, and not beaten by
    /// another of them.
    #[arg(long, conflicts_with_all = ["points", "weights", "cautious"])]
    measured: bool,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let study = arguments.study.read()?.look()?.study;
    refuse_without_values(&study)?;
    let evaluations = count(study.evaluations().len(), "evaluation");
    let busy = Busy::with(format!("predicting from {evaluations}"));
    if arguments.measured {
        drop(busy);
        return show_measured(&measured_front(&study)?, form);
    }
    let front = match &arguments.weights {
        Some(weights) => best_for(&study, weights, arguments.cautious)?,
        None => {
            let points = arguments.points.map_or(ROWS, usize::from);
            front(&study, points, arguments.cautious)?
        }
    };
    drop(busy);
    match form {
        Form::Json => say_json(&front)?,
        Form::Table => say(&table(&front))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show_measured(front: &MeasuredFrontView, form: Form) -> Result<ExitCode, Failure> {
    match form {
        Form::Json => say_json(front)?,
        Form::Table if front.points.is_empty() => say(
            "no feasible design has all outputs measured yet; `unyoke confirm` measures what is missing at the \
             recommended designs",
        )?,
        Form::Table => say(&measured_table(front))?,
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn refuse_without_values<J: Journal>(study: &Study<J>) -> Result<(), Failure> {
    if has_values(study) {
        return Ok(());
    }
    Err(Failure::Refused(
        "there are no values yet, so nothing can be predicted; `unyoke ask` says what to measure"
            .to_owned(),
    ))
}

/// The front as a table, sorted by its first objective.
pub(crate) fn table(front: &FrontView) -> String {
    let titles = front.outputs.iter().map(|output| output.title());
    let feasible = front.has_feasibility().then(|| "feasible".to_owned());
    let known = titles.chain(feasible).chain(["confirmed".to_owned()]);
    let mut table = Table::new(front.parameters.iter().cloned().chain(known));
    for point in front.sorted() {
        table.row(cells(front, point));
    }
    let numbers = front.parameters.len() + front.outputs.len();
    table.right(0..numbers + usize::from(front.has_feasibility())).to_string()
}

fn cells(front: &FrontView, point: &PointView) -> Vec<String> {
    let design = front.parameters.iter().map(|name| value(point.design.get(name)));
    let expected = front.outputs.iter().map(|output| point.expected(output));
    let feasible = front.has_feasibility().then(|| point.likely());
    let confirmed = point.confirmation().to_owned();
    design.chain(expected).chain(feasible).chain([confirmed]).collect()
}

/// What was measured as a table, sorted by the first objective.
pub(crate) fn measured_table(front: &MeasuredFrontView) -> String {
    let titles = front.outputs.iter().map(|output| output.title());
    let mut table = Table::new(front.parameters.iter().cloned().chain(titles));
    let cells = |point: &MeasuredPointView| {
        let words =
            |name: &String| point.outputs.get(name).map_or_else(String::new, AverageView::words);
        let design = front.parameters.iter().map(|name| value(point.design.get(name)));
        design.chain(front.outputs.iter().map(|o| words(&o.name))).collect::<Vec<_>>()
    };
    for point in front.sorted() {
        table.row(cells(point));
    }
    table.right(0..front.parameters.len() + front.outputs.len()).to_string()
}
