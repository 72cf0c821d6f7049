//! `unyoke run`: the study runs until its budget is spent.

use clap::Args;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, exit};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};
use unyoke::{Journal, Pause, Problem, Study};
use unyoke_run::{Ending, Failing, Interrupt, Runner, StudyFile, Summary, Supervisor};
use unyoke_view::words::one_line;
use unyoke_view::{AppraisalView, PausedView, ROWS};

use crate::arguments::StudyArgument;
use crate::clock::pause_in_words;
use crate::commands::{front, report};
use crate::failure::{Failure, INTERRUPTED};
use crate::live::View;
use crate::output::{Form, complain, say, say_json};
use crate::words::{count, short};

/// Arguments of `unyoke run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke run                         runs study.toml until its budget is spent
  unyoke run --slots 4               four evaluations at once
  unyoke run --cost 300              with a larger budget than the file says
  unyoke run --only fem,mass         makes these measurements only
  unyoke run --until 3h30m           ends in time, for example before a batch job does
  unyoke run beam.toml --json | jq .spent

Ctrl-C once: running evaluations are finished, no new ones are started. Twice: running ones are
stopped, and the next run repeats them. Three times: the program ends at once and its commands keep
running, as if it had been killed; the next run collects their results. Several programs may run one
study: they share the work.

A measurement that fails three times and has never given a value ends the run, unless other
measurements give the same outputs: fix its command, then `unyoke retry` and `unyoke run`. If the
command is right and only these designs fail, `unyoke run --trials 10` tries more of them.

With [stop] in the study file, the run ends before its budget is spent when no evaluation is worth its
cost any more; to go on, raise worth there or remove the section.

The exit code is 0 if the run ended as planned, 1 if a measurement never gave a value, 130 after Ctrl-C.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// Evaluations at once, instead of what the study file says.
    #[arg(long)]
    slots: Option<std::num::NonZeroUsize>,
    /// Total cost, instead of what the study file says.
    #[arg(long, value_parser = positive, allow_negative_numbers = true)]
    cost: Option<f64>,
    /// Evaluations of a measurement that has never given a value, before its command counts as broken,
    /// instead of what the study file says.
    #[arg(long)]
    trials: Option<std::num::NonZeroUsize>,
    /// Make these measurements only; others wait.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// End after this time ("3h30m") or at this moment ("2026-05-01T18:00:00Z"), whatever still runs:
    /// nothing is begun on this machine that would take longer, and the next run collects the rest.
    #[arg(long, value_parser = moment)]
    until: Option<Instant>,
    /// Do not write a report at the end.
    #[arg(long)]
    no_report: bool,
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| "must be a positive number".to_owned())
}

/// A moment, as a length of time from now or by the calendar.
fn moment(text: &str) -> Result<Instant, String> {
    let from_now = humantime::parse_duration(text).ok();
    let until = || {
        let until = humantime::parse_rfc3339_weak(text).ok()?;
        Some(until.duration_since(SystemTime::now()).unwrap_or_default())
    };
    let wait = from_now.or_else(until);
    let moment = wait.and_then(|wait| Instant::now().checked_add(wait));
    moment.ok_or_else(|| "must be like 3h30m or 2026-05-01T18:00:00Z (UTC)".to_owned())
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let mut file = arguments.study.read()?;
    file.run.slots = arguments.slots.map_or(file.run.slots, usize::from);
    file.run.trials = arguments.trials.map_or(file.run.trials, usize::from);
    file.budget.cost = arguments.cost.or(file.budget.cost);
    for name in &arguments.only {
        file.problem.measurement_index(name)?;
    }
    refuse_without_commands(&file)?;
    let summary = work(&file, &arguments.only, |runner| match arguments.until {
        Some(until) => runner.until(until),
        None => runner,
    })?;
    conclude(arguments, &file, &summary, form)
}

/// A study without any command is not mistaken, but made by people.
fn refuse_without_commands(file: &StudyFile) -> Result<(), Failure> {
    if !file.run.measurements.iter().all(|run| run.needs_command()) {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "no measurement in {} has a command, so that there is nothing to run; `unyoke ask` says what to measure and \
         `unyoke tell` records it, or give measurements a command = [\"./program\", \"{{parameter}}\"]",
        file.path().display()
    )))
}

