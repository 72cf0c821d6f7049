//! Reads where a measurement runs: `executor`, and what each executor needs to know.

use std::time::Duration;

use super::fields;
use super::table::{Entry, Findings, Table};
use crate::command::{Argument, CommandTemplate};
use crate::diagnostic::Diagnostic;

/// Between two questions to a scheduler, by default.
const POLL: Duration = Duration::from_secs(30);

/// How long a job may be gone before its attempt counts as dead, by default: network file systems may
/// show a result that late.
const GRACE: Duration = Duration::from_secs(120);

/// How long a command of a scheduler may take to answer, by default.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Where the evaluations of a measurement run.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Executor {
    /// As processes on this machine.
    #[default]
    Local,
    /// As jobs of Slurm.
    Slurm(SlurmResources, Watching),
    /// As jobs of any scheduler, by commands that submit, ask and cancel.
    Command(SchedulerCommands, Watching),
    /// Somebody measures, and records the values with `unyoke tell`.
    Hand,
}

impl Executor {
    /// Whether attempts are jobs of a scheduler.
    pub fn is_batch(&self) -> bool {
        matches!(self, Self::Slurm(..) | Self::Command(..))
    }

    /// The time limit of a job, if the study file sets one.
    pub fn time_limit(&self) -> Option<Duration> {
        match self {
            Self::Slurm(resources, _) => resources.time,
            _ => None,
        }
    }
}

/// What a job of Slurm asks for; nothing said means what the cluster says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlurmResources {
    /// The partition, or several separated by commas.
    pub partition: Option<String>,
    /// The time limit, which Slurm rounds up to minutes.
    pub time: Option<Duration>,
    /// Processors of the job.
    pub cpus: Option<u32>,
    /// Memory of the job as Slurm writes it, `16G`.
    pub memory: Option<String>,
    /// Further arguments of `sbatch`.
    pub extra: Vec<String>,
}

/// The commands of a scheduler.
#[derive(Debug, Clone, PartialEq)]
pub struct SchedulerCommands {
    /// Submits `{script}` as a job called `{name}`.
    pub submit: CommandTemplate,
    /// Prints a line with name and state for each job whose name it reads.
    pub status: CommandTemplate,
    /// Cancels the job called `{name}`.
    pub cancel: CommandTemplate,
}

/// How jobs are looked after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watching {
    /// Between two questions to the scheduler.
    pub poll: Duration,
    /// How long a job must be gone, and its supervisor silent, before the attempt counts as dead.
    pub grace: Duration,
    /// How long a command of the scheduler may take.
    pub call_timeout: Duration,
}

impl Default for Watching {
    fn default() -> Self {
        Self { poll: POLL, grace: GRACE, call_timeout: CALL_TIMEOUT }
    }
}

/// Fields that belong to some executors only, with these.
const OWN: [(&str, &[&str]); 7] = [
    ("slurm", &["slurm"]),
    ("submit", &["command"]),
    ("status", &["command"]),
    ("cancel", &["command"]),
    ("poll", &["slurm", "command"]),
    ("grace", &["slurm", "command"]),
    ("call_timeout", &["slurm", "command"]),
];

pub(super) fn read(table: &Table<'_>, found: &mut Findings) -> Executor {
    let named = table.get("executor").map(|entry| entry.word(fields::EXECUTORS, found));
    let Some(name) = named.unwrap_or(Some("local")) else { return Executor::Local };
    refuse_others(name, table, found);
    match name {
        "slurm" => Executor::Slurm(slurm(table, found), watching(table, found)),
        "command" => commands(table, found).map_or(Executor::Local, |commands| {
            Executor::Command(commands, watching(table, found))
        }),
        "hand" => {
            refuse_command(table, found);
            Executor::Hand
        }
        _ => Executor::Local,
    }
}

/// Notes fields of other executors.
fn refuse_others(name: &str, table: &Table<'_>, found: &mut Findings) {
    for (field, executors) in OWN {
        let Some(entry) = table.get(field).filter(|_| !executors.contains(&name)) else { continue };
        let message = format!("{} does not go with executor = {name:?}", entry.path);
        let help = format!("it belongs to executor = {:?}", executors.join("\" or \""));
        found.add(Diagnostic::new(entry.key, message).label("remove this").help(help));
    }
}

/// What somebody measures has no command.
fn refuse_command(table: &Table<'_>, found: &mut Findings) {
    for entry in ["command", "timeout", "retries", "env", "directory"].map(|name| table.get(name)) {
        let Some(entry) = entry else { continue };
        let message = format!("{} does not go with executor = \"hand\"", entry.path);
        found.add(Diagnostic::new(entry.key, message).label("remove this, or the executor"));
    }
}

fn watching(table: &Table<'_>, found: &mut Findings) -> Watching {
    let mut time = |name: &str| table.get(name).and_then(|entry| entry.duration(found));
    let unsaid = Watching::default();
    Watching {
        poll: time("poll").unwrap_or(unsaid.poll),
        grace: time("grace").unwrap_or(unsaid.grace),
        call_timeout: time("call_timeout").unwrap_or(unsaid.call_timeout),
    }
}

fn slurm(table: &Table<'_>, found: &mut Findings) -> SlurmResources {
    let Some(table) = table.section("slurm", found) else { return SlurmResources::default() };
    table.refuse_unknown(fields::SLURM, found);
    let text = |entry: Entry<'_>, found: &mut Findings| {
        let text = entry.text(found)?;
        if text.is_empty() || text.starts_with('-') {
            entry.refuse("must be a name", "not a name", found);
            return None;
        }
        Some(text.to_owned())
    };
    SlurmResources {
        partition: table.get("partition").and_then(|entry| text(entry, found)),
        time: table.get("time").and_then(|entry| entry.duration(found)),
        cpus: table.get("cpus").and_then(|entry| entry.count(found)),
        memory: table.get("memory").and_then(|entry| memory(&entry, found)),
        extra: table.get("extra").map_or_else(Vec::new, |entry| extra(&entry, found)),
    }
}

