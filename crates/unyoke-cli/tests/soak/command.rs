//! The command of the studies: writes down when it begins and ends, looks whether another attempt at
//! its evaluation runs, and gives a value that tells which attempt it is from.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::processes::{self, STUDY};

/// Says in which folder of the study a runner works, from 0.
pub(crate) const FOLDER: &str = "UNYOKE_SOAK_FOLDER";

/// Attempts in the next folder of a study are counted from here.
const ATTEMPTS: u32 = 100;

/// Where commands write, in the first folder of the study.
const LOG: &str = "commands";

/// What a command wrote down: at which attempt, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) evaluation: u64,
    pub(crate) attempt: u32,
    pub(crate) nanoseconds: u128,
    pub(crate) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Began,
    Ended,
    /// It was not alone: this process was there.
    Met(i32),
}

/// An attempt, numbered among those of all folders.
pub(crate) fn numbered(attempt: u32, folder: usize) -> u32 {
    attempt + ATTEMPTS * u32::try_from(folder).unwrap()
}

/// The value that an attempt gives.
pub(crate) fn value(evaluation: u64, attempt: u32) -> f64 {
    evaluation as f64 + f64::from(attempt) / 1024.0
}

/// Does what a command does, if this process is one.
#[allow(clippy::zombie_processes, reason = "what it leaves behind is for others to end")]
pub(crate) fn run() {
    let Ok(study) = std::env::var(STUDY) else { return };
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let evaluation = number("UNYOKE_EVALUATION");
    let folder = usize::try_from(number(FOLDER)).unwrap();
    let attempt = numbered(u32::try_from(number("UNYOKE_ATTEMPT")).unwrap(), folder);
    let design = PathBuf::from(std::env::var("UNYOKE_DESIGN").unwrap());
    let study = PathBuf::from(study);
    let log = |what| Entry { evaluation, attempt, nanoseconds: now(), what }.write(&study);
    // Whoever begins says so first and looks then: of two, one at least sees the other.
    log(What::Began);
    for other in processes::of_other_attempts(&study, &design) {
        log(What::Met(other.number));
    }
    // Now and then it leaves a process behind, which must be ended before anything else begins.
    if evaluation.is_multiple_of(3) {
        Command::new("sleep").arg("600").spawn().unwrap();
    }
    let milliseconds = (evaluation * 7 + u64::from(attempt) * 3) % 40;
    thread::sleep(Duration::from_millis(milliseconds));
    let result = std::env::var("UNYOKE_RESULT").unwrap();
    fs::write(result, value(evaluation, attempt).to_string()).unwrap();
    log(What::Ended);
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()
}

impl Entry {
    fn write(self, study: &Path) {
        let Self { evaluation, attempt, nanoseconds, what } = self;
        let (what, other) = match what {
            What::Began => ("began", 0),
            What::Ended => ("ended", 0),
            What::Met(other) => ("met", other),
        };
        let line = format!("{evaluation} {attempt} {nanoseconds} {what} {other}\n");
        let log = fs::File::options().create(true).append(true).open(study.join(LOG));
        log.unwrap().write_all(line.as_bytes()).unwrap();
    }

    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [evaluation, attempt, nanoseconds, what, other] = words.as_slice() else { return None };
        let what = match *what {
            "began" => What::Began,
            "ended" => What::Ended,
            _ => What::Met(other.parse().ok()?),
        };
        Some(Self {
            evaluation: evaluation.parse().ok()?,
            attempt: attempt.parse().ok()?,
            nanoseconds: nanoseconds.parse().ok()?,
            what,
        })
    }
}

/// What the commands of a study wrote down.
pub(crate) fn entries(study: &Path) -> Vec<Entry> {
    let text = fs::read_to_string(study.join(LOG)).unwrap_or_default();
    text.lines().map(|line| Entry::parse(line).unwrap_or_else(|| panic!("{line}"))).collect()
}
