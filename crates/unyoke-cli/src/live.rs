//! What is seen while a study runs, on standard error: a live view in a terminal, lines elsewhere.
//! The only file beside `commands/lab` that names `indicatif`.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle, WeakProgressBar};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use unyoke_run::{Measured, Progress, StudyFile, Underway};
use unyoke_view::words::{one_line, share};

use crate::output::complain;
use crate::words::{count, design, exact_design, how_to_tell, readings, short, spent_of, time};

/// Shows on a terminal that something takes time, and for how long by now. Elsewhere nothing is shown.
#[derive(Debug)]
pub(crate) struct Busy(ProgressBar);

impl Busy {
    /// As in `predicting the front from 1200 values`.
    pub(crate) fn with(words: impl Into<String>) -> Self {
        let line = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
            line.set_style(style);
        }
        line.set_message(words.into());
        line.enable_steady_tick(Duration::from_millis(200));
        Self(line)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Resolution of the bar.
const TICKS: u64 = 1000;

/// Between what an evaluation is and what a scheduler says about its job.
const JOB_MARK: &str = "; job ";

/// How often elapsed times move on.
const TICK: Duration = Duration::from_millis(250);

/// Shows the progress of a run.
pub(crate) struct View<'a> {
    file: &'a StudyFile,
    /// Nothing if there is no terminal.
    screen: Option<Screen>,
    /// What the latest suggestion is expected to gain, in words.
    gain: Option<String>,
}

/// A terminal: a bar for the budget, below it a line for each evaluation under way.
struct Screen {
    lines: MultiProgress,
    budget: ProgressBar,
    /// When the run began, and what was spent by then.
    began: Option<(Instant, f64)>,
    running: HashMap<u64, ProgressBar>,
    ticker: Ticker,
}

/// Moves elapsed times on. Where no thread can be had for that, they stand still.
struct Ticker {
    lines: Arc<Mutex<Vec<WeakProgressBar>>>,
    /// The thread ends when this is dropped.
    _alive: Sender<()>,
}

impl Ticker {
    fn new() -> Self {
        let (alive, over) = channel::<()>();
        let lines = Arc::<Mutex<Vec<WeakProgressBar>>>::default();
        let theirs = lines.clone();
        let tick = move || {
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let mut lines = theirs.lock().unwrap_or_else(PoisonError::into_inner);
                lines.retain(|line| line.upgrade().map(|line| line.tick()).is_some());
            }
        };
        let _ = std::thread::Builder::new().name("view".to_owned()).spawn(tick);
        Self { lines, _alive: alive }
    }

    fn add(&self, line: &ProgressBar) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.downgrade());
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(file: &'a StudyFile) -> Self {
        let screen = std::io::stderr().is_terminal().then(|| Screen::new(file));
        Self { file, screen, gain: None }
    }

    /// Shows what happened.
    pub(crate) fn show(&mut self, progress: Progress) {
        match progress {
            Progress::Started { underway, gain_per_cost, gain_share, notes } => {
                let gain = expected_gain(gain_per_cost, gain_share);
                self.gain = gain.clone().or(self.gain.take());
                let why = match (gain, notes.first()) {
                    (Some(gain), _) => format!(", {gain}"),
                    (None, Some(note)) => format!(", {note}"),
                    (None, None) => String::new(),
                };
                self.begin(&underway, &why);
            }
            Progress::TakenUp { underway } => self.begin(&underway, ", resumed"),
            Progress::Retried { evaluation, attempt, reason } => {
                self.say(&format!(
                    "{evaluation:>5}  attempt {attempt}, because the last one failed: {reason}"
                ));
            }
            Progress::Finished { evaluation, measurement, measured, duration } => {
                let came = came(&measurement, &measured);
                self.end(evaluation, &format!("{came} after {}", time(duration)));
            }
            Progress::Failed { evaluation, measurement, reason } => {
                self.end(evaluation, &format!("{measurement} failed: {reason}"));
            }
            Progress::Failing(failing) if failing.dispensable => {
                self.say(&format!(
                    "warning: {failing}; the run goes on without it, because other measurements give \
                     the same outputs; last reason: {}",
                    failing.reason
                ));
            }
            Progress::Failing(failing) => self.say(&format!("{failing}; nothing new is started")),
            Progress::OnTrial { measurement } => {
                self.say(&format!(
                    "{measurement} has not given a value yet; waiting for evaluations of it that others run"
                ));
            }
            Progress::Late { evaluation } => {
                self.end(evaluation, "its result came too late; it is kept and does not count");
            }
            Progress::GivenUp { evaluation, reason } => {
                self.end(evaluation, &format!("given up: {reason}"));
            }
            Progress::Disconnected { reason, wait } => {
                self.say(&format!("lost the database, retrying in {}: {reason}", time(wait)));
            }
            Progress::Queued { owner } => {
                self.say(&format!("waiting for {owner}, which computes a suggestion"));
            }
            Progress::Awaited { evaluation, attempt, place } => {
                self.say(&format!("{evaluation:>5}  waiting for attempt {attempt}, {place}"));
            }
            Progress::Job { evaluation, said } => self.said(evaluation, &said),
            Progress::Scheduler { trouble: Some(trouble) } => {
                self.say(&format!("warning: {trouble}"));
            }
            Progress::Scheduler { trouble: None } => self.say("the scheduler answers again"),
            Progress::ByHand { underway } => self.by_hand(&underway),
            Progress::AwaitingHand { evaluations } => {
                let evaluations = count(evaluations, "evaluation");
                self.say(&format!("waiting for {evaluations} by hand; Ctrl-C ends the run"));
            }
            Progress::Left { evaluation, reason } => {
                self.end(
                    evaluation,
                    &format!("left for the next run, because the last attempt failed: {reason}"),
                );
            }
            Progress::Spent { spent, committed } => self.spent(spent, committed),
            Progress::Finishing { running } if running > 0 => {
                let running = count(running, "evaluation");
                self.say(&format!("nothing new is started; waiting for {running}"));
            }
            Progress::Stopping { running } if running > 0 => {
                self.say(&format!("stopping {}", count(running, "evaluation")));
            }
            _ => {}
        }
    }

    /// Clears the live view.
    pub(crate) fn close(self) {
        if let Some(screen) = self.screen {
            let _ = screen.lines.clear();
        }
    }

    fn begin(&mut self, underway: &Underway, why: &str) {
        let Underway { evaluation, measurement, cost, attempt, .. } = underway;
        let at = design(&self.file.problem, &underway.design);
        let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        let what =
            format!("{evaluation:>5}  {measurement} at {at}, cost {}{again}{why}", short(*cost));
        match &mut self.screen {
            Some(screen) => screen.begin(*evaluation, one_line(&what)),
            None => complain(&one_line(&what)),
        }
    }

    /// Shows what a scheduler says about a job: on its line, or as a line of its own.
    fn said(&mut self, evaluation: u64, said: &str) {
        match self.screen.as_ref().and_then(|screen| screen.running.get(&evaluation)) {
            Some(line) => {
                let what = line.message();
                let what = what.split(JOB_MARK).next().unwrap_or_default();
                line.set_message(one_line(&format!("{what}{JOB_MARK}{said}")));
            }
            None => self.say(&format!("{evaluation:>5}  job {said}")),
        }
    }

    /// Asks for an evaluation by hand.
    fn by_hand(&self, underway: &Underway) {
        let Underway { evaluation, measurement, .. } = underway;
        let at = exact_design(&self.file.problem, &underway.design);
        let run = self.file.measurement_run(measurement);
        let how = how_to_tell(*evaluation, run.map_or(&[][..], |run| &run.outputs));
        self.say(&format!("{evaluation:>5}  please measure {measurement} at {at}, then: {how}"));
    }

    fn end(&mut self, evaluation: u64, what: &str) {
        if let Some(screen) = &mut self.screen
            && let Some(line) = screen.running.remove(&evaluation)
        {
            screen.lines.remove(&line);
        }
        self.say(&format!("{evaluation:>5}  {what}"));
    }

    fn say(&self, text: &str) {
        match &self.screen {
            Some(screen) => {
                let _ = screen.lines.println(one_line(text));
            }
            None => complain(&one_line(text)),
        }
    }

    fn spent(&mut self, spent: f64, committed: f64) {
        let Some(screen) = &mut self.screen else { return };
        let budget = self.file.budget.cost;
        let under_way = match committed > spent {
            true => format!(", {} under way", short(committed - spent)),
            false => String::new(),
        };
        let gain = self.gain.as_ref().map_or_else(String::new, |gain| format!("; {gain}"));
        let left = budget.and_then(|budget| screen.time_left(spent, budget));
        let left = left.map_or_else(String::new, |left| format!(", about {} left", time(left)));
        let share = budget.map_or(0.0, |budget| (spent / budget).clamp(0.0, 1.0));
        screen.budget.set_position((share * TICKS as f64) as u64);
        screen.budget.set_message(format!("{}{under_way}{left}{gain}", spent_of(spent, budget)));
    }
}

