//! The processes of a study, found in `/proc`: its runners, their supervisors, and the commands with
//! all that they started.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Names the study by its first folder, in the environment of runners and of all that they start.
pub(crate) const STUDY: &str = "UNYOKE_SOAK_STUDY";

/// Names the folder of the attempt in the environment of commands, and of all that they start.
const ATTEMPT: &str = "UNYOKE_DESIGN";

/// Set as long as a process is not yet the command but about to become it.
const LAUNCHED: &str = "UNYOKE_LAUNCHED_BY";

/// The bit of SIGKILL in the sets of signals that `/proc` shows.
const KILLED: u64 = 1 << 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Runner,
    Supervisor,
    Command,
}

/// A process that was found, and cannot become another while this is held.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) number: i32,
    pub(crate) role: Role,
    held: OwnedFd,
    /// The file that describes the design of its attempt, if it is a command.
    design: Option<String>,
    launching: bool,
}

impl Process {
    /// A process by its number, whatever it is.
    pub(crate) fn hold(number: i32) -> Option<OwnedFd> {
        pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()
    }

    /// One that has ended meanwhile does not hear it.
    pub(crate) fn signal(&self, signal: Signal) {
        send(&self.held, signal);
    }

    /// Whether it has not been killed. What was killed does nothing any more, even if it is still
    /// being taken apart.
    fn works(&self) -> bool {
        let path = format!("/proc/{}/status", self.number);
        let Ok(status) = fs::read_to_string(path) else { return false };
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let is_killed = |name: &str| {
            let set = field(name).and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
            set.is_none_or(|set| set & KILLED != 0)
        };
        let is_gone = field("State:").is_none_or(|state| state.trim().starts_with(['Z', 'X']));
        !is_gone && !is_killed("SigPnd:") && !is_killed("ShdPnd:")
    }
}

pub(crate) fn send(held: &OwnedFd, signal: Signal) {
    let _ = pidfd_send_signal(held, signal);
}

/// All processes of a study, in whichever folder.
pub(crate) fn of(study: &Path) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return vec![] };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|number| find(number, study)).collect()
}

/// The processes of other attempts at an evaluation that run its command, seen from one of its
/// commands. `design` is the file that describes its own.
pub(crate) fn of_other_attempts(study: &Path, design: &Path) -> Vec<Process> {
    let evaluation = |design: &Path| Some(design.parent()?.parent()?.file_name()?.to_owned());
    let is_other = |process: &Process| {
        let other = Path::new(process.design.as_deref().unwrap_or_default());
        other != design && evaluation(other) == evaluation(design)
    };
    let mut found = of(study);
    found.retain(|process| is_other(process) && !process.launching && process.works());
    found
}

fn find(number: i32, study: &Path) -> Option<Process> {
    // Held first and looked at then: it cannot become another in between.
    let held = Process::hold(number)?;
    let environment = fs::read(format!("/proc/{number}/environ")).ok()?;
    let variable = |name: &str| {
        let value =
            |line: &[u8]| Some(line.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec());
        let value = environment.split(|byte| *byte == 0).find_map(value)?;
        String::from_utf8(value).ok()
    };
    if Path::new(&variable(STUDY)?) != study {
        return None;
    }
    let arguments = fs::read(format!("/proc/{number}/cmdline")).ok()?;
    let is_supervisor = String::from_utf8_lossy(&arguments).contains("/study.runs/");
    let design = variable(ATTEMPT);
    let role = match (&design, is_supervisor) {
        (Some(_), _) => Role::Command,
        (None, true) => Role::Supervisor,
        (None, false) => Role::Runner,
    };
    let launching = variable(LAUNCHED).is_some();
    Some(Process { number, role, held, design, launching })
}
