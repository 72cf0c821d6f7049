//! `unyoke explain`: why the next evaluation is the next, and what is expected of a design.

use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;
use unyoke::{Design, Forecast, Journal, OptionRow, Problem, Study, Suggestion};
use unyoke_run::{Limits, StudyFile};

use crate::arguments::StudyArgument;
use crate::commands::{ask, front};
use crate::failure::Failure;
use crate::output::{Form, Table, say, say_json};
use crate::words::{design, parse_design, short};

/// Arguments of `unyoke explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke explain                          the table that the next suggestion won
  unyoke explain --at length=0.5,layers=3 what is expected there, and what measuring it is worth

The break-even cost is that at which the choice would change: the chosen evaluation must cost more
than that to lose, the others less than that to win.")]
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
        false => explain_designs(&study, &arguments.at, form)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn explain_next(study: &Study, file: &StudyFile, form: Form) -> Result<(), Failure> {
    let limits = Limits::new(&file.budget, &file.run, vec![]);
    let fits = study.suggest_where(|study, which| limits.permission(study, which))?;
    let is_possible = fits.is_some();
    let next = match fits {
        Some(next) => next,
        None => study.suggest()?,
    };
    if form == Form::Json {
        let mut explained = ask::as_json(&next);
        explained["possible"] = is_possible.into();
        return Ok(say_json(&explained)?);
    }
    if !is_possible {
        say("nothing more fits into the budget, or every design was evaluated; otherwise:")?;
    }
    let Suggestion { objective, cost, .. } = &next;
    let at = design(study.problem(), &next.design);
    say(&format!("next: {objective} at {at}, cost {}", short(*cost)))?;
    for note in &next.notes {
        say(&format!("  {note}"))?;
    }
    if !next.options.is_empty() {
        say(&options_table(study.problem(), &next.options, next.chosen))?;
    }
    let rest = file.budget.cost.map(|budget| budget - study.committed());
    if let (true, Some(rest), Some(gain)) = (is_possible, rest, next.gain_per_cost()) {
        let (rest, gain) = (short(rest), short(rest * gain));
        say(&format!("the rest of the budget, {rest}, would gain about {gain} at this rate"))?;
    }
    Ok(())
}

/// What is expected of a design, and what measuring there is worth: each objective, or all together.
struct Explained {
    design: Design,
    forecasts: Vec<Forecast>,
    worth: Vec<OptionRow>,
}

fn explain_designs<J: Journal>(
    study: &Study<J>,
    designs: &[String],
    form: Form,
) -> Result<(), Failure> {
    front::refuse_without_values(study)?;
    let problem = study.problem();
    let mut explained = vec![];
    for text in designs {
        let design = parse_design(problem, text)?;
        let worth = study.score(std::slice::from_ref(&design))?.into_iter().flatten().collect();
        let forecasts = study.forecast(&design)?.objectives;
        explained.push(Explained { design, forecasts, worth });
    }
    if form == Form::Json {
        let all: Vec<Value> = explained.iter().map(|one| explained_as_json(problem, one)).collect();
        return Ok(say_json(&all)?);
    }
    let mut table = Table::new(["at", "objective", "expected", "gain", "cost", "gain per cost"]);
    for Explained { design: there, forecasts, worth } in &explained {
        for (m, (objective, forecast)) in problem.objectives.iter().zip(forecasts).enumerate() {
            let alone = worth.iter().find(|row| row.objectives == [objective.name.as_str()]);
            let [gain, cost, rate] = alone.map_or_else(Default::default, worth_cells);
            let expected = front::forecast(study, m, forecast);
            table.row([design(problem, there), objective.name.clone(), expected, gain, cost, rate]);
        }
        for row in worth.iter().filter(|row| row.objectives.len() > 1) {
            let ([gain, cost, rate], names) = (worth_cells(row), row.objectives.join(" + "));
            table.row([design(problem, there), names, String::new(), gain, cost, rate]);
        }
    }
    Ok(say(&table.right(2..6).to_string())?)
}

/// Gain, cost and gain per cost of an option.
fn worth_cells(row: &OptionRow) -> [String; 3] {
    [row.gain(), row.cost, row.gain_per_cost()].map(short)
}

fn explained_as_json(problem: &Problem, explained: &Explained) -> Value {
    let names = problem.objectives.iter().map(|objective| objective.name.clone());
    let forecasts = explained
        .forecasts
        .iter()
        .map(|f| json!({ "mean": f.mean, "sd": f.sd, "measured": f.measured }));
    json!({
        "design": explained.design,
        "objectives": names.zip(forecasts).collect::<serde_json::Map<String, Value>>(),
        "options": explained.worth.iter().map(row_as_json).collect::<Vec<_>>(),
    })
}

/// The table that a suggestion won.
pub(crate) fn options_table(
    problem: &Problem,
    options: &[OptionRow],
    chosen: Option<usize>,
) -> String {
    let head = ["", "evaluate", "at", "expected gain", "cost", "gain per cost", "break-even cost"];
    let mut table = Table::new(head);
    for (index, row) in options.iter().enumerate() {
        table.row([
            if chosen == Some(index) { "▶".to_owned() } else { String::new() },
            row.objectives.join(" + "),
            design(problem, &row.design),
            short(row.gain()),
            short(row.cost),
            short(row.gain_per_cost()),
            row.break_even_cost.map_or_else(String::new, short),
        ]);
    }
    table.right(3..7).to_string()
}

pub(crate) fn row_as_json(row: &OptionRow) -> Value {
    json!({
        "objectives": row.objectives,
        "design": row.design,
        "gain": row.gain(),
        "cost": row.cost,
        "gain_per_cost": row.gain_per_cost(),
        "break_even_cost": row.break_even_cost,
    })
}
