//! `unyoke ask`: what to evaluate next, for somebody who does it by hand.

use clap::Args;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use unyoke::{Appraisal, Design, Obstacle, Permission, Problem, Study, Suggestion, Verdict};
use unyoke_run::{Limits, Opened, StudyFile, ask_by_hand};
use unyoke_store::Store;
use unyoke_view::{AppraisalView, SuggestionView};

use crate::arguments::StudyArgument;
use crate::clock::pause_in_words;
use crate::commands::run::warn_of_settings;
use crate::commands::worksheet;
use crate::failure::Failure;
use crate::output::{Form, complain, say, say_json, say_raw};
use crate::words::{exact_design, how_to_tell, parse_design, short};

/// Arguments of `unyoke ask`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke ask                  one evaluation; record its result with `unyoke tell NUMBER VALUE`
  unyoke ask --count 3        three at once, for three people
  unyoke ask --measurement fem                the best evaluation of fem; several may be named
  unyoke ask --fix material=oak --fix span=2  the best at a design with these values
  unyoke ask --count 8 --csv > monday.csv     a worksheet: fill in the values, then
                                              `unyoke tell --csv monday.csv`
  unyoke ask --json | jq '.[0].design'

Designs of your own come first: `unyoke queue`. What cannot be made today is left out: `unyoke pause`.

What you asked for is yours until you record its result: `unyoke run` leaves it alone.
`unyoke explain` shows what would be asked for, without asking.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// How many evaluations.
    #[arg(long, default_value = "1")]
    count: NonZeroUsize,
    /// Only these measurements.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    measurement: Vec<String>,
    /// Only designs with this value of a parameter, as in material=oak; may be repeated.
    #[arg(long, value_name = "PARAMETER=VALUE")]
    fix: Vec<String>,
    /// Print a worksheet: a row for each evaluation, with empty cells for its results.
    #[arg(long)]
    csv: bool,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let only = &arguments.measurement;
    for name in only {
        file.problem.measurement_index(name)?;
    }
    let fixed = match arguments.fix.is_empty() {
        true => Design::new(),
        false => parse_design(&file.problem, &arguments.fix.join(","))?,
    };
    let mut opened = file.open_or_create()?;
    warn_of_settings(&file, &opened.study);
    let (mut asked, wanted) = (vec![], arguments.count.get());
    while asked.len() < wanted {
        let ask = |study: &mut Study<Store>, limits: &Limits<'_>| {
            let limits = limits.clone().only(only);
            study.ask_within(&fixed, |study, which| limits.permission(study, which))
        };
        let Some(suggestion) = ask_and_claim(&file, &mut opened, ask)? else { break };
        let stop = file.stop.as_ref();
        let appraisal = stop.map(|stop| opened.study.appraise(stop, &suggestion)).transpose()?;
        asked.push((suggestion, appraisal.flatten()));
    }
    let study = opened.study;
    let reason = || why_nothing(&file, &study, only, &fixed);
    if asked.is_empty() {
        return Err(Failure::Refused(reason()));
    }
    if arguments.csv {
        let suggestions: Vec<&Suggestion> =
            asked.iter().map(|(suggestion, _)| suggestion).collect();
        say_raw(&worksheet::write(study.problem(), &suggestions)?)?;
        if asked.len() < wanted {
            complain(&format!("{} of {wanted}: {}", asked.len(), reason()));
        }
    } else if form == Form::Json {
        let view = |(suggestion, appraisal): &(Suggestion, Option<Appraisal>)| {
            SuggestionView::new(study.problem(), suggestion, appraisal.as_ref())
        };
        say_json(&asked.iter().map(view).collect::<Vec<_>>())?;
    } else {
        for (suggestion, appraisal) in &asked {
            say(&in_words(study.problem(), suggestion, appraisal.as_ref()))?;
        }
        if asked.len() < wanted {
            say(&format!("{} of {wanted}: {}", asked.len(), reason()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Why nothing could be asked for.
fn why_nothing(file: &StudyFile, study: &Study<Store>, only: &[String], fixed: &Design) -> String {
    let choices = study.config().choices(study.problem());
    let limits = || Limits::new(&file.budget, &file.run, vec![]);
    let granted = |limits: &Limits<'_>| {
        let permissions = choices.iter().map(|which| limits.permission(study, which));
        permissions.filter(|permission| *permission != Permission::Never).collect::<Vec<_>>()
    };
    let now = granted(&limits().only(only));
    if now.contains(&Permission::Granted) {
        return Obstacle::Exhausted.sentence(only, fixed);
    }
    if !now.is_empty() {
        return Obstacle::Budget.sentence(only, fixed);
    }
    if !granted(&limits().only(only).without_pauses()).is_empty() {
        let is_meant = |name: &String| only.is_empty() || only.contains(name);
        let mut paused = unyoke_view::paused(study, unyoke_run::now());
        paused.retain(|one| is_meant(&one.measurement));
        let words: Vec<String> = paused.iter().map(pause_in_words).collect();
        let names: Vec<&str> = paused.iter().map(|one| one.measurement.as_str()).collect();
        let others = if only.is_empty() { ", and nothing else can be evaluated now" } else { "" };
        return format!(
            "{}{others}; `unyoke resume {}` ends that",
            words.join(", "),
            names.first().copied().unwrap_or("NAME")
        );
    }
    let is_part = |which: &Vec<usize>| {
        let named = |m: &usize| only.contains(&study.problem().measurements[*m].name);
        which.iter().any(named) && !which.iter().all(named)
    };
    if !only.is_empty() && choices.iter().any(is_part) {
        return "the algorithm of this study makes all measurements at each design; leave out \
                --measurement"
            .to_owned();
    }
    Obstacle::Budget.sentence(only, fixed)
}

/// Asks, in the way of `ask`, for an evaluation that nobody else works on. `None` if none is possible.
pub(crate) fn ask_and_claim(
    file: &StudyFile,
    opened: &mut Opened,
    ask: impl Fn(&mut Study<Store>, &Limits<'_>) -> unyoke::Result<Option<Suggestion>>,
) -> Result<Option<Suggestion>, Failure> {
    let Opened { study, store } = opened;
    Ok(ask_by_hand(study, store, (&file.budget, &file.run), ask)?)
}

pub(crate) fn in_words(
    problem: &Problem,
    suggestion: &Suggestion,
    appraisal: Option<&Appraisal>,
) -> String {
    let Suggestion { evaluation, measurement, outputs, cost, .. } = suggestion;
    let mut words = format!(
        "evaluation {evaluation}: {measurement} at {}, cost {}\n",
        exact_design(problem, &suggestion.design),
        short(*cost)
    );
    for remark in suggestion.remarks() {
        words.push_str(&format!("  {remark}\n"));
    }
    if let Some(appraisal) = appraisal.filter(|one| one.verdict != Verdict::Continue) {
        let sentence = AppraisalView::new(problem, appraisal).sentence();
        words.push_str(&format!("  [stop]: {sentence}\n"));
    }
    words + &format!("  then: {}", how_to_tell(*evaluation, outputs))
}
