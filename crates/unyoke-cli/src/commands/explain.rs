//! `unyoke explain`: why the next evaluation is the next, and what is expected of a design.

use clap::Args;
use std::process::ExitCode;
use unyoke::{Design, Journal, Obstacle, Problem, Study};
use unyoke_run::{Limits, StudyFile};
use unyoke_view::{
    DesignView, GainUnit, ModelView, OptionView, OutputView, ProspectView, SuggestionView,
    explain_designs, explanation, outputs,
};

use crate::arguments::StudyArgument;
use crate::commands::front;
use crate::failure::Failure;
use crate::output::{Form, Table, say, say_json};
use crate::words::{design, parse_design, short};

/// Arguments of `unyoke explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke explain                          the table that the next suggestion won
  unyoke explain --at length=0.5,layers=3 what is expected there, and what measuring it is worth

Gains are shares of the front's range: what somebody would lose, on average, with the worst of the designs
that are best for somebody. At its break-even cost an evaluation would be worth as much per unit of cost as
the best of the others. The lines below the table say which improvement of a single objective would be as
good; docs/stopping.md explains it.

Models are checked by predicting each value from all the others. Explained: the share of the variance that
these predictions explain. Error / stated: how large their errors are compared with the standard deviations
stated; about 1 is right.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// A design of your own: all parameters as name=value, separated by commas. May be repeated.
    #[arg(long, value_name = "DESIGN")]
    at: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let study = file.look()?.study;
    match arguments.at.is_empty() {
        true => explain_next(&study, &file, form)?,
        false => explain_own(&study, &arguments.at, form)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn explain_next(study: &Study, file: &StudyFile, form: Form) -> Result<(), Failure> {
    let limits = Limits::new(&file.budget, &file.run, vec![]);
    let allowed = study.suggest_where(|study, which| limits.permission(study, which))?;
    let explained = explanation(study, allowed.as_ref(), file.stop.as_ref())?;
    if form == Form::Json {
        return Ok(say_json(&explained)?);
    }
    let next = &explained.next;
    if let Some(obstacle) = explained.obstacle {
        let otherwise = match obstacle {
            Obstacle::Budget => "; with more to spend it would be:",
            Obstacle::Exhausted => {
                ", and measuring one again would give the same values; the next repetition would be:"
            }
        };
        say(&format!("{obstacle}{otherwise}"))?;
    }
    let at = design(study.problem(), &next.design);
    say(&format!("next: {} at {at}, cost {}", next.measurement, short(next.cost)))?;
    for note in &next.notes {
        say(&format!("  {note}"))?;
    }
    if !next.options.is_empty() {
        say(&options_table(study.problem(), next))?;
    }
    for sentence in next.prospect.iter().flat_map(ProspectView::sentences) {
        say(&sentence)?;
    }
    if let Some(appraisal) = &next.appraisal {
        say(&format!("[stop]: {}", appraisal.sentence()))?;
    }
    say_models(&explained.models)
}

/// How far the models can be trusted, if there is anything to compare.
fn say_models(models: &[ModelView]) -> Result<(), Failure> {
    if models.iter().all(|model| model.check.designs == 0) {
        return Ok(());
    }
    let mut table = Table::new(ModelView::HEAD);
    for model in models {
        table.row(model.cells());
    }
    say("\nmodels, checked by predicting each value from all the others:")?;
    Ok(say(&table.right(1..4).to_string())?)
}

fn explain_own<J: Journal>(
    study: &Study<J>,
    designs: &[String],
    form: Form,
) -> Result<(), Failure> {
    front::refuse_without_values(study)?;
    let problem = study.problem();
    let designs: Vec<Design> =
        designs.iter().map(|text| parse_design(problem, text)).collect::<Result<_, _>>()?;
    let explained = explain_designs(study, &designs)?;
    if form == Form::Json {
        return Ok(say_json(&explained)?);
    }
    let Some(unit) = explained.first().map(DesignView::gain_unit) else { return Ok(()) };
    let [gain, per_cost] = unit.heads();
    let mut table = Table::new(["at", "what", "expected", gain, "cost", per_cost]);
    for one in &explained {
        let at = design(problem, &one.point.design);
        for row in rows(&outputs(study), one) {
            table.row(std::iter::once(at.clone()).chain(row));
        }
    }
    Ok(say(&table.right(2..6).to_string())?)
}

/// A row for each output, and one for each measurement that is not called as an output is.
fn rows(outputs: &[OutputView], explained: &DesignView) -> Vec<Vec<String>> {
    let (DesignView { point, options, .. }, unit) = (explained, explained.gain_unit());
    let is_named = |option: &OptionView, name: &str| option.measurements == [name];
    let expected = outputs.iter().map(|output| {
        let option = options.iter().find(|option| is_named(option, &output.name));
        let worth = option.map_or_else(Default::default, |option| worth_cells(option, unit));
        [output.name.clone(), point.expected(output)].into_iter().chain(worth).collect()
    });
    let feasible = point.feasibility.map(|_| {
        let mut cells = vec!["feasible".to_owned(), point.likely()];
        cells.resize(5, String::new());
        cells
    });
    let is_other = |option: &&OptionView| !outputs.iter().any(|o| is_named(option, &o.name));
    let others = options.iter().filter(is_other).map(|option| {
        let names = [option.measurements.join(" + "), String::new()];
        names.into_iter().chain(worth_cells(option, unit)).collect()
    });
    expected.chain(feasible).chain(others).collect()
}

/// Gain, cost and gain per cost of an option.
fn worth_cells(option: &OptionView, unit: GainUnit) -> [String; 3] {
    [unit.words(option.gain), short(option.cost), unit.words(option.gain_per_cost)]
}

/// The table that a suggestion won.
fn options_table(problem: &Problem, next: &SuggestionView) -> String {
    let unit = next.gain_unit();
    let [gain, per_cost] = unit.heads();
    let mut table = Table::new(["", "evaluate", "at", gain, "cost", per_cost, "break-even cost"]);
    for (index, option) in next.options.iter().enumerate() {
        table.row([
            if next.chosen == Some(index) { "▶".to_owned() } else { String::new() },
            option.measurements.join(" + "),
            design(problem, &option.design),
            unit.words(option.gain),
            short(option.cost),
            unit.words(option.gain_per_cost),
            option.break_even_cost.map_or_else(String::new, short),
        ]);
    }
    table.right(3..7).to_string()
}
