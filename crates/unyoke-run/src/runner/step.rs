//! What to do next about an evaluation, given what its attempts left on disk.

use unyoke::Evaluation;

use crate::error::{Error, Result};
use crate::process::{Attempt, Begun, Death, Failure, Layout, Measured, Relation, Spent, State};

/// How often an evaluation is tried again whose supervisor vanished: machines may go down, but a
/// command that takes them down with it each time must come to an end.
const DEATHS: usize = 5;

/// What is said of an attempt that has no folder any more.
const DELETED: &str = "the folder of the attempt was deleted while it ran, perhaps by the command";

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Start this attempt; the last one, if any, failed for this reason.
    Start { attempt: u32, after: Option<String> },
    /// This attempt is under way.
    Await { attempt: u32 },
    /// The last attempt could not even be started, for this reason.
    NeverBegan { attempt: u32, reason: String },
    /// This attempt was the last.
    Settle(Settled),
}

/// How an evaluation ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settled {
    pub(super) attempt: u32,
    /// What was measured, or why there is nothing.
    pub(super) result: Result<Measured, String>,
    pub(super) spent: Spent,
}

/// How often an evaluation may be tried, and was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tries {
    /// So many failures are forgiven.
    pub(super) retries: u32,
    /// Those that were begun, even if they left nothing on the disk.
    pub(super) begun: Begun,
}

/// The next step for an evaluation, which makes the measurement of this name.
pub(super) fn next(
    layout: &Layout,
    evaluation: &Evaluation,
    measurement: &str,
    tries: Tries,
) -> Result<Step> {
    let Begun { before, last: begun } = tries.begun;
    let (mut failures, mut deaths, mut stillborn) = (0, 0, 0);
    let (mut last, mut after, mut spent) = (begun, None, Spent::default());
    let mut never_began = None;
    let attempts = layout.attempts(evaluation.id)?;
    let deleted = (before + 1..=begun).filter(|attempt| !attempts.contains(attempt)).count();
    if deleted > 0 {
        deaths += deleted;
        after = Some(DELETED.to_owned());
    }
    for attempt in attempts {
        let folder = layout.attempt(evaluation.id, attempt);
        let relation = Attempt::relation(&folder, measurement, evaluation)?;
        if relation == Relation::Foreign {
            return Err(Error::LeftOver { folder: layout.evaluation(evaluation.id) });
        }
        last = last.max(attempt);
        let state = Attempt::find(&folder)?;
        if matches!(state, State::Running | State::Orphaned) {
            return Ok(Step::Await { attempt });
        }
        if relation == Relation::Earlier && !has_value(&state) {
            // It has been counted, and whoever made the evaluation pending again forgave it.
            continue;
        }
        never_began = None;
        match state {
            State::Running | State::Orphaned => {}
            State::Finished(outcome) => match &outcome.result {
                Ok(measured) => {
                    spent.add(&outcome);
                    let result = Ok(measured.clone());
                    return Ok(Step::Settle(Settled { attempt, result, spent }));
                }
                // That it was stopped says nothing about the evaluation.
                Err(Failure::Stopped) => {}
                Err(failure) if failure.never_began() => {
                    never_began = Some(failure.to_string());
                }
                Err(failure) => {
                    failures += 1;
                    after = Some(failure.to_string());
                    spent.add(&outcome);
                }
            },
            State::Dead(Death::Stopped) => {}
            State::Dead(death @ Death::Exceeded { .. }) => {
                failures += 1;
                after = Some(death.to_string());
            }
            State::Dead(Death::Refused { reason }) => never_began = Some(reason),
            // Nothing was measured, so nothing is paid; but it must come to an end, too.
            State::Dead(death @ (Death::NeverBegan { .. } | Death::NeverRan { .. })) => {
                stillborn += 1;
                never_began = Some(death.to_string()).filter(|_| stillborn > DEATHS);
                after = Some(death.to_string());
            }
            State::Dead(death) => {
                deaths += 1;
                after = Some(death.to_string());
            }
            State::NotStarted => {}
        }
    }
    if let Some(reason) = never_began {
        return Ok(Step::NeverBegan { attempt: last, reason });
    }
    let ended = failures > tries.retries || deaths > DEATHS;
    let result = Err(after.clone().unwrap_or_default());
    Ok(match ended {
        true => Step::Settle(Settled { attempt: last, result, spent }),
        false => Step::Start { attempt: last + 1, after },
    })
}

