//! Slurm: `sbatch`, one `squeue` for all jobs, `sacct` for those it has forgotten, `scancel`.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use super::call::{Answer, NoAnswer, call, shortened};
use super::{Scheduler, Standing, Standings, Submission, Submitted, add};
use crate::process::{script, user_id};
use crate::study_file::{Executor, SlurmResources};

/// What there must be on the path.
pub(crate) const PROGRAMS: [&str; 3] = ["sbatch", "squeue", "scancel"];

/// Names in one question to the accounting.
const AT_ONCE: usize = 50;

/// Before accounting that failed is asked again; there may be none.
const PATIENCE: Duration = Duration::from_secs(600);

/// Variables of Slurm that say where it is; all others belong to a job that we may run in.
const KEPT: [&str; 2] = ["SLURM_CONF", "SLURM_CLUSTERS"];

/// Prefixes of variables that would change what our commands do.
const STRAY: [&str; 4] = ["SLURM_", "SQUEUE_", "SACCT_", "SCANCEL_"];

/// Secrets that a job, whose environment others may see, does not inherit.
const SECRETS: [&str; 2] = ["PGPASSWORD", "UNYOKE_STORE"];

/// Parts of messages of `sbatch` that say that the job will never be accepted as it is.
const LASTING: [&str; 16] = [
    "invalid partition",
    "invalid account",
    "invalid qos",
    "invalid feature",
    "invalid generic resource",
    "invalid --",
    "invalid time",
    "invalid constraint",
    "unrecognized option",
    "invalid option",
    "requested node configuration is not available",
    "memory specification can not be satisfied",
    "cpu count per node can not be satisfied",
    "time limit exceeds",
    "requested time limit is invalid",
    "access/permission denied",
];

/// Parts of messages that say that it is not the job's fault.
const PASSING: [&str; 14] = [
    "socket timed out",
    "unable to contact",
    "temporarily unable",
    "temporarily unavailable",
    "connection refused",
    "connection timed out",
    "connection reset",
    "connect failure",
    "zero bytes were transmitted",
    "standby",
    "communication connection failure",
    "submit limit",
    "maxsubmit",
    "try again",
];

/// A cluster with Slurm.
pub(crate) struct Slurm {
    call_timeout: Duration,
    /// Until when accounting is not asked.
    no_accounting: Mutex<Option<Instant>>,
}

impl Slurm {
    pub(crate) fn new(call_timeout: Duration) -> Self {
        Self { call_timeout, no_accounting: Mutex::new(None) }
    }

    fn call(&self, command: &mut Command) -> Result<Answer, NoAnswer> {
        call(command, "", self.call_timeout)
    }

    /// How jobs ended that the queue has forgotten. Where there is no accounting, nobody knows.
    fn accounted(&self, names: &[&str], since: SystemTime) -> Standings {
        let mut standings = Standings::new();
        let now = Instant::now();
        let Ok(mut pause) = self.no_accounting.lock() else { return standings };
        if names.is_empty() || pause.is_some_and(|until| now < until) {
            return standings;
        }
        for names in names.chunks(AT_ONCE) {
            let mut sacct = slurm_command("sacct");
            sacct.args(["-X", "-P", "-n", "-o", "JobName,State"]);
            sacct.arg(format!("--name={}", names.join(",")));
            sacct.arg(format!("--starttime={}", start_time(since)));
            match self.call(&mut sacct) {
                Ok(answer) if answer.succeeded => parse_accounted(&answer.stdout, &mut standings),
                _ => {
                    *pause = Some(now + PATIENCE);
                    break;
                }
            }
        }
        standings
    }
}

impl Scheduler for Slurm {
    fn title(&self) -> &str {
        "Slurm"
    }

    fn submit(&self, job: &Submission<'_>) -> Submitted {
        let Executor::Slurm(resources, _) = job.executor else {
            return Submitted::Refused("this is not a job of Slurm".to_owned());
        };
        let mut sbatch = slurm_command("sbatch");
        sbatch.args(arguments(resources, job.name, job.folder)).current_dir(job.folder);
        match self.call(&mut sbatch) {
            Ok(answer) if answer.succeeded => Submitted::Accepted(shortened(answer.stdout.trim())),
            Ok(answer) => judge(&answer.stderr, answer.complaint()),
            Err(NoAnswer::TimedOut(reason)) => Submitted::Unclear { reason, passing: true },
            Err(NoAnswer::CannotStart(reason)) => Submitted::Refused(reason),
        }
    }

