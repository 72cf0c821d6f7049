//! Who wrote a record, when, and at which request.
//!
//! What is done on a command line, in Python or by a runner is signed by the store. A [`Signed`] journal is for
//! requests that may come again. Nothing is computed from a signature.

use std::env;
use std::sync::{Arc, Mutex, PoisonError};

use unyoke::{Journal, JournalError, Record};
use unyoke_store::Store;

use crate::error::{Error, Result};

/// Who does something, when, and at which request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    /// As people call them.
    pub by: Option<String>,
    /// In seconds since the beginning of 1970, UTC.
    pub at: Option<u64>,
    /// A name of the request, by which it is recognised if it comes again.
    pub key: Option<String>,
}

/// The longest names of people and requests, in characters.
const LONGEST: usize = 100;

impl Signature {
    /// Fails if the names cannot be written down.
    pub fn check(&self) -> Result<()> {
        for (what, text) in [("name", &self.by), ("request key", &self.key)] {
            let Some(text) = text else { continue };
            if text.trim().is_empty()
                || text.chars().count() > LONGEST
                || text.chars().any(char::is_control)
            {
                return Err(Error::BadSignature { what });
            }
        }
        Ok(())
    }
}

/// Names whoever uses this program, in place of their login name.
const USER: &str = "UNYOKE_USER";

/// Who uses this program, as far as that is known.
pub(crate) fn user() -> Option<String> {
    let set = env::var(USER).ok().and_then(|name| tidy(&name));
    set.or_else(|| tidy(&whoami::username().ok()?))
}

/// A name that can be written down, if anything of it can.
fn tidy(name: &str) -> Option<String> {
    let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The store, in which records say from now on that the user of this program wrote them, and when.
pub fn signed_by_user(store: Store) -> Result<Store> {
    store.sign_as(user().as_deref())?;
    Ok(store)
}

/// From now on, records say that a program of this user on the machine `host` wrote them.
pub(crate) fn sign_as_program(store: &Store, host: &str) -> Result<()> {
    let by = user().map_or_else(|| host.to_owned(), |user| format!("{user}@{host}"));
    Ok(store.sign_as(Some(&by))?)
}

/// A journal in which records are signed. A request that was carried out before, by this program or another, is
/// not carried out again: what it would append is refused, whoever else writes at the same time, and
/// [`Signed::repeated`] tells where it stands.
///
/// Clones share what they know.
#[derive(Debug, Clone)]
pub struct Signed<J> {
    journal: J,
    signature: Signature,
    looked: Arc<Mutex<Looked>>,
}

/// How far the journal was searched for the request, and where it was found.
#[derive(Debug, Default)]
struct Looked {
    until: u64,
    found: Option<u64>,
}

impl<J: Journal> Signed<J> {
    /// Signs what is appended to `journal`.
    pub fn new(journal: J, signature: Signature) -> Result<Self> {
        signature.check()?;
        Ok(Self { journal, signature, looked: Arc::default() })
    }

    /// The position of the record that the request led to, if it was carried out before.
    pub fn repeated(&self) -> Option<u64> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner).found
    }

    /// Looks for the request among records that stand from `from` on.
    fn look(&self, from: u64, records: &[Record]) {
        let Some(key) = &self.signature.key else { return };
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if from > looked.until {
            return;
        }
        for (position, record) in (from..).zip(records) {
            // Of several that one request led to, the last one counts.
            if position >= looked.until && record.key.as_ref() == Some(key) {
                looked.found = Some(position);
            }
            looked.until = looked.until.max(position + 1);
        }
    }
}

impl<J: Journal> Journal for Signed<J> {
    fn read(&self, from: u64) -> Result<Vec<Record>, JournalError> {
        let records = self.journal.read(from)?;
        self.look(from, &records);
        Ok(records)
    }

    fn append(&mut self, at: u64, records: &[Record]) -> Result<(), JournalError> {
        // What is appended at `at` was made from all records before it, so that these were read; if not, they
        // are now. Should others write in between, `at` is wrong and this is done again.
        let until = self.looked.lock().unwrap_or_else(PoisonError::into_inner).until;
        if self.signature.key.is_some() && until < at {
            self.look(until, &self.journal.read(until)?);
        }
        if self.repeated().is_some() {
            return Err(JournalError::Storage { reason: REPEATED.to_owned() });
        }
        let signed: Vec<Record> = records.iter().map(|record| self.sign(record)).collect();
        self.journal.append(at, &signed)?;
        // A request may lead to several records: its own are no repetition.
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.until = looked.until.max(at + signed.len() as u64);
        Ok(())
    }
}