fn has_value(state: &State) -> bool {
    matches!(state, State::Finished(outcome) if outcome.result.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::time::Duration;
    use tempfile::TempDir;
    use unyoke::{Design, Status};

    /// Attempts at evaluation 7 of `mass`.
    struct Attempts(TempDir);

    impl Attempts {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn folder(&self, attempt: u32) -> PathBuf {
            let design = r#"{"evaluation":7,"attempt":1,"objective":"mass","design":{"x":0.5}}"#;
            self.folder_for(attempt, design)
        }

        /// The same after so many retries.
        fn folder_of_retry(&self, attempt: u32, retry: u32) -> PathBuf {
            let design = r#"{"measurement":"mass","outputs":["mass"],"design":{"x":0.5},"retry":"#;
            self.folder_for(attempt, &format!("{design}{retry}}}"))
        }

        fn folder_for(&self, attempt: u32, design: &str) -> PathBuf {
            let folder = Layout::new(self.0.path()).attempt(7, attempt);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("design.json"), design).unwrap();
            File::create(folder.join("lock")).unwrap();
            folder
        }

        /// An attempt whose supervisor died after the command had begun.
        fn died(&self, attempt: u32) {
            fs::write(self.folder(attempt).join("group"), "1\n").unwrap();
        }

        fn ended(&self, attempt: u32, result: &str) {
            self.ended_in(&self.folder(attempt), attempt, result);
        }

        fn ended_in(&self, folder: &Path, attempt: u32, result: &str) {
            let exit = format!(
                r#"{{"format":1,"evaluation":7,"attempt":{attempt},{result},"exit":{{"code":0}},
                "timed_out":false,"started":"2023-11-14T22:13:20.123Z",
                "ended":"2023-11-14T22:13:20.373Z","seconds":0.25,
                "stdout":{{"bytes":4}},"stderr":{{"bytes":0}}}}"#
            );
            fs::write(folder.join("exit.json"), exit).unwrap();
        }

        fn failed(&self, attempt: u32) {
            self.ended(attempt, r#""failure":{"kind":"nothing_printed"}"#);
        }

        fn next(&self, retries: u32) -> Result<Step> {
            self.next_of(Tries { retries, begun: Begun::default() })
        }

        fn next_of(&self, tries: Tries) -> Result<Step> {
            next(&Layout::new(self.0.path()), &evaluation(0), "mass", tries)
        }

        /// What comes next after so many retries.
        fn next_after(&self, retried: u32) -> Step {
            let tries = Tries { retries: 0, begun: Begun::default() };
            next(&Layout::new(self.0.path()), &evaluation(retried), "mass", tries).unwrap()
        }

        fn starts(&self, retries: u32) -> Option<u32> {
            match self.next(retries).unwrap() {
                Step::Start { attempt, .. } => Some(attempt),
                _ => None,
            }
        }
    }

    fn evaluation(retried: u32) -> Evaluation {
        Evaluation {
            id: 7,
            design: Design::new().with("x", 0.5),
            measurement: Some(0),
            outputs: vec![0],
            cost: 1.0,
            paid: None,
            sunk: 0.0,
            retried,
            initial: false,
            confirms: None,
            queued: None,
            asked: true,
            skipped: None,
            status: Status::Pending,
            superseded: vec![],
        }
    }

    /// A value of `mass`.
    fn value(value: f64) -> Measured {
        Measured { values: [("mass".to_owned(), value.into())].into(), missing: None }
    }

    const FAILED: &str = r#""failure":{"kind":"nothing_printed"}"#;

    #[test]
    fn what_was_never_begun_is_begun() {
        assert_eq!(Attempts::new().next(0).unwrap(), Step::Start { attempt: 1, after: None });
    }

    #[test]
    fn a_value_is_collected_and_not_measured_again() {
        let attempts = Attempts::new();
        attempts.failed(1);
        attempts.ended(2, r#""value":1.5"#);
        let Step::Settle(settled) = attempts.next(0).unwrap() else { panic!("it went on") };
        assert_eq!((settled.attempt, settled.result), (2, Ok(value(1.5))));
    }

    #[test]
    fn what_was_spent_is_the_sum_over_all_attempts_that_ended_by_themselves() {
        let attempts = Attempts::new();
        attempts.ended(1, &format!(r#"{FAILED},"cost":2"#));
        attempts.ended(2, r#""failure":{"kind":"stopped"},"cost":64"#);
        attempts.died(3);
        attempts.ended(4, r#""values":{"mass":1.5},"cost":1.5"#);
        let Step::Settle(settled) = attempts.next(0).unwrap() else { panic!("it went on") };
        let duration = Duration::from_millis(500);
        assert_eq!(settled.spent, Spent { duration, cost: Some(3.5) });
    }

    #[test]
    fn after_a_retry_failures_from_before_do_not_count_and_attempts_are_numbered_on() {
        let attempts = Attempts::new();
        attempts.failed(1);
        attempts.ended(2, r#""failure":{"kind":"not_found","program":"mass"}"#);
        attempts.died(3);
        assert_eq!(attempts.next_after(1), Step::Start { attempt: 4, after: None });
        attempts.ended_in(&attempts.folder_of_retry(4, 1), 4, FAILED);
        let Step::Settle(settled) = attempts.next_after(1) else { panic!("it went on") };
        assert_eq!((settled.attempt, settled.spent.duration.as_millis()), (4, 250));
        assert_eq!(attempts.next_after(2), Step::Start { attempt: 5, after: None });
        attempts.ended_in(&attempts.folder_of_retry(5, 2), 5, r#""values":{"mass":1.5}"#);
        assert!(matches!(attempts.next_after(2), Step::Settle(Settled { result: Ok(_), .. })));
    }

    #[test]
    fn after_a_retry_what_still_runs_is_awaited_and_a_value_collected() {
        let attempts = Attempts::new();
        let lock = File::open(attempts.folder(1).join("lock")).unwrap();
        lock.lock().unwrap();
        assert_eq!(attempts.next_after(1), Step::Await { attempt: 1 });
        attempts.ended(1, r#""value":1.5"#);
        drop(lock);
        assert!(matches!(attempts.next_after(1), Step::Settle(Settled { result: Ok(_), .. })));
    }

    #[test]
    fn after_a_retry_folders_deleted_before_do_not_count() {
        let attempts = Attempts::new();
        let begun = |before| Begun { before, last: DEATHS as u32 + 1 };
        let next = |before| attempts.next_of(Tries { retries: 0, begun: begun(before) }).unwrap();
        assert!(matches!(next(0), Step::Settle(_)));
        assert_eq!(next(DEATHS as u32 + 1), Step::Start { attempt: 7, after: None });
    }

    #[test]
    fn failures_are_forgiven_as_often_as_said() {
        let attempts = Attempts::new();
        attempts.failed(1);
        attempts.failed(2);
        assert_eq!(attempts.starts(2), Some(3));
        let Step::Settle(Settled { attempt: 2, result: Err(reason), .. }) =
            attempts.next(1).unwrap()
        else {
            panic!("it went on")
        };
        assert!(reason.contains("printed nothing"), "{reason}");
    }

    #[test]
    fn what_was_stopped_is_no_failure() {
        let attempts = Attempts::new();
        attempts.ended(1, r#""failure":{"kind":"stopped"}"#);
        assert_eq!(attempts.next(0).unwrap(), Step::Start { attempt: 2, after: None });
    }

    #[test]
    fn what_never_began_is_neither_a_failure_nor_forgotten() {
        let attempts = Attempts::new();
        attempts.ended(1, r#""failure":{"kind":"not_found","program":"mass"}"#);
        let Step::NeverBegan { attempt: 1, reason } = attempts.next(0).unwrap() else {
            panic!("it went on")
        };
        assert!(reason.contains("not found"), "{reason}");
        attempts.failed(2);
        assert_eq!(attempts.starts(1), Some(3));
    }

    #[test]
    fn what_runs_is_awaited_and_what_died_made_again() {
        let attempts = Attempts::new();
        let lock = File::open(attempts.folder(1).join("lock")).unwrap();
        lock.lock().unwrap();
        assert_eq!(attempts.next(0).unwrap(), Step::Await { attempt: 1 });
        drop(lock);
        assert_eq!(attempts.starts(0), Some(2));
        for attempt in 1..=DEATHS as u32 + 1 {
            attempts.died(attempt);
        }
        assert!(matches!(attempts.next(0).unwrap(), Step::Settle(Settled { result: Err(_), .. })));
    }

    #[test]
    fn a_death_before_the_command_began_is_never_paid() {
        let attempts = Attempts::new();
        for attempt in 1..=DEATHS as u32 {
            attempts.folder(attempt);
            assert_eq!(attempts.starts(0), Some(attempt + 1));
        }
        attempts.folder(DEATHS as u32 + 1);
        let Step::NeverBegan { reason, .. } = attempts.next(0).unwrap() else {
            panic!("it went on, or was paid")
        };
        assert!(reason.contains("before the command began"), "{reason}");
    }

    #[test]
    fn attempts_whose_folders_were_deleted_count() {
        let attempts = Attempts::new();
        let begun = |last: u32| {
            let begun = Begun { before: 0, last };
            attempts.next_of(Tries { retries: 0, begun }).unwrap()
        };
        assert!(matches!(begun(1), Step::Start { attempt: 2, after: Some(_) }));
        let Step::Settle(Settled { result: Err(reason), .. }) = begun(DEATHS as u32 + 1) else {
            panic!("it went on")
        };
        assert!(reason.contains("deleted"), "{reason}");
    }

    #[test]
    fn what_a_crash_tore_is_a_death_and_what_exit_json_says_goes_before_design_json() {
        let attempts = Attempts::new();
        let measured = r#""measured":{"objective":"mass","design":{"x":0.5}},"value":1.5"#;
        fs::write(attempts.folder(1).join("design.json"), "").unwrap();
        assert_eq!(attempts.starts(0), Some(2));
        attempts.ended(1, measured);
        fs::write(Layout::new(attempts.0.path()).attempt(7, 1).join("design.json"), "").unwrap();
        assert!(matches!(attempts.next(0).unwrap(), Step::Settle(Settled { result: Ok(_), .. })));
        attempts.ended(1, &measured.replace("0.5", "0.75"));
        assert!(matches!(attempts.next(0), Err(Error::LeftOver { .. })));
    }

    #[test]
    fn attempts_at_something_else_are_not_ours() {
        let attempts = Attempts::new();
        attempts.ended(1, r#""value":1.5"#);
        let other = r#"{"evaluation":7,"attempt":1,"objective":"mass","design":{"x":0.75}}"#;
        fs::write(attempts.folder(1).join("design.json"), other).unwrap();
        assert!(matches!(attempts.next(0), Err(Error::LeftOver { .. })));
    }
}