    fn status(&self, names: &[&str], since: SystemTime) -> Result<Standings, String> {
        let mut squeue = slurm_command("squeue");
        let user = user_id().to_string();
        squeue.args(["-u", &user, "-h", "--states=all", "-o", "%i|%T|%r|%j"]);
        let answer = match self.call(&mut squeue) {
            Ok(answer) if answer.succeeded => answer,
            Ok(answer) => return Err(format!("squeue failed: {}", answer.complaint())),
            Err(NoAnswer::TimedOut(reason) | NoAnswer::CannotStart(reason)) => return Err(reason),
        };
        let wanted: HashSet<&str> = names.iter().copied().collect();
        let mut standings = parse_queue(&answer.stdout, &wanted);
        let missing: Vec<&str> =
            names.iter().copied().filter(|name| !standings.contains_key(*name)).collect();
        standings.extend(self.accounted(&missing, since));
        Ok(standings)
    }

    fn cancel(&self, name: &str, _folder: &Path) -> Result<(), String> {
        let mut scancel = slurm_command("scancel");
        scancel.args(["-u", &user_id().to_string()]).arg(format!("--name={name}"));
        match self.call(&mut scancel) {
            Ok(answer) if answer.succeeded => Ok(()),
            Ok(answer) => Err(format!("scancel failed: {}", answer.complaint())),
            Err(NoAnswer::TimedOut(reason) | NoAnswer::CannotStart(reason)) => Err(reason),
        }
    }
}

/// A command of Slurm that does not know of the job in which we perhaps run.
fn slurm_command(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_stray = STRAY.iter().any(|prefix| text.starts_with(prefix));
        if is_stray && !KEPT.contains(&text.as_ref()) || SECRETS.contains(&text.as_ref()) {
            command.env_remove(&name);
        }
    }
    command
}

/// The arguments of `sbatch`.
fn arguments(resources: &SlurmResources, name: &str, folder: &Path) -> Vec<OsString> {
    // A percent sign begins a placeholder of Slurm's.
    let log = folder.join("supervisor.log").to_string_lossy().replace('%', "%%");
    let mut all: Vec<OsString> = vec!["--parsable".into(), "--no-requeue".into()];
    let mut add = |option: &str, value: &str| all.push(format!("{option}={value}").into());
    add("--job-name", name);
    add("--output", &log);
    add("--open-mode", "append");
    if let Some(partition) = &resources.partition {
        add("--partition", partition);
    }
    if let Some(time) = resources.time {
        // In minutes, of which a part counts as a whole one.
        add("--time", &time.as_secs().div_ceil(60).max(1).to_string());
    }
    if let Some(cpus) = resources.cpus {
        add("--cpus-per-task", &cpus.to_string());
    }
    if let Some(memory) = &resources.memory {
        add("--mem", memory);
    }
    all.extend(resources.extra.iter().map(OsString::from));
    all.push(script(folder).into());
    all
}

/// What a message of `sbatch` means.
fn judge(stderr: &str, complaint: String) -> Submitted {
    let text = stderr.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let reason = format!("sbatch failed: {complaint}");
    match (has(&PASSING), has(&LASTING)) {
        (true, _) => Submitted::Unclear { reason, passing: true },
        (false, true) => Submitted::Refused(reason),
        (false, false) => Submitted::Unclear { reason, passing: false },
    }
}

