//! The store itself: a journal with leases, wherever it is kept.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use unyoke::{Event, Journal, JournalError, Record};

use crate::backend::{Backend, Claim, Effects};
use crate::clock::Clock;
use crate::error::Result;
use crate::file;
use crate::journal_file::{self, JournalFile, Settings};
use crate::lease::{LateResult, Lease, LeaseStatus, check_text};
use crate::location::{Location, PostgresUrl};
use crate::memory::Memory;
use crate::postgres::Postgres;
use crate::sqlite::Sqlite;

/// Keeps the journal of one study, who works on its evaluations, and what came too late.
///
/// A study owns its journal; a clone of the store beside it is for leases. Clones share one
/// connection and take turns on it, so they may go to other threads. Threads that should not wait
/// for each other, and other processes, open the same [`Location`] themselves. After a `fork`, too,
/// a process opens its own.
///
/// A journal file has one program that writes. Its stores share the right to write, from the first
/// thing they write until the last of them is dropped; those of other programs can only read.
///
/// On PostgreSQL all calls block, and must not be made on a thread that runs asynchronous tasks.
#[derive(Debug, Clone)]
pub struct Store {
    kind: Kind,
    clock: Clock,
    /// Shared by clones.
    worker: Arc<Mutex<Option<Worker>>>,
    /// Likewise: who signs what is appended.
    signer: Arc<Mutex<Option<Signer>>>,
}

/// Signs records.
#[derive(Debug)]
struct Signer {
    by: Option<String>,
    /// What was appended last, if that has failed, and how it was signed.
    failed: Option<[Vec<Record>; 2]>,
}

/// Who works on evaluations through a store.
#[derive(Debug)]
struct Worker {
    owner: String,
    ttl: Duration,
    /// Leases that came with evaluations that were asked for, until they are claimed.
    asked: Vec<Lease>,
}

#[derive(Debug, Clone)]
enum Kind {
    Memory(Memory),
    Sqlite(Sqlite),
    Journal(JournalFile),
    Postgres(Postgres),
}

impl Store {
    /// A store that lasts as long as the program.
    pub fn memory() -> Self {
        Self::new(Kind::Memory(Memory::default()))
    }

    /// The store of an existing study. An older layout is brought up to date; what is newer, damaged
    /// or something else is refused and left as it is.
    pub fn open(location: &Location) -> Result<Self> {
        Ok(Self::new(match location {
            Location::File(path) => Kind::Sqlite(Sqlite::open(path)?),
            Location::Journal(path) => Kind::Journal(JournalFile::open(path, Settings::default())?),
            Location::Postgres(url) => Kind::Postgres(Postgres::open(url)?),
        }))
    }

    /// A place for a new study, which exists once it has a record.
    ///
    /// Two processes that create the same study both get their store, but only one can append the
    /// first record.
    pub fn create(location: &Location) -> Result<Self> {
        Ok(Self::new(match location {
            Location::File(path) => Kind::Sqlite(Sqlite::create(path)?),
            Location::Journal(path) => {
                Kind::Journal(JournalFile::create(path, Settings::default())?)
            }
            Location::Postgres(url) => Kind::Postgres(Postgres::create(url)?),
        }))
    }

    /// Fails if [`Store::create`] would, and creates nothing: the folder must be there and local, the
    /// database must let us in and let us write.
    pub fn check_creatable(location: &Location) -> Result<()> {
        match location {
            Location::File(path) => file::check_possible(&file::full(path)?),
            Location::Journal(path) => journal_file::check_creatable(path),
            Location::Postgres(url) => Postgres::check_creatable(url),
        }
    }

    /// The studies in a database, by name; its URL is that of a study, which need not name one.
    pub fn studies(database: &str) -> Result<Vec<Location>> {
        let url = PostgresUrl::database(database)?;
        let names = Postgres::studies(&url)?.into_iter();
        Ok(names.map(|name| Location::Postgres(url.with_study(name))).collect())
    }

