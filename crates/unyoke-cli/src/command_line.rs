//! What can be typed after `unyoke`, with the help that teaches it.

use clap::{Parser, Subcommand};
use std::path::PathBuf;

use crate::commands::{
    amend, ask, check, completions, confirm, explain, export, front, import, init, lab, pause,
    queue, report, retry, run, serve, skip, status, tell,
};
use crate::output::Form;

/// Finds the trade-off curve of expensive objectives by running each one only when it is worth
/// its price.
#[derive(Debug, Parser)]
#[command(name = "unyoke", version, about, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print results as JSON instead of tables.
    #[arg(long, global = true)]
    json: bool,
}

const AFTER_HELP: &str = "\
Begin with:
  unyoke init          writes study.toml: what can be chosen, what is measured, by which commands
  unyoke check         shows all mistakes in it at once
  unyoke run           runs the commands until the budget is spent; may be killed and run again
  unyoke front         the best trade-offs as far as is known

Exit codes: 0 done, 1 failed or refused, 2 wrong arguments, 3 something is wrong with the study
file, 4 the store failed, 130 interrupted.";

/// The commands, in the order in which they are met.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a study file, from a few questions or as a commented template.
    Init(init::Arguments),
    /// Check a study file and its store: all mistakes at once, with their lines.
    Check(check::Arguments),
    /// Run the study: choose evaluations, run their commands, until the budget is spent.
    Run(run::Arguments),
    /// Measure what the recommended designs lack, and see how predictions held up.
    Confirm(confirm::Arguments),
    /// Ask what to evaluate next, to do it by hand.
    Ask(ask::Arguments),
    /// Record the result of an evaluation: its values, a failure, or that it will not be made.
    Tell(tell::Arguments),
    /// Have designs of your own measured before anything is searched for.
    Queue(queue::Arguments),
    /// Take back an evaluation, or a queued design, and not suggest it again right away.
    Skip(skip::Arguments),
    /// Leave out a measurement for a while: the machine is down.
    Pause(pause::PauseArguments),
    /// Make a paused measurement again.
    Resume(pause::ResumeArguments),
    /// Make failed evaluations pending again, once their cause is fixed.
    Retry(retry::Arguments),
    /// Go on with what was changed in the study file: bounds, parameters, outputs, settings.
    Amend(amend::Arguments),
    /// Import results from a CSV file; a blank cell means "not measured".
    Import(import::Arguments),
    /// Show the state of the study: values, failures, spending, what is running.
    Status(status::Arguments),
    /// Show the trade-offs: those that are predicted, with uncertainty, or those that were measured.
    Front(front::Arguments),
    /// Explain the next suggestion, or what is expected of a design.
    Explain(explain::Arguments),
    /// Write a page with figures: front, spending, what to run next and why.
    Report(report::Arguments),
    /// Write evaluations as CSV, or the journal as lines of JSON.
    Export(export::Arguments),
    /// Show studies in a browser, and take results there.
    Serve(serve::Arguments),
    /// Print the JSON Schema of study files, for editors.
    Schema,
    /// Print a script that completes arguments in a shell.
    Completions {
        /// Which shell.
        shell: completions::Shell,
    },
    /// Repeat the paper's experiments, or measure algorithms on test problems.
    #[command(subcommand)]
    Lab(lab::Command),
    /// Own one command of an evaluation from its start to its end.
    #[command(hide = true)]
    Supervise {
        /// The folder of the attempt.
        folder: PathBuf,
    },
}

impl Arguments {
    /// How results are printed.
    pub(crate) fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Table }
    }
}
