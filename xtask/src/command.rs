//! Commands that tasks run, and what comes of them.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// No command of a task takes longer unless it hangs.
const MOST: Duration = Duration::from_secs(45 * 60);

/// Between two looks at a command.
const PAUSE: Duration = Duration::from_millis(20);

/// Why a task failed, in words for the terminal.
pub(crate) type Outcome = Result<(), String>;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or_else(PathBuf::new, PathBuf::from)
}

/// A cargo command that runs at the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end and fails unless it succeeds. One that hangs is killed, with all that it started.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let mut child =
        command.spawn().map_err(|error| format!("{command:?} did not start: {error}"))?;
    match wait(&mut child, MOST) {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => Err(format!("{command:?} ended with {status}")),
        Ok(None) => Err(format!("{command:?} did not end within {} min", MOST.as_secs() / 60)),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

/// How a command ended, or nothing if it had to be killed.
fn wait(child: &mut Child, most: Duration) -> std::io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() > most {
            for process in with_descendants(child.id()) {
                let _ = Command::new("kill").args(["-9", &process.to_string()]).status();
            }
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

/// A process and all that it started, as far as the system tells (on Linux).
fn with_descendants(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        let children =
            threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let children: Vec<u32> = children
            .flat_map(|text| {
                text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>()
            })
            .collect();
        found.extend(children);
        next += 1;
    }
    found
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_killed_with_all_that_it_started() {
        let mut child = Command::new("sh").args(["-c", "sleep 1000 & sleep 1000"]).spawn().unwrap();
        while with_descendants(child.id()).len() < 3 {
            std::thread::sleep(PAUSE);
        }
        let processes = with_descendants(child.id());
        assert!(wait(&mut child, Duration::ZERO).unwrap().is_none());
        for process in processes {
            let state = || fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            while !state().is_empty() && !state().contains(") Z ") {
                std::thread::sleep(PAUSE);
            }
        }
    }

    #[test]
    fn what_ends_says_how() {
        let ends_with = |code: &str| {
            let mut child =
                Command::new("sh").args(["-c", &format!("exit {code}")]).spawn().unwrap();
            wait(&mut child, MOST).unwrap().unwrap().code()
        };
        assert_eq!([ends_with("0"), ends_with("3")], [Some(0), Some(3)]);
    }
}