    /// The same store with another clock for leases and signatures; leases on PostgreSQL always go by that
    /// of its server.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        let kind = match self.kind {
            Kind::Memory(memory) => Kind::Memory(memory.with_clock(clock.clone())),
            Kind::Sqlite(sqlite) => Kind::Sqlite(sqlite.with_clock(clock.clone())),
            Kind::Journal(journal) => Kind::Journal(journal.with_clock(clock.clone())),
            postgres @ Kind::Postgres(_) => postgres,
        };
        Self { kind, clock, ..self }
    }

    /// From now on, what is appended through this store or its clones says when, and by whom if that is
    /// known. Records that say so already stay as they are.
    ///
    /// ```
    /// use unyoke::{Config, Journal, Problem, Study};
    /// use unyoke_store::{Clock, Store};
    ///
    /// let store = Store::memory().with_clock(Clock::by_hand());
    /// store.sign_as(Some("ann"))?;
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("drag", 9.0).build()?;
    /// Study::create(problem, Config::default(), 0, store.clone())?;
    /// let created = &store.read(0)?[0];
    /// assert_eq!((created.by.as_deref(), created.at), (Some("ann"), Some(0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sign_as(&self, by: Option<&str>) -> Result<()> {
        check_text("name", by.unwrap_or_default())?;
        *self.signer() = Some(Signer { by: by.map(str::to_owned), failed: None });
        Ok(())
    }

    fn signer(&self) -> MutexGuard<'_, Option<Signer>> {
        self.signer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The records as they are appended. What is appended again, because nobody knows whether that has
    /// succeeded, is signed as it was the first time: by this it is recognised.
    fn signed<'r>(&self, records: &'r [Record]) -> Cow<'r, [Record]> {
        let mut signer = self.signer();
        let Some(Signer { by, failed }) = &mut *signer else { return Cow::Borrowed(records) };
        if let Some([_, signed]) = failed.take_if(|[plain, _]| plain == records) {
            return Cow::Owned(signed);
        }
        let now = self.clock.seconds();
        let sign = |record: &Record| match record.at {
            None => Record { by: by.clone(), at: Some(now), ..record.clone() },
            Some(_) => record.clone(),
        };
        records.iter().map(sign).collect()
    }

    fn remember_failed(&self, records: &[Record], signed: Vec<Record>) {
        if let Some(signer) = &mut *self.signer() {
            signer.failed = Some([records.to_vec(), signed]);
        }
    }

    /// At most `most` records from a position on: what reads a long journal in pieces needs room for one of
    /// them only.
    pub fn read_at_most(&self, from: u64, most: usize) -> Result<Vec<Record>> {
        self.backend().read_at_most(from, most)
    }

    /// From now on, what is asked for through this store or its clones is claimed for `owner` in the
    /// same step, and what is settled through them is given back. That saves waiting for the disk,
    /// and nobody else can claim in between.
    ///
    /// [`Store::claim`] then hands out the lease that came with an evaluation. Whoever stops
    /// working without having claimed all it asked for calls [`Store::release_owner`].
    ///
    /// In a journal file only one program can work: for the others this fails with
    /// [`Error::Locked`](crate::Error::Locked).
    ///
    /// ```
    /// use std::time::Duration;
    /// use unyoke::{Config, Problem, Study};
    /// use unyoke_store::Store;
    ///
    /// let (store, minute) = (Store::memory(), Duration::from_secs(60));
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("drag", 9.0).build()?;
    /// let mut study = Study::create(problem, Config::default(), 0, store.clone())?;
    /// store.work_as("worker 1", minute)?;
    /// let evaluation = study.ask()?.evaluation;
    /// assert_eq!(store.claim(evaluation, "worker 2", minute)?, None);
    /// assert!(store.claim(evaluation, "worker 1", minute)?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn work_as(&self, owner: &str, ttl: Duration) -> Result<()> {
        check_text("owner", owner)?;
        if let Kind::Journal(journal) = &self.kind {
            journal.prepare_to_write()?;
        }
        *self.worker() = Some(Worker { owner: owner.to_owned(), ttl, asked: Vec::new() });
        Ok(())
    }

    /// Claims an evaluation for `ttl`. `None` if a live lease exists, whoever owns it.
    ///
    /// The first lease of an evaluation is attempt 1, each later one adds 1. An owner should be
    /// able to tell where it runs, as in `host:pid`: that is what people read when it is gone.
    pub fn claim(&self, evaluation: u64, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        if let Some(lease) = self.asked(evaluation, owner) {
            let held = self.renew(&lease, ttl)?;
            self.forget_asked(&lease);
            if held {
                return Ok(Some(lease));
            }
        }
        Ok(self.claim_free(&[evaluation], 1, owner, ttl)?.pop())
    }

    /// The lease that came with an evaluation, unless it was claimed before.
    fn asked(&self, evaluation: u64, owner: &str) -> Option<Lease> {
        let wanted = |lease: &&Lease| lease.evaluation == evaluation && lease.owner == owner;
        self.worker().as_ref()?.asked.iter().find(wanted).cloned()
    }

    fn forget_asked(&self, lease: &Lease) {
        if let Some(worker) = &mut *self.worker() {
            worker.asked.retain(|asked| asked != lease);
        }
    }

    /// What appending these records does to the worker's leases.
    fn effects(&self, records: &[Record]) -> Effects {
        let worker = self.worker();
        let Some(worker) = &*worker else { return Effects::default() };
        let (owner, ttl) = (worker.owner.clone(), worker.ttl);
        let mut effects = Effects { owner, ttl, ..Effects::default() };
        for record in records {
            match record.event {
                Event::Asked { evaluation, .. }
                | Event::ConfirmationAsked { evaluation, .. }
                | Event::QueuedAsked { evaluation, .. } => effects.asked.push(evaluation),
                Event::Measured { evaluation, .. }
                | Event::Told { evaluation, .. }
                | Event::Failed { evaluation, .. }
                | Event::Withdrawn { evaluation }
                | Event::Skipped { evaluation } => effects.settled.push(evaluation),
                _ => {}
            }
        }
        effects
    }

    fn new(kind: Kind) -> Self {
        Self { kind, clock: Clock::system(), worker: Arc::default(), signer: Arc::default() }
    }

    fn worker(&self) -> MutexGuard<'_, Option<Worker>> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims, for `ttl`, the first `most` of these evaluations that no live lease covers, in one
    /// step. None if there is none; fewer than `most` if others claim at the same time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use unyoke_store::Store;
    ///
    /// let (store, minute) = (Store::memory(), Duration::from_secs(60));
    /// store.claim(4, "ann", minute)?;
    /// let leases = store.claim_free(&[3, 4, 5, 6], 2, "bob", minute)?;
    /// assert_eq!(leases.iter().map(|lease| lease.evaluation).collect::<Vec<_>>(), [3, 5]);
    /// # Ok::<(), unyoke_store::Error>(())
    /// ```
    pub fn claim_free(
        &self,
        evaluations: &[u64],
        most: usize,
        owner: &str,
        ttl: Duration,
    ) -> Result<Vec<Lease>> {
        check_text("owner", owner)?;
        let mut seen = HashSet::new();
        let evaluations: Vec<u64> =
            evaluations.iter().copied().filter(|e| seen.insert(*e)).collect();
        if evaluations.is_empty() || most == 0 {
            return Ok(Vec::new());
        }
        self.backend().claim(&Claim { evaluations: &evaluations, most, owner, ttl })
    }

    /// Makes a lease last `ttl` from now. False if it was lost: given back, or expired and claimed
    /// again since.
    ///
    /// A lease that expired unnoticed, as when a computer slept, can still be renewed: the work
    /// goes on, and nobody else has begun it.
    pub fn renew(&self, lease: &Lease, ttl: Duration) -> Result<bool> {
        Ok(self.renew_all(std::slice::from_ref(lease), ttl)?.is_empty())
    }

    /// Like [`Store::renew`] for many leases in one step. Returns those that were lost.
    ///
    /// Renewing and releasing go through a connection of their own: they never wait for a long
    /// read or append of this program. A computer that loses its power may forget them, which
    /// costs nothing but the rest of the time of a lease.
    pub fn renew_all(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>> {
        if leases.is_empty() { Ok(Vec::new()) } else { self.backend().renew(leases, ttl) }
    }

    /// Gives a lease back, so that the evaluation can be claimed at once. Does nothing if the
    /// lease was lost.
    pub fn release(&self, lease: &Lease) -> Result<()> {
        self.backend().release(lease)
    }

    /// Claims, for `ttl`, an evaluation whose lease belongs to an owner that is known to be gone. It
    /// is free at no moment, so that nobody else can begin what may still be running. `None` if the
    /// lease was lost: given back, or followed by another.
    ///
    /// ```
    /// use std::time::Duration;
    /// use unyoke_store::Store;
    ///
    /// let (store, minute) = (Store::memory(), Duration::from_secs(60));
    /// let gone = store.claim(4, "ann", minute)?.ok_or("nobody else has it")?;
    /// let taken = store.take_over(&gone, "bob", minute)?.ok_or("it is still hers")?;
    /// assert_eq!((taken.attempt, taken.owner.as_str()), (2, "bob"));
    /// assert_eq!(store.take_over(&gone, "cleo", minute)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_over(&self, lease: &Lease, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        check_text("owner", owner)?;
        self.backend().take_over(lease, owner, ttl)
    }

    /// Gives back, in one step, all leases of an owner that is known to be gone.
    pub fn release_owner(&self, owner: &str) -> Result<()> {
        check_text("owner", owner)?;
        self.backend().release_owner(owner)
    }

    /// The last lease of each evaluation that was ever claimed, in order of evaluations.
    pub fn leases(&self) -> Result<Vec<LeaseStatus>> {
        self.backend().leases()
    }

    /// Keeps a result that came after its evaluation was settled. It never counts.
    pub fn keep_late(&self, evaluation: u64, attempt: u32, outcome: &str) -> Result<()> {
        check_text("outcome", outcome)?;
        self.backend().keep_late(&LateResult { evaluation, attempt, outcome: outcome.to_owned() })
    }

    /// All results that came too late, in the order in which they were kept.
    pub fn late(&self) -> Result<Vec<LateResult>> {
        self.backend().late()
    }

    fn backend(&self) -> &dyn Backend {
        match &self.kind {
            Kind::Memory(memory) => memory,
            Kind::Sqlite(sqlite) => sqlite,
            Kind::Journal(journal) => journal,
            Kind::Postgres(postgres) => postgres,
        }
    }
}