/// Lines of `id|state|reason|name`.
fn parse_queue(text: &str, wanted: &HashSet<&str>) -> Standings {
    let mut standings = Standings::new();
    for line in text.lines() {
        let mut parts = line.splitn(4, '|').skip(1);
        let (Some(state), Some(reason), Some(name)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if wanted.contains(name) {
            add(&mut standings, name, standing(state, reason));
        }
    }
    standings
}

/// Lines of `name|state`. Only ends count: accounting believes jobs to run that nobody knows any more.
fn parse_accounted(text: &str, standings: &mut Standings) {
    for (name, state) in text.lines().filter_map(|line| line.split_once('|')) {
        if let ended @ Standing::Gone { .. } = standing(state, "") {
            add(standings, name, ended);
        }
    }
}

fn standing(state: &str, reason: &str) -> Standing {
    let reason = Some(reason.trim().to_owned()).filter(|text| !text.is_empty() && text != "None");
    // As in `CANCELLED by 1000`.
    match state.split_whitespace().next().unwrap_or_default() {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT"
        | "RESV_DEL_HOLD" => Standing::Queued(reason),
        "RUNNING" | "CONFIGURING" | "COMPLETING" | "RESIZING" | "SIGNALING" | "STAGE_OUT" => {
            Standing::Running(None)
        }
        "SUSPENDED" | "STOPPED" => Standing::Running(Some(state.to_lowercase())),
        "COMPLETED" | "CANCELLED" | "FAILED" | "NODE_FAIL" | "PREEMPTED" | "BOOT_FAIL"
        | "REVOKED" => Standing::Gone { said: ended(state, reason), exceeded: false },
        "TIMEOUT" | "OUT_OF_MEMORY" | "DEADLINE" => {
            Standing::Gone { said: ended(state, reason), exceeded: true }
        }
        _ => Standing::Unknown(shortened(state)),
    }
}

fn ended(state: &str, reason: Option<String>) -> String {
    match reason {
        Some(reason) if !state.starts_with(&*reason) => format!("{state} ({reason})"),
        _ => state.to_owned(),
    }
}

/// The day before a time, as Slurm reads it: it may be another day where the cluster is.
fn start_time(since: SystemTime) -> String {
    let day = Duration::from_secs(24 * 3600);
    let before = since.checked_sub(day).unwrap_or(SystemTime::UNIX_EPOCH);
    humantime::format_rfc3339_seconds(before).to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_read_whatever_else_is_in_it() {
        let text = "1|PENDING|Resources|u-a\n2|RUNNING|None|u-b\nnonsense\n3|PENDING|JobHeldUser|u-c\n\
                    4|CANCELLED|None|u-d\n5|TIMEOUT|TimeLimit|u-e\n6|RUNNING|None|other|job\n\
                    7|FAILED|NonZeroExitCode|u-a\n8|WEIRD|None|u-f\n";
        let wanted = ["u-a", "u-b", "u-c", "u-d", "u-e", "u-f", "u-g"].into();
        let standings = parse_queue(text, &wanted);
        let gone = |said: &str, exceeded| Standing::Gone { said: said.into(), exceeded };
        assert_eq!(standings["u-a"], Standing::Queued(Some("Resources".into())));
        assert_eq!(standings["u-b"], Standing::Running(None));
        assert_eq!(standings["u-c"], Standing::Queued(Some("JobHeldUser".into())));
        assert_eq!(standings["u-d"], gone("CANCELLED", false));
        assert_eq!(standings["u-e"], gone("TIMEOUT (TimeLimit)", true));
        assert_eq!(standings["u-f"], Standing::Unknown("WEIRD".into()));
        assert_eq!(standings.len(), 6);
    }

    #[test]
    fn accounting_is_believed_about_ends_only() {
        let mut standings = Standings::new();
        parse_accounted("u-a|CANCELLED by 1000\nu-b|RUNNING\nu-c|OUT_OF_MEMORY\n", &mut standings);
        assert_eq!(standings.keys().collect::<Vec<_>>(), ["u-a", "u-c"]);
        assert!(matches!(&standings["u-c"], Standing::Gone { exceeded: true, .. }));
    }

    #[test]
    fn what_passes_is_told_from_what_lasts() {
        let judged = |text: &str| judge(text, text.to_owned());
        assert!(matches!(
            judged("sbatch: error: Batch job submission failed: Socket timed out on send/recv"),
            Submitted::Unclear { passing: true, .. }
        ));
        assert!(matches!(
            judged("sbatch: error: invalid partition specified: x"),
            Submitted::Refused(_)
        ));
        assert!(matches!(judged("Segmentation fault"), Submitted::Unclear { passing: false, .. }));
    }

    #[test]
    fn resources_become_arguments() {
        let resources = SlurmResources {
            partition: Some("cpu".into()),
            time: Some(Duration::from_secs(61)),
            cpus: Some(8),
            memory: Some("16G".into()),
            extra: vec!["--account=x".into()],
        };
        let arguments = arguments(&resources, "u-a", Path::new("/runs/50%/1"));
        let text: Vec<&str> = arguments.iter().filter_map(|one| one.to_str()).collect();
        for expected in [
            "--no-requeue",
            "--job-name=u-a",
            "--output=/runs/50%%/1/supervisor.log",
            "--partition=cpu",
            "--time=2",
            "--cpus-per-task=8",
            "--mem=16G",
        ] {
            assert!(text.contains(&expected), "{expected}: {text:?}");
        }
        assert_eq!(text[text.len() - 2..], ["--account=x", "/runs/50%/1/job.sh"]);
    }
}
