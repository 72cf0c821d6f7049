//! Runs that make evaluations as processes of their own and as jobs of schedulers: the loop of the
//! program, on a thread of its own, while Python is told what happens.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use unyoke::Design;
use unyoke_run::{
    Described, Ending, Failing, Interrupt, MeasurementRun, Opened, Progress, Runner, StudyFile,
    Summary, Supervisor, Underway,
};
use unyoke_view::AppraisalView;

use crate::error::{Failure, Result};
use crate::place::Found;
use crate::state::State;
use crate::written::{WrittenRun, seconds};

/// What Python says of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Orders {
    run: WrittenRun,
    /// How measurements are made, by the fields that their tables in a study file would have. What is not
    /// named is made as the study file says.
    measurements: BTreeMap<String, Map<String, Value>>,
    /// Where the commands of schedulers run.
    folder: PathBuf,
    /// The folder of attempts, where it is not beside the study.
    runs: Option<PathBuf>,
    /// The most evaluations of this run.
    most: Option<usize>,
    /// When to end, in seconds from now.
    until: Option<f64>,
    /// The program that supervises.
    program: PathBuf,
}

/// What Python is told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// An evaluation is under way.
    Began { evaluation: u64, measurement: String, resumed: bool },
    /// What a scheduler says about its job.
    Said { evaluation: u64, said: String },
    /// It has its values.
    Finished { evaluation: u64 },
    /// It failed for good.
    Failed { evaluation: u64, note: String },
    /// It is not made here any more, for another reason.
    Dropped { evaluation: u64, note: String },
    /// A sentence for people.
    Note { note: String },
    /// What was spent.
    Spent { spent: f64 },
}

/// How a run ended.
#[derive(Debug, Serialize)]
pub(crate) struct Ended {
    ending: &'static str,
    reason: String,
    completed: usize,
    failed: usize,
    pending: usize,
    spent: f64,
}

/// A run under way on a thread of its own.
pub(crate) struct Run {
    pub(crate) events: Receiver<Event>,
    pub(crate) interrupt: Interrupt,
    thread: std::thread::JoinHandle<Result<Ended>>,
}

