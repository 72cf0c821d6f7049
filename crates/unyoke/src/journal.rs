//! Where the events of a study are kept, in order. Only in memory here: what lasts is for others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::JournalError;
use crate::event::Record;

/// The records of one study. They are added at the end and never changed.
pub trait Journal {
    /// The records from position `from` on, counting from zero; none if there are fewer.
    fn read(&self, from: u64) -> Result<Vec<Record>, JournalError>;

    /// Adds all of `records`, or none of them if the journal does not hold exactly `at` records:
    /// [`JournalError::Conflict`] then says that somebody else was faster.
    fn append(&mut self, at: u64, records: &[Record]) -> Result<(), JournalError>;
}

/// A journal that lasts as long as the program. Clones share their records.
///
/// ```
/// use unyoke::{Event, Journal, JournalError, MemoryJournal};
///
/// let mut mine = MemoryJournal::default();
/// let mut yours = mine.clone();
/// mine.append(0, &[Event::Withdrawn { evaluation: 1 }.into()])?;
/// assert_eq!(yours.read(0)?.len(), 1);
/// let conflict = yours.append(0, &[Event::Withdrawn { evaluation: 2 }.into()]);
/// assert_eq!(conflict, Err(JournalError::Conflict { expected: 0, found: 1 }));
/// # Ok::<(), JournalError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal(Arc<Mutex<Vec<Record>>>);

impl MemoryJournal {
    /// The records. A thread that panicked while it held them cannot have left half a record:
    /// they are only ever extended by ready ones.
    fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Vec<Record>> for MemoryJournal {
    /// A journal that holds these records.
    fn from(records: Vec<Record>) -> Self {
        Self(Arc::new(Mutex::new(records)))
    }
}

impl Journal for MemoryJournal {
    fn read(&self, from: u64) -> Result<Vec<Record>, JournalError> {
        let records = self.records();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(records.get(from..).unwrap_or_default().to_vec())
    }

    fn append(&mut self, at: u64, records: &[Record]) -> Result<(), JournalError> {
        // Copied before locking: what can run out of memory does so with the journal intact.
        let new = records.to_vec();
        let mut records = self.records();
        let found = records.len() as u64;
        if found != at {
            return Err(JournalError::Conflict { expected: at, found });
        }
        records.extend(new);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    fn record(evaluation: u64) -> Record {
        Event::Withdrawn { evaluation }.into()
    }

    #[test]
    fn records_are_read_from_any_position() {
        let mut journal = MemoryJournal::default();
        journal.append(0, &[record(0), record(1)]).unwrap();
        journal.append(2, &[record(2)]).unwrap();
        assert_eq!(journal.read(0).unwrap(), [record(0), record(1), record(2)]);
        assert_eq!(journal.read(2).unwrap(), [record(2)]);
        assert!(journal.read(3).unwrap().is_empty());
        assert!(journal.read(u64::MAX).unwrap().is_empty());
    }

    #[test]
    fn only_the_first_of_two_writers_at_a_position_succeeds() {
        let mut mine = MemoryJournal::default();
        let mut yours = mine.clone();
        mine.append(0, &[record(0), record(1)]).unwrap();
        for (at, expected) in [(0, 0), (1, 1), (3, 3)] {
            let conflict = JournalError::Conflict { expected, found: 2 };
            assert_eq!(yours.append(at, &[record(9)]), Err(conflict));
        }
        assert_eq!(yours.append(2, &[]), Ok(()));
        assert_eq!(mine.read(0).unwrap().len(), 2);
    }

    #[test]
    fn many_writers_lose_nothing() {
        let journal = MemoryJournal::default();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let mut journal = journal.clone();
                scope.spawn(move || {
                    let mut written = 0;
                    while written < 25 {
                        let at = journal.read(0).unwrap().len() as u64;
                        written += u64::from(journal.append(at, &[record(writer)]).is_ok());
                    }
                });
            }
        });
        assert_eq!(journal.read(0).unwrap().len(), 100);
    }

    #[test]
    fn a_panic_elsewhere_does_not_close_the_journal() {
        let mut journal = MemoryJournal::default();
        let other = journal.clone();
        let panicked = std::thread::spawn(move || {
            let _held = other.0.lock();
            panic!("while the journal was held");
        });
        assert!(panicked.join().is_err());
        journal.append(0, &[record(0)]).unwrap();
        assert_eq!(journal.read(0).unwrap(), [record(0)]);
    }
}