impl Screen {
    fn new(file: &StudyFile) -> Self {
        let lines = MultiProgress::new();
        let budget = lines.add(ProgressBar::new(TICKS));
        let style = if file.budget.cost.is_some() { "{bar:24} {msg}" } else { "{msg}" };
        budget.set_style(style_of(style));
        Self { lines, budget, began: None, running: HashMap::new(), ticker: Ticker::new() }
    }

    /// How long the rest of the budget will last, going by what was spent since the run began.
    fn time_left(&mut self, spent: f64, budget: f64) -> Option<Duration> {
        let (began, before) = *self.began.get_or_insert_with(|| (Instant::now(), spent));
        let rate = (spent - before) / began.elapsed().as_secs_f64();
        Duration::try_from_secs_f64((budget - spent) / rate).ok().filter(|_| spent < budget)
    }

    fn begin(&mut self, evaluation: u64, what: String) {
        let line = self.lines.add(ProgressBar::new_spinner());
        line.set_style(style_of("{spinner} {elapsed:>4} {wide_msg}"));
        line.set_message(what);
        self.ticker.add(&line);
        self.running.insert(evaluation, line);
    }
}

/// What a suggestion is expected to gain, in a unit that means something to people where there is one.
fn expected_gain(per_cost: Option<f64>, of_front: Option<f64>) -> Option<String> {
    match (per_cost, of_front) {
        (_, Some(gain)) => Some(format!("expected gain {} of the front's range", share(gain))),
        (Some(gain), None) => Some(format!("expected gain per cost {}", short(gain))),
        (None, None) => None,
    }
}

/// What came out: `mass = 1.5`, or `cfd: lift = 1.2, drag = 0.3; no wake found`.
fn came(measurement: &str, measured: &Measured) -> String {
    let values = measured.values.iter().map(|(name, reading)| (name.as_str(), *reading));
    let values = readings(measurement, values);
    let between = if values.contains('=') { ": " } else { " = " };
    let missing = measured.missing.as_ref().map_or_else(String::new, |why| format!("; {why}"));
    format!("{measurement}{between}{values}{missing}")
}

fn style_of(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
