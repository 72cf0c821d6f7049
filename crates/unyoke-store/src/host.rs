//! This machine and this process as others can tell them apart, and whether a process that they
//! wrote down still runs.

use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// Names this machine in locks in place of its host name.
const NAME: &str = "UNYOKE_HOST";

/// A machine since it was started, as processes on it see it.
///
/// Names alone would not do: containers and freshly installed machines share them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) name: String,
    /// Random, another one after each start of the machine; none where the system has no such thing.
    boot: Option<String>,
    /// In which space numbers of processes mean something: containers have their own.
    processes: Option<String>,
}

impl Host {
    /// The machine on which this process runs.
    pub(crate) fn this() -> Self {
        let text =
            |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let set = |name: &str| std::env::var(name).ok();
        let name = set(NAME).or_else(|| text("/proc/sys/kernel/hostname"));
        let name = name.or_else(|| set("HOSTNAME")).filter(|name| !name.is_empty());
        let space = std::fs::read_link("/proc/self/ns/pid").ok();
        Self {
            name: name.unwrap_or_else(|| "unknown".to_owned()),
            boot: text("/proc/sys/kernel/random/boot_id"),
            processes: space.map(|space| space.to_string_lossy().into_owned()),
        }
    }

    /// The same machine under another name, which makes it another one to all who compare.
    #[cfg(test)]
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::this() }
    }
}

/// A process that others may ask about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) host: Host,
    pub(crate) pid: u32,
    /// When it began, in ticks since the machine was started: numbers of processes are used again.
    started: Option<u64>,
    /// The name of its program.
    program: String,
    /// When it wrote this down, for people.
    since: String,
}

/// What is known of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Runs,
    Ended,
    /// It is on another machine, or on a system that does not tell.
    Unknown,
}

impl Process {
    /// This process, on a machine that calls itself `host`.
    pub(crate) fn this(host: &Host) -> Self {
        let pid = std::process::id();
        let program = std::env::current_exe().ok();
        let name = program.as_ref().and_then(|path| path.file_name());
        Self {
            host: host.clone(),
            pid,
            started: started(pid),
            program: name.unwrap_or("a program".as_ref()).to_string_lossy().into_owned(),
            since: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        }
    }

    /// What can be said of it on a machine that calls itself `host`.
    pub(crate) fn life(&self, host: &Host) -> Life {
        if self.host != *host || host.boot.is_none() || self.started.is_none() {
            return Life::Unknown;
        }
        if started(self.pid) == self.started { Life::Runs } else { Life::Ended }
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { host, pid, program, since, .. } = self;
        let since = since.replace('T', " ").replace('Z', " UTC");
        write!(f, "process {pid} ({program}) on {}, since {since}", host.name)
    }
}

/// When a process began that runs now. Source: fields 3 and 22 of `/proc/PID/stat` in proc(5).
#[cfg(target_os = "linux")]
fn started(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may contain anything.
    let mut fields = status.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let is_over = matches!(state, "Z" | "X") && !has_other_threads(pid);
    let started = fields.nth(18)?.parse().ok()?;
    (!is_over).then_some(started)
}

/// Whether threads go on although the first one has ended, and with it, as it looks, the process.
#[cfg(target_os = "linux")]
fn has_other_threads(pid: u32) -> bool {
    std::fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|threads| threads.count() > 1)
}

/// Other systems do not tell in a way that is simple to ask.
#[cfg(not(target_os = "linux"))]
fn started(_: u32) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn this_process_runs_and_one_that_began_at_another_time_is_not_this_one() {
        let host = Host::this();
        let this = Process::this(&host);
        assert_eq!(this.life(&host), Life::Runs);
        let earlier = Process { started: Some(1), ..this };
        assert_eq!(earlier.life(&host), Life::Ended, "its number was used again");
    }

    #[test]
    fn a_killed_process_has_ended_even_before_its_parent_looks() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let host = Host::this();
        let process =
            Process { pid: child.id(), started: started(child.id()), ..Process::this(&host) };
        assert_eq!(process.life(&host), Life::Runs);
        child.kill().unwrap();
        while process.life(&host) == Life::Runs {
            std::thread::yield_now();
        }
        assert_eq!(process.life(&host), Life::Ended);
        child.wait().unwrap();
        assert_eq!(process.life(&host), Life::Ended);
    }

    #[test]
    fn of_processes_elsewhere_nothing_is_known() {
        let (here, there) = (Host::this(), Host::named("elsewhere"));
        assert_eq!(Process::this(&there).life(&here), Life::Unknown);
        let restarted = Host { boot: Some("another".into()), ..Host::this() };
        assert_eq!(Process::this(&restarted).life(&here), Life::Unknown);
        let container = Host { processes: Some("pid:[1]".into()), ..Host::this() };
        assert_eq!(Process::this(&container).life(&here), Life::Unknown);
    }

    #[test]
    fn a_process_is_described_for_people() {
        let since = "2026-11-18T04:12:05Z".to_owned();
        let host = Host::named("node7");
        let process =
            Process { pid: 4711, program: "unyoke".into(), since, ..Process::this(&host) };
        let told = "process 4711 (unyoke) on node7, since 2026-11-18 04:12:05 UTC";
        assert_eq!(process.to_string(), told);
    }
}
