//! Calls of the commands of a scheduler: they may hang, print anything, and leave processes behind.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::process::Group;

/// What is read of an answer.
const LONGEST: usize = 16 << 20;

/// What is shown of an answer in a message.
const SHOWN: usize = 300;

/// Between two looks whether a command has ended: from the first to the last.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(50);

/// How long the rest of an answer is waited for once the command has ended: what it left running may
/// keep its output open.
const REST: Duration = Duration::from_secs(1);

/// What a command answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) succeeded: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// As in `exit status: 1`.
    ended: String,
}

/// Why a command gave no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// It cannot be started.
    CannotStart(String),
    /// It did not end in time, and was killed.
    TimedOut(String),
}

impl Answer {
    /// What it had to say, in a line for people: the last two lines of its errors or else of its output.
    /// Many programs end with a hint, and say before that what is wrong.
    pub(super) fn complaint(&self) -> String {
        let last = |text: &str| {
            let lines: Vec<&str> =
                text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let from = lines.len().saturating_sub(2);
            (!lines.is_empty()).then(|| shortened(&lines[from..].join("; ")))
        };
        match last(&self.stderr).or_else(|| last(&self.stdout)) {
            Some(line) => format!("{line} ({})", self.ended),
            None => self.ended.clone(),
        }
    }
}

/// A text as far as it can be shown.
pub(super) fn shortened(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match clean.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

/// Runs a command with this on its standard input, for so long at most.
pub(super) fn call(command: &mut Command, input: &str, most: Duration) -> Result<Answer, NoAnswer> {
    let program = command.get_program().to_string_lossy().into_owned();
    let cannot_start = |error: std::io::Error| {
        NoAnswer::CannotStart(format!("{program} cannot be started: {error}"))
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Out of reach of Ctrl-C in our terminal, and killed with all that it started.
    let mut child = command.process_group(0).spawn().map_err(cannot_start)?;
    let group = Group::of(&child);
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_owned();
        // One that does not read it is free not to.
        let write = move || drop(stdin.write_all(input.as_bytes()));
        std::thread::Builder::new().spawn(write).map_err(cannot_start)?;
    }
    let stdout = Stream::read(child.stdout.take()).map_err(cannot_start)?;
    let stderr = Stream::read(child.stderr.take()).map_err(cannot_start)?;
    let began = Instant::now();
    let mut look = SHORTEST_LOOK;
    let status = loop {
        match child.try_wait() {
            Ok(None) if began.elapsed() >= most => {
                let _ = group.kill();
                let _ = child.wait();
                let seconds = most.as_secs_f64();
                let message = format!("{program} did not answer within {seconds} s and was killed");
                return Err(NoAnswer::TimedOut(message));
            }
            Ok(None) => std::thread::sleep(look),
            Ok(Some(status)) => break status,
            Err(error) => return Err(cannot_start(error)),
        }
        look = (look * 2).min(LONGEST_LOOK);
    };
    Ok(Answer {
        succeeded: status.success(),
        stdout: stdout.finish(),
        stderr: stderr.finish(),
        ended: status.to_string(),
    })
}

/// What is read of a stream, on a thread of its own.
struct Stream {
    read: Arc<Mutex<Vec<u8>>>,
    ended: std::sync::mpsc::Receiver<()>,
}

impl Stream {
    fn read(source: Option<impl Read + Send + 'static>) -> std::io::Result<Self> {
        let read = Arc::<Mutex<Vec<u8>>>::default();
        let (done, ended) = std::sync::mpsc::channel();
        let into = read.clone();
        let work = move || {
            let Some(mut source) = source else { return };
            let mut buffer = vec![0; 64 << 10];
            while let Ok(count @ 1..) = source.read(&mut buffer) {
                let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
                let room = LONGEST.saturating_sub(into.len());
                into.extend_from_slice(&buffer[..count.min(room)]);
            }
            let _ = done.send(());
        };
        std::thread::Builder::new().spawn(work)?;
        Ok(Self { read, ended })
    }

    fn finish(self) -> String {
        let _ = self.ended.recv_timeout(REST);
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&read).into_owned()
    }
}

/// Where a program is, as a command in `directory` would find it.
pub(crate) fn find_program(program: &str, directory: &Path) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(directory.join(program)).filter(is_executable);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(is_executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn an_answer_has_what_was_printed_and_how_it_ended() {
        let answer = call(&mut shell("cat; echo no >&2; exit 3"), "a\nb\n", LONG).unwrap();
        assert_eq!((answer.stdout.as_str(), answer.succeeded), ("a\nb\n", false));
        assert_eq!(answer.complaint(), "no (exit status: 3)");
    }

    #[test]
    fn what_hangs_is_killed_and_what_it_leaves_behind_is_not_waited_for() {
        let hanging = call(&mut shell("sleep 600"), "", Duration::from_millis(50));
        assert!(matches!(hanging, Err(NoAnswer::TimedOut(_))));
        let answer = call(&mut shell("sleep 5 & echo done"), "", LONG).unwrap();
        assert_eq!(answer.stdout, "done\n");
    }

    #[test]
    fn input_that_nobody_reads_and_garbage_do_no_harm() {
        let input = "x\n".repeat(1 << 20);
        let answer = call(&mut shell("head -c 100000 /dev/zero"), &input, LONG).unwrap();
        assert!(answer.succeeded && answer.complaint().len() < 2 * SHOWN);
        let missing = call(&mut Command::new("/nowhere/sbatch"), "", LONG);
        assert!(matches!(missing, Err(NoAnswer::CannotStart(_))));
    }
}
