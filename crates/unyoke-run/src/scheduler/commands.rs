//! Any scheduler, by commands of the user's: one submits a script, one says how jobs stand, one cancels.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use unyoke::Design;

use super::call::{Answer, NoAnswer, call, shortened};
use super::{Scheduler, Standing, Standings, Submission, Submitted, add};
use crate::command::CommandTemplate;
use crate::process::script;
use crate::study_file::SchedulerCommands;

/// Secrets that are no business of a scheduler.
const SECRETS: [&str; 2] = ["PGPASSWORD", "UNYOKE_STORE"];

/// A scheduler that is reached by commands.
pub(crate) struct Commands {
    commands: SchedulerCommands,
    /// Where they run.
    directory: PathBuf,
    call_timeout: Duration,
}

impl Commands {
    pub(crate) fn new(
        commands: &SchedulerCommands,
        directory: &Path,
        call_timeout: Duration,
    ) -> Self {
        Self { commands: commands.clone(), directory: directory.to_owned(), call_timeout }
    }

    /// Runs one of the commands with its placeholders filled in.
    fn call(
        &self,
        command: &CommandTemplate,
        values: &Design,
        input: &str,
    ) -> Result<Answer, NoAnswer> {
        let argv = command.fill(values);
        let argv = argv.map_err(|error| NoAnswer::CannotStart(error.to_string()))?;
        let (program, arguments) = argv
            .split_first()
            .ok_or_else(|| NoAnswer::CannotStart("there is no program to start".to_owned()))?;
        let located = match program.contains('/') {
            true => self.directory.join(program),
            false => PathBuf::from(program),
        };
        let mut command = Command::new(located);
        for secret in SECRETS {
            command.env_remove(secret);
        }
        call(command.args(arguments).current_dir(&self.directory), input, self.call_timeout)
    }
}

impl Scheduler for Commands {
    fn title(&self) -> &str {
        "the scheduler"
    }

    fn submit(&self, job: &Submission<'_>) -> Submitted {
        let values = Design::new()
            .with("name", job.name)
            .with("script", &*script(job.folder).to_string_lossy())
            .with("folder", &*job.folder.to_string_lossy());
        match self.call(&self.commands.submit, &values, "") {
            Ok(answer) if answer.succeeded => Submitted::Accepted(shortened(answer.stdout.trim())),
            Ok(answer) => {
                let reason = format!("the submit command failed: {}", answer.complaint());
                Submitted::Unclear { reason, passing: false }
            }
            Err(NoAnswer::TimedOut(reason)) => Submitted::Unclear { reason, passing: false },
            Err(NoAnswer::CannotStart(reason)) => Submitted::Refused(reason),
        }
    }

    fn status(&self, names: &[&str], _since: SystemTime) -> Result<Standings, String> {
        let input: String = names.iter().map(|name| format!("{name}\n")).collect();
        match self.call(&self.commands.status, &Design::new(), &input) {
            Ok(answer) if answer.succeeded => {
                Ok(parse(&answer.stdout, &names.iter().copied().collect()))
            }
            Ok(answer) => Err(format!("the status command failed: {}", answer.complaint())),
            Err(NoAnswer::TimedOut(reason) | NoAnswer::CannotStart(reason)) => Err(reason),
        }
    }

    fn cancel(&self, name: &str, folder: &Path) -> Result<(), String> {
        let values = Design::new().with("name", name).with("folder", &*folder.to_string_lossy());
        match self.call(&self.commands.cancel, &values, "") {
            Ok(answer) if answer.succeeded => Ok(()),
            Ok(answer) => Err(format!("the cancel command failed: {}", answer.complaint())),
            Err(NoAnswer::TimedOut(reason) | NoAnswer::CannotStart(reason)) => Err(reason),
        }
    }
}

/// Lines of a name, a state, and perhaps a reason. Lines about other jobs are passed over.
fn parse(text: &str, wanted: &HashSet<&str>) -> Standings {
    let mut standings = Standings::new();
    for line in text.lines() {
        let line = line.trim();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if wanted.contains(name) {
            add(&mut standings, name, standing(rest.trim()));
        }
    }
    standings
}

/// A state and perhaps a reason.
fn standing(text: &str) -> Standing {
    let (state, reason) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let reason = Some(shortened(reason.trim())).filter(|reason| !reason.is_empty());
    match state.to_uppercase().as_str() {
        "QUEUED" | "PENDING" | "WAITING" | "HELD" => Standing::Queued(reason),
        "RUNNING" => Standing::Running(reason),
        "GONE" | "DONE" | "FINISHED" | "COMPLETED" | "FAILED" | "CANCELLED" | "CANCELED" => {
            Standing::Gone { said: shortened(text), exceeded: false }
        }
        "EXCEEDED" | "TIMEOUT" => Standing::Gone { said: shortened(text), exceeded: true },
        "UNKNOWN" => Standing::Unknown(reason.unwrap_or_else(|| "UNKNOWN".to_owned())),
        _ => {
            let states = "QUEUED, RUNNING, GONE, EXCEEDED or UNKNOWN";
            let said = shortened(text);
            Standing::Unknown(format!("the status command said {said:?}, which is not {states}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_garbage_is_passed_over() {
        let text = "u-a QUEUED too many jobs\n u-b\trunning \nu-x RUNNING\n\0\u{7f}garbage\nu-c done\n\
                    u-d\nu-e walltime exceeded\nu-f EXCEEDED memory\nu-g UNKNOWN\n";
        let wanted: HashSet<&str> = ["u-a", "u-b", "u-c", "u-d", "u-e", "u-f", "u-g", "u-h"].into();
        let standings = parse(text, &wanted);
        assert_eq!(standings["u-a"], Standing::Queued(Some("too many jobs".into())));
        assert_eq!(standings["u-b"], Standing::Running(None));
        assert_eq!(standings["u-c"], Standing::Gone { said: "done".into(), exceeded: false });
        assert_eq!(
            standings["u-f"],
            Standing::Gone { said: "EXCEEDED memory".into(), exceeded: true }
        );
        for unknown in ["u-d", "u-e", "u-g"] {
            assert!(matches!(standings[unknown], Standing::Unknown(_)), "{unknown}");
        }
        assert_eq!(standings.len(), 7);
    }
}