impl Journal for Store {
    fn read(&self, from: u64) -> std::result::Result<Vec<Record>, JournalError> {
        Ok(self.backend().read(from)?)
    }

    fn append(&mut self, at: u64, records: &[Record]) -> std::result::Result<(), JournalError> {
        let (effects, signed) = (self.effects(records), self.signed(records));
        let appended = self.backend().append_with(at, &signed, &effects);
        if let (Err(_), Cow::Owned(signed)) = (&appended, signed) {
            self.remember_failed(records, signed);
        }
        let leases = appended?;
        if let Some(worker) = &mut *self.worker() {
            worker.asked.extend(leases);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_again_is_signed_as_it_was() {
        let clock = Clock::by_hand();
        let mut store = Store::memory().with_clock(clock.clone());
        store.sign_as(Some("ann")).unwrap();
        let record = |evaluation| Record::from(Event::Withdrawn { evaluation });
        clock.advance(Duration::from_secs(7));
        assert!(store.append(9, &[record(0)]).is_err());
        clock.advance(Duration::from_secs(2));
        store.append(0, &[record(0)]).unwrap();
        store.append(1, &[record(0)]).unwrap();
        assert!(store.append(9, &[record(1)]).is_err());
        clock.advance(Duration::from_secs(1));
        store.append(2, &[record(2)]).unwrap();
        let at: Vec<_> = store.read(0).unwrap().iter().map(|record| record.at).collect();
        assert_eq!(at, [Some(7), Some(9), Some(10)]);
    }

    #[test]
    fn a_store_can_go_to_other_threads() {
        fn check<T: Send + Sync + Clone>() {}
        check::<Store>();
    }
}