/// A number with a unit, as `sbatch --mem` takes it.
fn memory(entry: &Entry<'_>, found: &mut Findings) -> Option<String> {
    let text = entry.text(found)?;
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T']);
    let unit = text.len() - digits.len();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || unit > 1 || digits.bytes().all(|byte| byte == b'0') {
        let message = format!("{} is not an amount of memory", entry.path);
        let diagnostic = Diagnostic::new(entry.place(), message).label("expected an amount");
        found.add(diagnostic.help("write an integer and K, M, G or T, as in \"16G\""));
        return None;
    }
    Some(text.to_owned())
}

/// Arguments of `sbatch` that would take a job out of our hands.
const RESERVED: [(&str, &str); 16] = [
    ("--job-name", "jobs are known by names of our own"),
    ("-J", "jobs are known by names of our own"),
    ("--requeue", "attempts are repeated by the program, as retries says"),
    ("--array", "each evaluation is a job of its own"),
    ("-a", "each evaluation is a job of its own"),
    ("--output", "it goes to supervisor.log in the folder of the attempt"),
    ("-o", "it goes to supervisor.log in the folder of the attempt"),
    ("--error", "it goes to supervisor.log in the folder of the attempt"),
    ("-e", "it goes to supervisor.log in the folder of the attempt"),
    ("--wait", "submitting must not wait for the job"),
    ("-W", "submitting must not wait for the job"),
    ("--wrap", "the script is the program's own"),
    ("--test-only", "nothing would run"),
    ("--help", "nothing would run"),
    ("--version", "nothing would run"),
    ("--uid", "jobs of another user are not found again"),
];

fn extra(entry: &Entry<'_>, found: &mut Findings) -> Vec<String> {
    let items = entry.texts(found).unwrap_or_default();
    for item in &items {
        let option = item.as_text().split('=').next().unwrap_or_default();
        if let Some((_, reason)) = RESERVED.iter().find(|(reserved, _)| *reserved == option) {
            let message = format!("{} cannot be {option}: {reason}", item.path);
            found.add(Diagnostic::new(item.place(), message).label("remove this"));
        }
    }
    if let Some(first) = items.first().filter(|first| !first.as_text().starts_with('-')) {
        first.refuse("must be an option of sbatch", "expected something like --account=x", found);
    }
    items.iter().map(|item| item.as_text().to_owned()).collect()
}

fn commands(table: &Table<'_>, found: &mut Findings) -> Option<SchedulerCommands> {
    let mut read = |name: &str, allowed: &[&str]| {
        let entry = table.need(name, found)?;
        command(&entry, allowed, found)
    };
    let submit = read("submit", &["name", "script", "folder"]);
    let status = read("status", &[]);
    let cancel = read("cancel", &["name", "folder"]);
    if let (Some(submit), Some(entry)) = (&submit, table.get("submit")) {
        for needed in ["name", "script"] {
            if !submit.parameters().any(|name| name == needed) {
                let message = format!("{} does not use {{{needed}}}", entry.path);
                let diagnostic = Diagnostic::new(entry.place(), message);
                let help = "submit = [\"./submit.sh\", \"{name}\", \"{script}\"]";
                found.add(diagnostic.label(format!("no {{{needed}}}")).help(help));
            }
        }
    }
    if let (Some(cancel), Some(entry)) = (&cancel, table.get("cancel"))
        && cancel.parameters().next().is_none()
    {
        let message = format!("{} does not use {{name}}", entry.path);
        let diagnostic = Diagnostic::new(entry.place(), message).label("no {name}");
        found.add(diagnostic.help("cancel = [\"./cancel.sh\", \"{name}\"]"));
    }
    Some(SchedulerCommands { submit: submit?, status: status?, cancel: cancel? })
}

/// A command with placeholders of these names.
fn command(entry: &Entry<'_>, allowed: &[&str], found: &mut Findings) -> Option<CommandTemplate> {
    let items = entry.texts(found)?;
    if items.first().is_none_or(|program| program.as_text().is_empty()) {
        entry.refuse("must name a program", "nothing to run", found);
        return None;
    }
    let mut arguments = vec![];
    for item in &items {
        match Argument::parse(item.as_text()) {
            Ok(argument) => {
                for name in argument.parameters().filter(|name| !allowed.contains(name)) {
                    refuse_placeholder(item, name, allowed, found);
                }
                arguments.push(argument);
            }
            Err(bad) => {
                let place = found.inside(item, bad.place);
                let message = format!("{} holds {}", item.path, bad.reason);
                found.add(Diagnostic::new(place, message).label("not a placeholder"));
            }
        }
    }
    (arguments.len() == items.len()).then(|| CommandTemplate::from_arguments(arguments))
}

fn refuse_placeholder(item: &Entry<'_>, name: &str, allowed: &[&str], found: &mut Findings) {
    let message = format!("{} uses {{{name}}}, which means nothing here", item.path);
    let diagnostic = Diagnostic::new(item.place(), message).label("unknown placeholder");
    let known: Vec<String> = allowed.iter().map(|name| format!("{{{name}}}")).collect();
    found.add(match known.is_empty() {
        true => diagnostic.help("names of jobs are given on standard input"),
        false => diagnostic.help(format!("there are {}", known.join(", "))),
    });
}
