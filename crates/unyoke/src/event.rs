//! What can happen to a study, as it stands in its journal.
//!
//! The written form is a promise: a record once written is read by every later version.

use serde::{Deserialize, Serialize};

use crate::config::{Config, Wishes};
use crate::design::Design;
use crate::error::JournalError;
use crate::problem::{Cost, Problem};
use crate::reading::Reading;
use std::collections::BTreeMap;

/// The newest format of records, in which this version writes.
pub const FORMAT: u32 = 4;

/// An event with the version of the form in which it is written.
///
/// ```
/// use unyoke::{Event, Record};
///
/// let record = Record::from(Event::Withdrawn { evaluation: 3 });
/// let text = serde_json::to_string(&record)?;
/// assert_eq!(text, r#"{"format":4,"event":"withdrawn","evaluation":3}"#);
/// assert_eq!(serde_json::from_str::<Record>(&text)?, record);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The form in which the event is written.
    pub format: u32,
    /// Who caused the event, where that is known. For people: nothing is computed from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When, in seconds since the beginning of 1970, UTC, where that is known; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The request that caused the event, where it has a name of its own: when that comes again, it was
    /// carried out before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl From<Event> for Record {
    /// The event in the newest format.
    fn from(event: Event) -> Self {
        Self { format: FORMAT, by: None, at: None, key: None, event }
    }
}