/// Why a request that was carried out before is refused.
const REPEATED: &str = "this request was carried out before";

impl<J> Signed<J> {
    fn sign(&self, record: &Record) -> Record {
        let Signature { by, at, key } = self.signature.clone();
        Record { by, at, key, ..record.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::{MemoryJournal, Problem, Study};

    fn begun() -> MemoryJournal {
        let journal = MemoryJournal::default();
        let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1.0);
        let problem = problem.build().unwrap();
        Study::create(problem, unyoke::Config::default(), 1, journal.clone()).unwrap();
        journal
    }

    fn signature(key: &str) -> Signature {
        Signature { by: Some("Ann".into()), at: Some(7), key: Some(key.into()) }
    }

    #[test]
    fn records_say_who_wrote_them_and_a_request_counts_once() {
        let journal = begun();
        let mut study =
            Study::open(Signed::new(journal.clone(), signature("first")).unwrap()).unwrap();
        let asked = study.ask().unwrap();
        let written = journal.read(1).unwrap();
        assert_eq!(written.len(), 1);
        assert_eq!(written[0].by.as_deref(), Some("Ann"));
        assert_eq!((written[0].at, written[0].key.as_deref()), (Some(7), Some("first")));
        // The same request comes again, and another.
        let again = Signed::new(journal.clone(), signature("first")).unwrap();
        let mut study = Study::open(again.clone()).unwrap();
        assert_eq!(again.repeated(), Some(1));
        assert!(study.tell(asked.evaluation, 0.5).is_err());
        let other = Signed::new(journal.clone(), signature("second")).unwrap();
        let mut study = Study::open(other.clone()).unwrap();
        study.tell(asked.evaluation, 0.5).unwrap();
        assert_eq!((other.repeated(), journal.read(0).unwrap().len()), (None, 3));
    }

    #[test]
    fn a_request_that_another_program_carries_out_meanwhile_counts_once() {
        let journal = begun();
        let [first, second] =
            [(), ()].map(|()| Signed::new(journal.clone(), signature("same")).unwrap());
        let mut studies = [first.clone(), second.clone()].map(|j| Study::open(j).unwrap());
        studies[0].ask().unwrap();
        assert!(studies[1].ask().is_err());
        assert_eq!((first.repeated(), second.repeated()), (None, Some(1)));
        assert_eq!(journal.read(0).unwrap().len(), 2);
    }

    #[test]
    fn a_name_is_written_down_as_far_as_it_can_be() {
        assert_eq!(tidy(" Ann\tB\u{e9}\0 ").as_deref(), Some("AnnB\u{e9}"));
        assert_eq!((tidy(" \n"), tidy("")), (None, None));
        let by = tidy(&"x".repeat(LONGEST + 9));
        assert!(Signature { by, ..Signature::default() }.check().is_ok());
    }

    #[test]
    fn a_program_is_told_from_its_user_by_the_machine() {
        let mut store = signed_by_user(Store::memory()).unwrap();
        store.append(0, &begun().read(0).unwrap()).unwrap();
        sign_as_program(&store, "node7").unwrap();
        store.append(1, &[unyoke::Event::Withdrawn { evaluation: 0 }.into()]).unwrap();
        let by: Vec<Option<String>> =
            store.read(0).unwrap().into_iter().map(|record| record.by).collect();
        assert_eq!(by[0], user());
        let program = user().map_or("node7".to_owned(), |user| user + "@node7");
        assert_eq!(by[1], Some(program));
    }

    #[test]
    fn names_that_cannot_be_written_down_are_refused() {
        let long = "x".repeat(LONGEST + 1);
        for name in ["", "  ", "a\nb", "a\0", long.as_str()] {
            let by = Signature { by: Some(name.into()), ..Signature::default() };
            let key = Signature { key: Some(name.into()), ..Signature::default() };
            assert!(by.check().is_err() && key.check().is_err(), "{name:?}");
        }
        assert!(signature("k").check().is_ok() && Signature::default().check().is_ok());
    }
}
