//! `unyoke confirm`: measures what the recommended designs lack, and says how predictions held up.

use clap::Args;
use serde_json::json;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use unyoke::{NextConfirmation, Obstacle, Permission, Study, Suggestion};
use unyoke_run::{Ending, Limits, StudyFile, Summary};
use unyoke_store::Store;
use unyoke_view::{
    ConfirmationView, ConfirmedValueView, MeasuredFrontView, ROWS, SuggestionView, confirmation,
    measured_front,
};

use crate::arguments::StudyArgument;
use crate::clock::pause_in_words;
use crate::commands::front::{measured_table, refuse_without_values};
use crate::commands::{ask, run};
use crate::failure::Failure;
use crate::output::{Form, Table, say, say_json};
use crate::words::{design, short};

/// Arguments of `unyoke confirm`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke confirm                   measures what the designs of `unyoke front` lack, within the budget
  unyoke confirm --points 5        of five designs only
  unyoke confirm --cost 300        with a larger budget than the file says
  unyoke confirm --count 4         without commands in the study file: asks for four evaluations

Designs are confirmed one after the other, those first whose values are worth most for what they cost;
what is begun can be finished within the budget. Killed and started again, it goes on with the same designs.
At the end it shows each value beside the interval that was predicted, and what is measured now.

In a study file, confirm = 0.2 in [run] keeps a fifth of the budget for this at the end of `unyoke run`.
Without commands in the file, it says what to measure: record results with `unyoke tell`.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// At most so many recommended designs [default: 20].
    #[arg(long)]
    points: Option<NonZeroUsize>,
    /// Evaluations at once, instead of what the study file says.
    #[arg(long)]
    slots: Option<NonZeroUsize>,
    /// Total cost, instead of what the study file says.
    #[arg(long, value_parser = run::positive, allow_negative_numbers = true)]
    cost: Option<f64>,
    /// How many evaluations to ask for, where there are no commands to run.
    #[arg(long, default_value = "1")]
    count: NonZeroUsize,
}

impl Arguments {
    fn points(&self) -> usize {
        self.points.map_or(ROWS, usize::from)
    }
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let mut file = arguments.study.read()?;
    file.run.slots = arguments.slots.map_or(file.run.slots, usize::from);
    file.budget.cost = arguments.cost.or(file.budget.cost);
    refuse_without_values(&file.look()?.study)?;
    if file.run.measurements.iter().all(|run| run.command.is_none()) {
        return by_hand(arguments, &file, form);
    }
    let points = arguments.points();
    let summary = run::work(&file, &[], |runner| runner.confirming(points))?;
    conclude(arguments, &file, &summary, form)
}

/// Says what came out.
fn conclude(
    arguments: &Arguments,
    file: &StudyFile,
    summary: &Summary,
    form: Form,
) -> Result<ExitCode, Failure> {
    let study = file.look()?.study;
    let left_over = left_over(arguments, &study)?;
    let ending = match (&summary.ending, &left_over) {
        (Ending::Confirmed { paused }, left) if summary.finished == 0 && paused.is_empty() => {
            let is_left = left.is_some();
            if is_left { Obstacle::Budget.to_string() } else { "nothing to confirm".to_owned() }
        }
        (ending, _) => run::in_words(study.problem(), ending),
    };
    let (held_up, measured) = (confirmation(&study)?, measured_front(&study)?);
    match form {
        Form::Json => say_json(&json!({
            "ending": ending,
            "spent": summary.spent,
            "finished": summary.finished,
            "failed": summary.failed,
            "pending": summary.pending,
            "confirmation": held_up,
            "measured_front": measured,
        }))?,
        Form::Table => {
            show(&study, held_up.as_ref(), &measured)?;
            say(&run::spending(file, summary, &ending))?;
            left_over.iter().try_for_each(|hint| say(hint))?;
        }
    }
    run::judge(summary, Ok(None))
}

/// How predictions held up, and what is measured now.
fn show(
    study: &Study,
    held_up: Option<&ConfirmationView>,
    measured: &MeasuredFrontView,
) -> Result<(), Failure> {
    if let Some(held_up) = held_up.filter(|one| !one.values.is_empty()) {
        say(&confirmation_table(study, held_up))?;
        say(&held_up.sentence())?;
    }
    if !measured.points.is_empty() {
        say("what is measured now:")?;
        say(&measured_table(measured))?;
    }
    Ok(())
}

fn confirmation_table(study: &Study, held_up: &ConfirmationView) -> String {
    let head = ConfirmedValueView::HEAD.into_iter().chain(["where"]).map(str::to_owned);
    let mut table = Table::new(head);
    for value in &held_up.values {
        let at = design(study.problem(), &value.design);
        table.row(value.cells().into_iter().chain([at]));
    }
    table.right(1..4).to_string()
}

/// What the budget did not pay for, if anything: of the round that was begun, not of another.
fn left_over(arguments: &Arguments, study: &Study) -> Result<Option<String>, Failure> {
    let free = |_: &Study, _: &[usize]| Permission::Granted;
    let round = study.confirmation()?.map(|begun| begun.round);
    let next = study.suggest_confirmation(arguments.points(), round, free)?;
    let NextConfirmation::Measure(next) = next else { return Ok(None) };
    let begun = if round.is_some() { "more" } else { "something" };
    Ok(Some(format!(
        "there is {begun} to confirm, next {} for {}; --cost allows a larger budget",
        next.measurement,
        short(next.cost)
    )))
}

/// Asks for what to measure, for people who measure it.
fn by_hand(arguments: &Arguments, file: &StudyFile, form: Form) -> Result<ExitCode, Failure> {
    let mut opened = file.open_or_create()?;
    // Before anything is asked for: that may begin another round.
    let held_up = confirmation(&opened.study)?;
    let (points, mut asked) = (arguments.points(), Vec::<Suggestion>::new());
    while asked.len() < arguments.count.get() {
        let round = asked.last().and_then(|last| last.confirms);
        let ask = |study: &mut Study<Store>, limits: &Limits<'_>| {
            study.ask_confirmation(points, round, |study, which| limits.permission(study, which))
        };
        let Some(suggestion) = ask::ask_and_claim(file, &mut opened, ask)? else { break };
        asked.push(suggestion);
    }
    let study = opened.study;
    let problem = study.problem();
    if form == Form::Json {
        let views = asked.iter().map(|one| SuggestionView::new(problem, one, None));
        let asked: Vec<SuggestionView> = views.collect();
        say_json(&json!({ "asked": asked, "confirmation": held_up }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(held_up) = held_up.filter(|one| !one.values.is_empty()) {
        say(&held_up.sentence())?;
    }
    for suggestion in &asked {
        say(&ask::in_words(problem, suggestion, None))?;
    }
    if asked.is_empty() {
        say(
            "there is nothing to confirm: all recommended designs are measured or under way, or do not \
             fit into the budget",
        )?;
        for paused in unyoke_view::paused(&study, unyoke_run::now()) {
            say(&format!("  {}", pause_in_words(&paused)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