/// Something that happened to a study.
///
/// Evaluations are numbered from zero in the order in which they were asked for or imported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The study began; always the first event and never a later one.
    Created {
        /// What is optimised.
        problem: Problem,
        /// How.
        config: Config,
        /// From which all random numbers come.
        seed: u64,
    },
    /// An evaluation was suggested.
    Asked {
        /// Its number.
        evaluation: u64,
        /// Where to evaluate.
        design: Design,
        /// Which measurement. In format 1 this was the objective, which was measured alone.
        #[serde(alias = "objective")]
        measurement: String,
        /// What it was expected to cost.
        cost: f64,
        /// Whether it belongs to the first designs, chosen without a model.
        #[serde(default)]
        initial: bool,
    },
    /// A measurement that a recommended design lacks was asked for, to see what is true there.
    ConfirmationAsked {
        /// Its number.
        evaluation: u64,
        /// Where to evaluate.
        design: Design,
        /// Which measurement.
        measurement: String,
        /// What it was expected to cost.
        cost: f64,
        /// How many records the journal had when the design was recommended.
        round: u64,
    },
    /// Somebody wants a design of their own to be measured. Since format 4.
    Queued {
        /// Number of the entry in the queue, counting from zero.
        entry: u64,
        /// Where to measure.
        design: Design,
        /// Which measurement; without one, whatever the design lacks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        measurement: Option<String>,
    },
    /// An evaluation was asked for because its design is in the queue. Since format 4.
    QueuedAsked {
        /// Its number.
        evaluation: u64,
        /// Where to evaluate.
        design: Design,
        /// Which measurement.
        measurement: String,
        /// What it was expected to cost.
        cost: f64,
        /// The entry of the queue.
        entry: u64,
    },
    /// An entry was taken out of the queue. Since format 4.
    Unqueued {
        /// Its number.
        entry: u64,
    },
    /// The results of an evaluation arrived.
    Measured {
        /// Its number.
        evaluation: u64,
        /// Finite values by output, in the units of each.
        values: BTreeMap<String, Reading>,
        /// Why other outputs of the measurement have no value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
        /// What it really cost, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Where it was really made, if not at the design that was suggested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        design: Option<Design>,
    },
    /// Format 1: the result of an evaluation arrived. Now written as [`Event::Measured`].
    Told {
        /// Its number.
        evaluation: u64,
        /// The value of the only output.
        value: f64,
    },
    /// Results known from elsewhere were added.
    Added {
        /// Number of the evaluation that they become.
        evaluation: u64,
        /// Where it was made.
        design: Design,
        /// Finite values by output, in the units of each.
        values: BTreeMap<String, Reading>,
    },
    /// Format 1: a result known from elsewhere was added. Now written as [`Event::Added`].
    Imported {
        /// Its number.
        evaluation: u64,
        /// Where it was evaluated.
        design: Design,
        /// Which objective.
        objective: String,
        /// The result, a finite number in the units of the objective.
        value: f64,
    },
    /// An evaluation ended without a result.
    Failed {
        /// Its number.
        evaluation: u64,
        /// Why.
        reason: String,
        /// What it really cost, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    /// An evaluation that failed will be made again.
    Retried {
        /// Its number.
        evaluation: u64,
    },
    /// An evaluation will not be made.
    Withdrawn {
        /// Its number.
        evaluation: u64,
    },
    /// An evaluation will not be made, and is not to be suggested again right away. Since format 4.
    Skipped {
        /// Its number.
        evaluation: u64,
    },
    /// A measurement cannot be made for a while. Since format 4.
    Paused {
        /// Which measurement.
        measurement: String,
        /// Until when, in seconds since the beginning of 1970, UTC; see [`Pause`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A measurement can be made again. Since format 4.
    Resumed {
        /// Which measurement.
        measurement: String,
    },
    /// What was recorded of an evaluation was wrong: this holds instead. Since format 4.
    Corrected {
        /// Its number.
        evaluation: u64,
        /// All its values by output, changed or not; none if it failed.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        values: BTreeMap<String, Reading>,
        /// Why other outputs of the measurement have no value, or why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
        /// What it really cost, if that was wrong as well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Where it was really made, if that was wrong as well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        design: Option<Design>,
    },
    /// What was recorded of an evaluation does not count any more. Since format 4.
    Retracted {
        /// Its number.
        evaluation: u64,
        /// Why, if somebody said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A measurement has another price from now on.
    CostChanged {
        /// Which measurement. In format 1 this was the objective, which was measured alone.
        #[serde(alias = "objective")]
        measurement: String,
        /// The new price.
        cost: Cost,
    },
    /// The most that may be spent is another from now on: programs that run the study follow it. Since
    /// format 4.
    BudgetChanged {
        /// The most, in the unit of costs; without it there is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    /// The problem or the settings are others from now on. Since format 4.
    Redefined {
        /// All of the problem, changed or not, with its present prices.
        problem: Problem,
        /// All settings, changed or not.
        config: Config,
        /// The values that all designs so far had of parameters that are new.
        #[serde(default, skip_serializing_if = "Design::is_empty")]
        was: Design,
    },
    /// The user wants something else from now on. Since format 3.
    Amended {
        /// All wishes, changed or not.
        wishes: Wishes,
    },
}

/// Why a measurement cannot be made, and until when.
///
/// The engine has no clock: whoever asks compares [`Pause::until`] with the time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pause {
    /// In seconds since the beginning of 1970, UTC; without it, until the measurement is resumed.
    pub until: Option<u64>,
    /// As in "the machine is down".
    pub reason: Option<String>,
}

impl Pause {
    /// Whether it still holds at a time, in seconds since the beginning of 1970, UTC.
    pub fn holds_at(&self, now: u64) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// The format of a record and nothing else, readable from records of any later version.
///
/// A [`Journal`](crate::Journal) that keeps its records as text looks here first: the event of
/// a newer format may be one that does not exist yet.
///
/// ```
/// use unyoke::{Header, JournalError};
///
/// let header: Header = serde_json::from_str(r#"{"format":7,"event":"not invented yet"}"#)?;
/// assert_eq!(header.check(), Err(JournalError::Format { found: 7, known: 4 }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Header {
    /// The form in which the record is written.
    pub format: u32,
}

impl Header {
    /// Fails if this version cannot read such records.
    pub fn check(self) -> Result<(), JournalError> {
        let Self { format: found } = self;
        if found <= FORMAT { Ok(()) } else { Err(JournalError::Format { found, known: FORMAT }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;
    use proptest::prelude::*;

    fn there_and_back(record: &Record) -> Record {
        serde_json::from_str(&serde_json::to_string(record).unwrap()).unwrap()
    }

    proptest! {
        #[test]
        fn a_record_comes_back_from_json_as_it_went_in(records in cases::journals()) {
            for record in records {
                prop_assert_eq!(there_and_back(&record), record);
            }
        }
    }

    /// A journal of format 1 as the first version wrote it. It must always open: add to this
    /// file, change nothing in it.
    const FORMAT_1: &str = include_str!("../tests/golden/journal-format-1.jsonl");

    #[test]
    fn records_of_format_1_open_for_ever() {
        let records: Vec<Record> =
            FORMAT_1.lines().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert!(records.iter().all(|record| record.format == 1));
        let Event::Created { seed, .. } = &records[0].event else { panic!("{:?}", records[0]) };
        assert_eq!(*seed, u64::MAX);
        let Event::Asked { initial, .. } = &records[5].event else { panic!("{:?}", records[5]) };
        assert!(!initial, "left out means false");
        let failed = Event::Failed { evaluation: 3, reason: "out of memory".into(), cost: None };
        assert_eq!(records[8].event, failed);
    }

    /// A journal of format 2, as it was first written. The same holds for it.
    const FORMAT_2: &str = include_str!("../tests/golden/journal-format-2.jsonl");

    #[test]
    fn records_of_format_2_are_read_and_written_as_they_first_were() {
        for text in FORMAT_2.lines() {
            let record: Record = serde_json::from_str(text).unwrap();
            // Settings grow, so the first record is longer now.
            if !matches!(record.event, Event::Created { .. }) {
                assert_eq!(serde_json::to_string(&record).unwrap(), text);
            }
        }
        assert_eq!(FORMAT_2.lines().count(), 11);
    }

    /// A journal of format 3, as it was first written. The same holds for it.
    const FORMAT_3: &str = include_str!("../tests/golden/journal-format-3.jsonl");

    #[test]
    fn records_of_format_3_are_read_and_written_as_they_first_were() {
        for text in FORMAT_3.lines() {
            let record: Record = serde_json::from_str(text).unwrap();
            if !matches!(record.event, Event::Created { .. }) {
                assert_eq!(serde_json::to_string(&record).unwrap(), text);
            }
        }
        assert_eq!(FORMAT_3.lines().count(), 4);
    }

    /// A journal of format 4, as it was first written. The same holds for it.
    const FORMAT_4: &str = include_str!("../tests/golden/journal-format-4.jsonl");

    #[test]
    fn records_of_format_4_are_read_and_written_as_they_first_were() {
        for text in FORMAT_4.lines() {
            let record: Record = serde_json::from_str(text).unwrap();
            if !matches!(record.event, Event::Created { .. } | Event::Redefined { .. }) {
                assert_eq!(serde_json::to_string(&record).unwrap(), text);
            }
        }
        assert_eq!(FORMAT_4.lines().count(), 10);
    }

    #[test]
    fn a_confirmation_is_read_and_written_as_it_first_was() {
        let text = r#"{"format":4,"event":"confirmation_asked","evaluation":9,"design":{"x":0.5},"measurement":"drag","cost":4.0,"round":19}"#;
        let record: Record = serde_json::from_str(text).unwrap();
        assert!(matches!(record.event, Event::ConfirmationAsked { evaluation: 9, round: 19, .. }));
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
    }

    #[test]
    fn queues_pauses_and_budgets_are_read_and_written_as_they_first_were() {
        for text in [
            r#"{"format":4,"event":"queued","entry":0,"design":{"x":0.5}}"#,
            r#"{"format":4,"event":"queued","entry":1,"design":{"x":0.5},"measurement":"drag"}"#,
            r#"{"format":4,"event":"queued_asked","evaluation":9,"design":{"x":0.5},"measurement":"drag","cost":4.0,"entry":1}"#,
            r#"{"format":4,"event":"unqueued","entry":0}"#,
            r#"{"format":4,"event":"skipped","evaluation":3}"#,
            r#"{"format":4,"event":"paused","measurement":"drag","until":1795392000,"reason":"down"}"#,
            r#"{"format":4,"event":"paused","measurement":"drag"}"#,
            r#"{"format":4,"event":"resumed","measurement":"drag"}"#,
            r#"{"format":4,"event":"budget_changed","cost":120.5}"#,
            r#"{"format":4,"event":"budget_changed"}"#,
        ] {
            let record: Record = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&record).unwrap(), text);
        }
    }

    #[test]
    fn a_record_may_say_who_caused_it_when_and_by_which_request() {
        let text = r#"{"format":4,"by":"Ann","at":1795392000,"key":"k-1","event":"withdrawn","evaluation":3}"#;
        let record: Record = serde_json::from_str(text).unwrap();
        assert_eq!((record.by.as_deref(), record.at), (Some("Ann"), Some(1_795_392_000)));
        assert_eq!(record.event, Event::Withdrawn { evaluation: 3 });
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
    }

    #[test]
    fn values_keep_every_bit_in_a_record() {
        for value in [0.1 + 0.2, 5e-324, f64::MAX, -0.0, 1e22] {
            for sd in [None, Some(value.abs())] {
                let values = BTreeMap::from([("f".to_owned(), Reading { value, sd })]);
                let (missing, cost, design) = (None, None, None);
                let event = Event::Measured { evaluation: u64::MAX, values, missing, cost, design };
                let Event::Measured { values, .. } = there_and_back(&event.into()).event else {
                    panic!("another event came back")
                };
                let back = values["f"];
                assert_eq!(back.value.to_bits(), value.to_bits());
                assert_eq!(back.sd.map(f64::to_bits), sd.map(f64::to_bits));
            }
        }
    }

    #[test]
    fn events_not_invented_yet_are_refused_by_their_format() {
        let text = r#"{"format":5,"event":"merged","studies":[1,2]}"#;
        assert!(serde_json::from_str::<Record>(text).is_err());
        let header: Header = serde_json::from_str(text).unwrap();
        assert_eq!(header.check(), Err(JournalError::Format { found: 5, known: FORMAT }));
        assert_eq!(Header { format: FORMAT }.check(), Ok(()));
        assert_eq!(Header { format: 0 }.check(), Ok(()));
    }
}