impl Run {
    /// How it ended, which is waited for.
    pub(crate) fn finish(self) -> Result<Ended> {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Begins a run. Whatever is wrong with the orders is said before anything is begun.
pub(crate) fn begin(state: &std::sync::Arc<State>, orders: &str) -> Result<Run> {
    let orders: Orders = serde_json::from_str(orders)?;
    state.begin_jobs()?;
    start(state, orders).inspect_err(|_| drop(state.end_work()))
}

fn start(state: &std::sync::Arc<State>, orders: Orders) -> Result<Run> {
    let until = orders.until.map(seconds).transpose()?;
    let until = until.and_then(|time| Instant::now().checked_add(time));
    let (most, supervisor) = (orders.most, Supervisor::new(&orders.program, ["supervise"]));
    let (file, opened) = state.refreshed(|found| describe(found, orders))?;
    let (sender, events) = channel();
    let (interrupt, state) = (Interrupt::default(), state.clone());
    let theirs = interrupt.clone();
    let work = move || -> Result<Ended> {
        let problem = opened.study.problem().clone();
        let mut tell = |progress| tell(progress, &sender);
        let mut runner = Runner::on(&file, opened, supervisor, theirs, &mut tell)?;
        if let Some(until) = until {
            runner = runner.until(until);
        }
        if let Some(most) = most {
            runner = runner.at_most(most);
        }
        state.show_life(runner.sign_of_life());
        let summary = runner.run()?;
        let appraised = match &summary.ending {
            Ending::NotWorthwhile(appraisal) => {
                Some(AppraisalView::new(&problem, appraisal).sentence())
            }
            _ => None,
        };
        Ok(ended(summary, appraised))
    };
    let thread = std::thread::Builder::new().name("runner".to_owned()).spawn(work);
    let thread = thread.map_err(|error| Failure::Refused(error.to_string()))?;
    Ok(Run { events, interrupt, thread })
}

/// The study as the loop of the program knows it: by a file, or as if there were one.
fn describe(found: &mut Found, orders: Orders) -> Result<(StudyFile, Opened)> {
    let Orders { run, measurements, folder, runs, .. } = orders;
    let Some(store) = found.place.clone() else {
        let reason = "a study in memory cannot have jobs: their folders are beside the study; open it \
                      at a path, as in Study.open(\"beam.db\", problem)";
        return Err(Failure::Refused(reason.to_owned()));
    };
    let Some(runs) = runs.or_else(|| found.runs.clone()) else {
        let reason = "a study in a database has no folder for its jobs: say where, on a disk that all \
                      machines share, as in run(..., folder=\"/shared/beam.runs\")";
        return Err(Failure::Refused(reason.to_owned()));
    };
    let (budget, mut settings) = run.settings(found)?;
    for run in &mut settings.measurements {
        if let Some(fields) = measurements.get(&run.measurement) {
            *run = MeasurementRun::from_fields(&run.measurement, &run.outputs, &folder, fields)?;
        }
    }
    let path = found.file.clone().unwrap_or_else(|| runs.clone());
    // The scripts of a study file are beside it.
    let folder = match found.file.as_ref().and_then(|file| std::path::absolute(file).ok()) {
        Some(file) => file.parent().map_or(folder, ToOwned::to_owned),
        None => folder,
    };
    let stop = found.stop.clone();
    let described = Described { folder, store, runs, budget, stop, run: settings };
    let file = StudyFile::of_program(&path, &found.study, described);
    Ok((file, Opened { study: found.study.clone(), store: found.store.clone() }))
}

/// What Python is told of something that happened. Nobody listens any more if it was interrupted.
fn tell(progress: Progress, sender: &Sender<Event>) {
    let note = |note: String| Some(Event::Note { note });
    let of = |evaluation: u64, what: String| format!("evaluation {evaluation}: {what}");
    let event = match progress {
        Progress::Started { underway, .. } => began(underway, false),
        Progress::TakenUp { underway } => began(underway, true),
        Progress::Retried { evaluation, attempt, reason } => note(of(
            evaluation,
            format!("attempt {attempt}, because the last one failed: {reason}"),
        )),
        Progress::Finished { evaluation, .. } => Some(Event::Finished { evaluation }),
        Progress::Failed { evaluation, measurement, reason } => {
            let note = of(evaluation, format!("{measurement} failed: {reason}"));
            Some(Event::Failed { evaluation, note })
        }
        Progress::Late { evaluation } => {
            let note =
                of(evaluation, "its result came too late; it is kept and does not count".into());
            Some(Event::Dropped { evaluation, note })
        }
        Progress::GivenUp { evaluation, reason } => {
            Some(Event::Dropped { evaluation, note: of(evaluation, format!("given up: {reason}")) })
        }
        Progress::Left { evaluation, reason } => {
            let note = of(evaluation, format!("left for the next run; the last attempt: {reason}"));
            Some(Event::Dropped { evaluation, note })
        }
        Progress::Awaited { evaluation, attempt, place } => {
            note(of(evaluation, format!("waiting for attempt {attempt}, {place}")))
        }
        Progress::Job { evaluation, said } => Some(Event::Said { evaluation, said }),
        Progress::Scheduler { trouble: Some(trouble) } => note(trouble),
        Progress::Scheduler { trouble: None } => note("the scheduler answers again".to_owned()),
        Progress::ByHand { underway } => note(by_hand(&underway)),
        Progress::AwaitingHand { evaluations } => {
            note(format!("waiting for evaluations by hand: {evaluations}"))
        }
        Progress::Failing(failing) => note(failing_in_words(&failing)),
        Progress::OnTrial { measurement } => {
            note(format!("{measurement} has not given a value yet; waiting for those of others"))
        }
        Progress::Disconnected { reason, .. } => note(format!("lost the database: {reason}")),
        Progress::Queued { owner } => note(format!("waiting for {owner}, which computes")),
        Progress::Spent { spent, .. } => Some(Event::Spent { spent }),
        _ => None,
    };
    if let Some(event) = event {
        let _ = sender.send(event);
    }
}

fn began(underway: Underway, resumed: bool) -> Option<Event> {
    let Underway { evaluation, measurement, .. } = underway;
    Some(Event::Began { evaluation, measurement, resumed })
}

fn by_hand(underway: &Underway) -> String {
    let Underway { evaluation, measurement, design, .. } = underway;
    let design = in_words(design);
    format!("please measure {measurement} at {design}, then study.tell({evaluation}, value)")
}

fn in_words(design: &Design) -> String {
    let values: Vec<String> =
        design.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    values.join(", ")
}

/// What is wrong with a measurement, and the last lines that it wrote.
fn failing_in_words(failing: &Failing) -> String {
    let mut text = format!("{failing}; the last time: {}", failing.reason);
    if let Some(log) = &failing.log {
        text.push_str(&format!("\n{}:\n  {}", log.path.display(), log.lines.join("\n  ")));
    }
    text
}

fn ended(summary: Summary, appraised: Option<String>) -> Ended {
    let Summary { ending, finished: completed, failed, pending, spent, .. } = summary;
    let reason = match &ending {
        Ending::Failing(failing) => failing_in_words(failing),
        ending => appraised.unwrap_or_else(|| ending.to_string()),
    };
    Ended { ending: name(&ending), reason, completed, failed, pending, spent }
}

fn name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Budget => "budget",
        Ending::NotWorthwhile(_) => "not_worthwhile",
        Ending::WallTime => "wall_time",
        Ending::Until => "until",
        Ending::Evaluations => "evaluations",
        Ending::Exhausted => "exhausted",
        Ending::Paused(_) => "paused",
        Ending::Interrupted => "interrupted",
        Ending::CannotStart { .. } => "cannot_start",
        Ending::Failing(_) => "failing",
        _ => "ended",
    }
}