/// Runs commands for what the runner is `set` to, and shows what happens.
pub(crate) fn work(
    file: &StudyFile,
    only: &[String],
    set: impl for<'a> FnOnce(Runner<'a>) -> Runner<'a>,
) -> Result<Summary, Failure> {
    let interrupt = Interrupt::default();
    let signals = SignalHandling::new(&interrupt);
    let mut view = View::new(file);
    let mut show = |progress| view.show(progress);
    let supervisor = Supervisor::this_program("supervise")?;
    let runner = Runner::new(file, supervisor, interrupt, &mut show);
    let summary = runner.and_then(|runner| runner.only(only)).and_then(|runner| set(runner).run());
    view.close();
    // Everything is recorded: from here on, a signal just ends the program.
    signals.restore();
    Ok(summary?)
}

/// What Ctrl-C does, and what else asks programs to end.
struct SignalHandling {
    /// Whether it does again what it does to any program.
    restored: Arc<AtomicBool>,
}

impl SignalHandling {
    /// The first two signals are passed on. The third ends the program at once, whatever it waits
    /// for: commands go on, and the next run finds their results. Where signals cannot be listened
    /// for, the first ends it, which loses nothing.
    fn new(interrupt: &Interrupt) -> Self {
        let (interrupt, restored) = (interrupt.clone(), Arc::<AtomicBool>::default());
        let is_restored = restored.clone();
        let handle = move |signal| {
            interrupt.ask();
            if is_restored.load(Ordering::SeqCst) {
                let _ = emulate_default_handler(signal);
            }
            if interrupt.times() > 2 {
                exit(i32::from(INTERRUPTED));
            }
        };
        // Registered on the thread: without one to hear them, signals must do what they always do.
        let listen = move || {
            if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
                signals.forever().for_each(handle);
            }
        };
        let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(listen);
        Self { restored }
    }

    /// From now on signals do what they do to any program.
    fn restore(&self) {
        self.restored.store(true, Ordering::SeqCst);
    }
}

/// Says what came out.
fn conclude(
    arguments: &Arguments,
    file: &StudyFile,
    summary: &Summary,
    form: Form,
) -> Result<ExitCode, Failure> {
    let looked = match file.look() {
        // The database is still lost, and somebody did not want to wait for it.
        Err(error) if summary.ending == Ending::Interrupted && error.is_passing() => {
            complain(&error.to_string());
            return Err(Failure::Interrupted);
        }
        looked => looked?,
    };
    let study = &looked.study;
    warn_of_settings(file, study);
    let trade_offs = match unyoke_view::has_values(study) {
        true => Some(unyoke_view::front(study, ROWS, None)?),
        false => None,
    };
    let ending = in_words(study.problem(), &summary.ending);
    let is_wanted = !arguments.no_report && trade_offs.is_some();
    let report = match form {
        Form::Json => {
            let report = is_wanted.then(|| report::write(file, &looked)).transpose();
            say_json(&json!({
                "ending": ending,
                "spent": summary.spent,
                "finished": summary.finished,
                "failed": summary.failed,
                "pending": summary.pending,
                "suggestions": {
                    "computed": summary.suggestions.computed,
                    "outdated": summary.suggestions.outdated,
                },
                "front": trade_offs,
                "report": report.as_ref().ok().and_then(Option::as_deref).map(Path::to_string_lossy),
            }))?;
            report
        }
        Form::Table => {
            // The front first: a report may take long, and may be impossible.
            if let Some(trade_offs) = &trade_offs {
                say(&front::table(trade_offs))?;
                say("expected values ± one standard deviation; * was measured there")?;
            }
            say(&spending(file, summary, &ending))?;
            let report = is_wanted.then(|| report::write(file, &looked)).transpose();
            if let Ok(Some(report)) = &report {
                say(&format!("report: {}", report.display()))?;
            }
            report
        }
    };
    judge(summary, report)
}

/// Whether the run ended as planned.
pub(crate) fn judge(
    summary: &Summary,
    report: Result<Option<PathBuf>, Failure>,
) -> Result<ExitCode, Failure> {
    match (&summary.ending, &summary.failing) {
        (Ending::Interrupted, _) => Err(Failure::Interrupted),
        (ending @ Ending::CannotStart { .. }, _) => Err(Failure::Refused(ending.to_string())),
        (Ending::Failing(failing), _) => {
            let why = "the run was stopped, since no trade-off can be found without it";
            Err(Failure::Refused(broken(failing, why)))
        }
        (_, Some(failing)) => Err(Failure::Refused(broken(failing, "no trade-off is known"))),
        _ => report.map(|_| ExitCode::SUCCESS),
    }
}

/// What to say of a measurement that gave nothing, and what follows from that.
fn broken(failing: &Failing, consequence: &str) -> String {
    let mut text = format!("{failing}; {consequence}\n");
    text += &format!("  last reason: {}\n", one_line(&failing.reason));
    if let Some(log) = &failing.log {
        text += &format!("  end of its standard error ({}):\n", log.path.display());
        for line in &log.lines {
            text += &format!("    {}\n", one_line(line));
        }
    }
    text += &format!("  spent on {}: {}\n", failing.measurement, short(failing.spent));
    text += &format!("  to continue: {}", failing.remedy());
    text
}

/// A sentence on what was spent.
pub(crate) fn spending(file: &StudyFile, summary: &Summary, ending: &str) -> String {
    let of = file.budget.cost.map_or_else(String::new, |cost| format!(" of {}", short(cost)));
    let failed = match summary.failed {
        0 => String::new(),
        failed => format!(" and {failed} that failed"),
    };
    let pending = match summary.pending {
        0 => String::new(),
        pending => format!("; {} pending", count(pending, "evaluation")),
    };
    let ending = match &summary.ending {
        // A sentence of its own, with a colon in it.
        Ending::NotWorthwhile(_) => format!("stopped: {ending}; to go on, raise worth in [stop]\n"),
        _ => format!("{ending}: "),
    };
    format!(
        "{ending}spent {}{of}, with {}{failed} in this run{pending}",
        short(summary.spent),
        count(summary.finished, "evaluation"),
    )
}

pub(crate) fn in_words(problem: &Problem, ending: &Ending) -> String {
    match ending {
        Ending::NotWorthwhile(appraisal) => AppraisalView::new(problem, appraisal).sentence(),
        Ending::Until => "the run was to end now; the next one collects what still runs".to_owned(),
        Ending::Paused(paused) => {
            format!("{}, and nothing else can be evaluated", pauses_in_words(paused))
        }
        Ending::Confirmed { paused } if !paused.is_empty() => format!(
            "confirmed what is possible while {} and fits into the budget",
            pauses_in_words(paused)
        ),
        Ending::Failing(failing) => format!("stopped because {} never worked", failing.measurement),
        Ending::CannotStart { measurement, .. } => format!("{measurement} cannot be measured"),
        others => others.to_string(),
    }
}

fn pauses_in_words(paused: &[(String, Pause)]) -> String {
    let words = |(measurement, pause): &(String, Pause)| {
        let Pause { until, reason } = pause.clone();
        pause_in_words(&PausedView { measurement: measurement.clone(), until, reason })
    };
    paused.iter().map(words).collect::<Vec<_>>().join(", ")
}

/// What the search goes by was written down when the study began, or was last amended.
pub(crate) fn warn_of_settings<J: Journal>(file: &StudyFile, study: &Study<J>) {
    let amendment = file.amendment(study);
    let changes = amendment.iter().flat_map(|amendment| &amendment.setting_changes);
    let mut changes: Vec<String> = changes.map(ToString::to_string).collect();
    let advice =
        if changes.is_empty() { "" } else { "; `unyoke amend` makes those of the file count" };
    if file.seed != study.seed() {
        changes.push(format!("seed from {} to {}", study.seed(), file.seed));
    }
    if !changes.is_empty() {
        let changes = changes.join(", ");
        complain(&format!(
            "note: the study keeps its own settings, the file has others ({changes}){advice}"
        ));
    }
}
