//! A study in a file of its own, through SQLite. The only file that knows `rusqlite`.
//!
//! Writes are short transactions that begin with the lock for writing, so they never fail half-way
//! for want of it. With a write-ahead log, reading neither waits for writing nor holds it up.
//!
//! A process that is stopped in the middle of a transaction stops all others, so nothing is done
//! there that can be done before.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, params};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use unyoke::Record;

use crate::backend::{Backend, Claim, Effects};
use crate::clock::{Clock, microseconds};
use crate::error::{Error, Result};
use crate::file::{self, Identity};
use crate::lease::{LateResult, Lease, LeaseState, LeaseStatus};
use crate::text::Line;
use crate::{holders, schema, text};

/// Tells our files from other SQLite files: "UNYK".
const APPLICATION: i64 = 0x554e_594b;

/// Versions before this one can lose a commit that meets the restart of the write-ahead log.
const OLDEST: i32 = 3_051_003;

/// How long we wait for others.
const PATIENCE: Duration = Duration::from_secs(30);

const INSERT: &str = "INSERT INTO journal (position, record, checksum) VALUES (?1, ?2, ?3)";

const COUNT: &str = "SELECT coalesce(max(position) + 1, 0) FROM journal";

const CLAIM: &str = "INSERT INTO lease (evaluation, attempt, owner, expires)
    VALUES (?1, 1, ?2, ?3)
    ON CONFLICT (evaluation) DO UPDATE
    SET attempt = attempt + 1, owner = excluded.owner, expires = excluded.expires
    WHERE expires IS NULL OR expires <= ?4
    RETURNING attempt";

/// Sets the end of a lease if it is still held.
const SET_EXPIRY: &str = "UPDATE lease SET expires = ?4
    WHERE evaluation = ?1 AND attempt = ?2 AND owner = ?3 AND expires IS NOT NULL";

const TAKE_OVER: &str = "UPDATE lease SET attempt = attempt + 1, owner = ?4, expires = ?5
    WHERE evaluation = ?1 AND attempt = ?2 AND owner = ?3 AND expires IS NOT NULL
    RETURNING attempt";

const RELEASE_OWN: &str = "UPDATE lease SET expires = NULL
    WHERE evaluation = ?1 AND owner = ?2 AND expires IS NOT NULL";

const RELEASE_OWNER: &str =
    "UPDATE lease SET expires = NULL WHERE owner = ?1 AND expires IS NOT NULL";

const INSERT_LATE: &str = "INSERT INTO late (evaluation, attempt, outcome) VALUES (?1, ?2, ?3)";

/// A file with one study. Clones share connections and take turns.
#[derive(Debug, Clone)]
pub(crate) struct Sqlite {
    file: Arc<File>,
    clock: Clock,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    identity: Option<Identity>,
    connection: Mutex<Connection>,
    /// For what keeps leases alive: it never waits for a long read of the other one, and what it
    /// writes need not outlast the computer. Made when it is first needed.
    lease_connection: Mutex<Option<Connection>>,
    patience: Duration,
    /// When this program last wrote.
    written: Mutex<Option<Instant>>,
}

/// What a file turned out to be.
enum Found {
    /// An empty file, which can become a study.
    Nothing,
    /// A file of ours with this version of the layout.
    Layout(i64),
}

impl Sqlite {
    /// The study in an existing file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let path = file::full(path)?;
        file::check_existing(&path)?;
        let file = File::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let found = file.identify()?;
        if !file.has_records(&found)? {
            return Err(Error::NoStudy { location: file.location() });
        }
        file.prepare(&found)?;
        Ok(Self { file: Arc::new(file), clock: Clock::system() })
    }

    /// A place for a study in a file that has none yet.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let path = file::full(path)?;
        file::check_possible(&path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let file = File::connect(path, flags)?;
        let found = file.identify()?;
        if file.has_records(&found)? {
            return Err(Error::StudyExists { location: file.location() });
        }
        file.prepare(&found)?;
        Ok(Self { file: Arc::new(file), clock: Clock::system() })
    }

    pub(crate) fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }
}

impl File {
    fn connect(path: PathBuf, flags: OpenFlags) -> Result<Self> {
        check_version(rusqlite::version_number())?;
        let failed = |error| failure(&path, Duration::ZERO, error);
        let connection = connect(&path, flags).map_err(failed)?;
        // Until the file is known to be ours, not even the log of a crashed program is tidied up.
        keep_log(&connection, file::has_log(&path)).map_err(failed)?;
        let identity = Identity::of(&path);
        let (connection, lease_connection) = (Mutex::new(connection), Mutex::new(None));
        let (patience, written) = (PATIENCE, Mutex::new(None));
        Ok(Self { path, identity, connection, lease_connection, patience, written })
    }

    /// What the file is, without writing to it; fails if it is somebody else's or newer.
    fn identify(&self) -> Result<Found> {
        let [application, layout, tables] = self.patiently(|connection| {
            let tables =
                connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            Ok([pragma(connection, "application_id")?, pragma(connection, "user_version")?, tables])
        })?;
        match (application, layout, tables) {
            (0, 0, 0) => Ok(Found::Nothing),
            (APPLICATION, found, _) if found > schema::NEWEST => {
                let location = self.location();
                Err(Error::NewerLayout { location, found, known: schema::NEWEST })
            }
            (APPLICATION, found @ 1.., _) => Ok(Found::Layout(found)),
            _ => {
                let reason = "it is an SQLite file of another program".to_owned();
                Err(Error::NotAStudy { path: self.path.clone(), reason })
            }
        }
    }

    /// Whether the study has begun. Its last record must be one that this version can read. It has
    /// the newest format of all: a version that does not know it could not have appended after it.
    fn has_records(&self, found: &Found) -> Result<bool> {
        let Found::Layout(layout) = found else { return Ok(false) };
        let checksum = if *layout < schema::CHECKSUMS { "NULL" } else { "checksum" };
        let query = format!(
            "SELECT position, record, {checksum} FROM journal ORDER BY position DESC LIMIT 1"
        );
        let last =
            self.patiently(|connection| connection.query_row(&query, [], line).optional())?;
        last.map_or(Ok(false), |line| line.check(&self.location()).map(|()| true))
    }

    /// Settings of the connection, and the newest layout.
    fn prepare(&self, found: &Found) -> Result<()> {
        let mode: String = self.patiently(|connection| {
            keep_log(connection, false)?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            // On macOS nothing less reaches the disk; elsewhere it means nothing.
            connection.pragma_update(None, "fullfsync", true)?;
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        })?;
        if mode != "wal" {
            let reason = format!("no write-ahead log is possible here, only {mode:?}");
            return Err(Error::Failed { location: self.location(), reason });
        }
        match found {
            Found::Layout(schema::NEWEST) => Ok(()),
            _ => self.migrate(),
        }
    }

    /// Takes the missing steps. Others may be doing the same, so the version is read again.
    fn migrate(&self) -> Result<()> {
        let found = self.write(&[], |transaction| {
            let found = pragma(transaction, "user_version")?;
            for step in schema::missing(&schema::SQLITE, found) {
                transaction.execute_batch(step)?;
            }
            if found < schema::NEWEST {
                transaction.pragma_update(None, "user_version", schema::NEWEST)?;
                transaction.pragma_update(None, "application_id", APPLICATION)?;
            }
            Ok(found)
        })?;
        if found <= schema::NEWEST {
            return Ok(());
        }
        Err(Error::NewerLayout { location: self.location(), found, known: schema::NEWEST })
    }

    /// Carries out `work` in a transaction, all or nothing, and on disk when this returns. The
    /// statements it needs are compiled before.
    fn write<T>(
        &self,
        statements: &[&str],
        work: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.write_on(&mut self.connection(), statements, work)
    }

    /// Like [`File::write`] for what concerns leases only: all or nothing, but on disk somewhat
    /// later. Until then it is safe from whatever happens to this process, not to the computer.
    fn write_leases<T>(
        &self,
        statements: &[&str],
        work: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let slot = self.lease_connection.lock();
        let mut slot = slot.unwrap_or_else(PoisonError::into_inner);
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => self.connect_for_leases()?,
        };
        let outcome = self.write_on(&mut connection, statements, work);
        *slot = Some(connection);
        outcome
    }

    fn connect_for_leases(&self) -> Result<Connection> {
        self.check_in_place()?;
        let failed = |error| failure(&self.path, Duration::ZERO, error);
        let connection = connect(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
        Ok(connection)
    }

    fn write_on<T>(
        &self,
        connection: &mut Connection,
        statements: &[&str],
        work: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.check_in_place()?;
        self.let_others_go_first();
        let done = self.patiently_on(connection, |connection| {
            for statement in statements {
                drop(connection.prepare_cached(statement)?);
            }
            let behavior = rusqlite::TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(behavior)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })?;
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        // Nothing is acknowledged that went into a file nobody will find again.
        self.check_in_place()?;
        Ok(done)
    }

    /// Leaves a gap between two writes in a row. The lock is free only between writes, and those
    /// who wait for it look now and then: a program that wrote again at once would keep them out.
    fn let_others_go_first(&self) {
        let written = *self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let since = written.map_or(GAP, |at| at.elapsed());
        if since < GAP {
            std::thread::sleep(GAP - since);
        }
    }

    /// Does `work`, again if others hold the lock.
    fn patiently<T>(&self, work: impl FnMut(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.patiently_on(&mut self.connection(), work)
    }

    fn patiently_on<T>(
        &self,
        connection: &mut Connection,
        mut work: impl FnMut(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            match work(connection) {
                Ok(done) => return Ok(done),
                Err(error) if is_busy(&error) && start.elapsed() < self.patience => {
                    std::thread::sleep(pause(start.elapsed()));
                }
                Err(error) => return Err(failure(&self.path, start.elapsed(), error)),
            }
        }
    }

    /// The connection. A thread that panicked while it had it left no transaction open: that
    /// was rolled back on the way out.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_in_place(&self) -> Result<()> {
        if Identity::of(&self.path) == self.identity {
            return Ok(());
        }
        Err(Error::Moved { path: self.path.clone() })
    }

    fn location(&self) -> String {
        self.path.display().to_string()
    }
}

impl Sqlite {
    /// Those of the evaluations that no live lease covers.
    fn free(&self, evaluations: &[u64]) -> Result<Vec<u64>> {
        let now = self.clock.now();
        let taken: HashSet<i64> = self.file.patiently(|connection| {
            let query = "SELECT evaluation FROM lease WHERE expires > ?1";
            connection.prepare_cached(query)?.query_map([now], |row| row.get(0))?.collect()
        })?;
        let free = |evaluation: &u64| !taken.contains(&evaluation.cast_signed());
        Ok(evaluations.iter().copied().filter(free).collect())
    }
}

impl Backend for Sqlite {
    fn read_at_most(&self, from: u64, most: usize) -> Result<Vec<Record>> {
        let Ok(first) = i64::try_from(from) else { return Ok(Vec::new()) };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let location = self.file.location();
        self.file.patiently(|connection| {
            let query = "SELECT position, record, checksum FROM journal
                WHERE position >= ?1 ORDER BY position LIMIT ?2";
            let mut statement = connection.prepare_cached(query)?;
            // Line by line: all the text at once would take as much room again as the records.
            let mut reader = text::Reader::new(&location, first);
            for line in statement.query_map([first, most], line)? {
                reader.take(&line?);
            }
            Ok(reader.records())
        })?
    }

    fn append_with(&self, at: u64, records: &[Record], effects: &Effects) -> Result<Vec<Lease>> {
        // What is beyond the range of positions conflicts with whatever is there.
        let first = i64::try_from(at).unwrap_or(i64::MAX);
        let lines = text::write(&self.file.location(), first, records)?;
        let statements = [COUNT, INSERT, CLAIM, RELEASE_OWN];
        let outcome = self.file.write(&statements, |transaction| {
            let found: i64 = transaction.prepare_cached(COUNT)?.query_row([], |row| row.get(0))?;
            if found.cast_unsigned() != at {
                return Ok(Err(found.cast_unsigned()));
            }
            let mut statement = transaction.prepare_cached(INSERT)?;
            for Line { position, text, checksum } in &lines {
                statement.execute(params![position, text, checksum])?;
            }
            for evaluation in &effects.settled {
                let values = params![evaluation.cast_signed(), effects.owner];
                transaction.prepare_cached(RELEASE_OWN)?.execute(values)?;
            }
            claim(transaction, self.clock.now(), &effects.claim()).map(Ok)
        })?;
        outcome.map_err(|found| Error::Conflict { expected: at, found })
    }

    fn claim(&self, wanted: &Claim<'_>) -> Result<Vec<Lease>> {
        // Whoever finds nothing free has not held up those who write.
        if self.free(wanted.evaluations)?.is_empty() {
            return Ok(Vec::new());
        }
        self.file.write(&[CLAIM], |transaction| claim(transaction, self.clock.now(), wanted))
    }

    fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>> {
        self.file.write_leases(&[SET_EXPIRY], |transaction| {
            let expires = self.clock.now().saturating_add(microseconds(ttl));
            let mut lost = Vec::new();
            for lease in leases {
                if set_expiry(transaction, lease, Some(expires))? == 0 {
                    lost.push(lease.clone());
                }
            }
            Ok(lost)
        })
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        let release = |transaction: &Transaction<'_>| set_expiry(transaction, lease, None);
        self.file.write_leases(&[SET_EXPIRY], release).map(drop)
    }

    fn take_over(&self, lease: &Lease, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        // Waits for the disk like any other claim: attempts are counted by them.
        let attempt = self.file.write(&[TAKE_OVER], |transaction| {
            let expires = self.clock.now().saturating_add(microseconds(ttl));
            let evaluation = lease.evaluation.cast_signed();
            let values = params![evaluation, lease.attempt, lease.owner, owner, expires];
            let mut statement = transaction.prepare_cached(TAKE_OVER)?;
            statement.query_row(values, |row| row.get(0)).optional()
        })?;
        let (evaluation, owner) = (lease.evaluation, owner.to_owned());
        Ok(attempt.map(|attempt| Lease { evaluation, attempt, owner }))
    }

    fn release_owner(&self, owner: &str) -> Result<()> {
        self.file.write_leases(&[RELEASE_OWNER], |transaction| {
            transaction.prepare_cached(RELEASE_OWNER)?.execute([owner]).map(drop)
        })
    }

    fn leases(&self) -> Result<Vec<LeaseStatus>> {
        let now = self.clock.now();
        let mut leases: Vec<LeaseStatus> = self.file.patiently(|connection| {
            let query = "SELECT evaluation, attempt, owner, expires FROM lease";
            let status = |row: &rusqlite::Row<'_>| {
                let evaluation = row.get::<_, i64>(0)?.cast_unsigned();
                let lease = Lease { evaluation, attempt: row.get(1)?, owner: row.get(2)? };
                Ok(LeaseStatus { lease, state: LeaseState::at(now, row.get(3)?) })
            };
            connection.prepare_cached(query)?.query_map([], status)?.collect()
        })?;
        // Here and not in the query: SQLite counts numbers beyond 2⁶³ as negative.
        leases.sort_by_key(|status| status.lease.evaluation);
        Ok(leases)
    }

    fn keep_late(&self, late: &LateResult) -> Result<()> {
        self.file.write(&[INSERT_LATE], |transaction| {
            let values = params![late.evaluation.cast_signed(), late.attempt, late.outcome];
            transaction.prepare_cached(INSERT_LATE)?.execute(values).map(drop)
        })
    }

    fn late(&self) -> Result<Vec<LateResult>> {
        self.file.patiently(|connection| {
            let query = "SELECT evaluation, attempt, outcome FROM late ORDER BY number";
            let late = |row: &rusqlite::Row<'_>| {
                let evaluation = row.get::<_, i64>(0)?.cast_unsigned();
                Ok(LateResult { evaluation, attempt: row.get(1)?, outcome: row.get(2)? })
            };
            connection.prepare_cached(query)?.query_map([], late)?.collect()
        })
    }
}

/// Claims, at microsecond `now`, what is free.
fn claim(
    transaction: &Transaction<'_>,
    now: i64,
    wanted: &Claim<'_>,
) -> rusqlite::Result<Vec<Lease>> {
    let expires = now.saturating_add(microseconds(wanted.ttl));
    let mut statement = transaction.prepare_cached(CLAIM)?;
    let mut leases = Vec::new();
    for &evaluation in wanted.evaluations {
        if leases.len() == wanted.most {
            break;
        }
        let values = params![evaluation.cast_signed(), wanted.owner, expires, now];
        let attempt = statement.query_row(values, |row| row.get(0)).optional()?;
        let owner = wanted.owner.to_owned();
        leases.extend(attempt.map(|attempt| Lease { evaluation, attempt, owner }));
    }
    Ok(leases)
}

/// Sets the end of a lease if it is still held, and says how many there were of it.
fn set_expiry(
    transaction: &Transaction<'_>,
    lease: &Lease,
    expires: Option<i64>,
) -> rusqlite::Result<usize> {
    let values = params![lease.evaluation.cast_signed(), lease.attempt, lease.owner, expires];
    transaction.prepare_cached(SET_EXPIRY)?.execute(values)
}

fn line(row: &rusqlite::Row<'_>) -> rusqlite::Result<Line> {
    Ok(Line { position: row.get(0)?, text: row.get(1)?, checksum: row.get(2)? })
}

fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags)?;
    // Waiting is done here: those who waited long would get their turn last by SQLite's own.
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection)
}

/// Between two writes in a row: whoever has waited long looks this often.
const GAP: Duration = Duration::from_millis(1);

/// How long to wait before looking again whether it is our turn. It varies, so that nobody meets
/// the same others each time, and whoever has waited longer looks more often.
fn pause(waited: Duration) -> Duration {
    let longest = match waited.as_millis() {
        0..200 => 6_000,
        200..2_000 => 3_000,
        _ => 1_000,
    };
    Duration::from_micros(fastrand::u64(200..=longest))
}

fn check_version(found: i32) -> Result<()> {
    if found >= OLDEST {
        return Ok(());
    }
    Err(Error::OldSqlite { found: version(found), needed: version(OLDEST) })
}

/// A version as people write it.
fn version(number: i32) -> String {
    format!("{}.{}.{}", number / 1_000_000, number / 1_000 % 1_000, number % 1_000)
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Whether closing leaves the write-ahead log as it is.
fn keep_log(connection: &Connection, keep: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep).map(|_| ())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// What SQLite said, in terms of what a caller can do about it.
fn failure(path: &Path, waited: Duration, error: rusqlite::Error) -> Error {
    let (location, reason) = (path.display().to_string(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Busy { location, waited, holders: holders::of(path) }
        }
        Some(ErrorCode::DiskFull) => Error::Full { location },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            Error::ReadOnly { location, reason }
        }
        Some(ErrorCode::CannotOpen) => Error::NoAccess { location, reason },
        Some(ErrorCode::NotADatabase) => {
            Error::NotAStudy { path: path.to_path_buf(), reason: "it is not an SQLite file".into() }
        }
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { location, reason },
        Some(_) => Error::Failed { location, reason },
        // Not SQLite complains but the conversion of what it found.
        None => Error::Damaged { location, reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    use unyoke::Event;

    fn record(evaluation: u64) -> Record {
        Event::Withdrawn { evaluation }.into()
    }

    impl Sqlite {
        fn append(&self, at: u64, records: &[Record]) -> Result<()> {
            self.append_with(at, records, &Effects::default()).map(drop)
        }
    }

    /// A new study whose connection does not wait for others.
    fn impatient(folder: &Path) -> Sqlite {
        let mut sqlite = Sqlite::create(&folder.join("study.db")).unwrap();
        Arc::get_mut(&mut sqlite.file).unwrap().patience = Duration::ZERO;
        sqlite
    }

    fn set(sqlite: &Sqlite, name: &str, value: i64) {
        let connection = sqlite.file.connection();
        connection.pragma_update_and_check(None, name, value, |_| Ok(())).unwrap_or(());
    }

    #[test]
    fn versions_that_can_lose_commits_are_refused() {
        assert_eq!(check_version(rusqlite::version_number()), Ok(()));
        assert_eq!(check_version(3_051_003), Ok(()));
        let old = Error::OldSqlite { found: "3.51.2".into(), needed: "3.51.3".into() };
        assert_eq!(check_version(3_051_002), Err(old));
    }

    #[test]
    fn every_connection_waits_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let created = impatient(folder.path());
        created.append(0, &[record(0)]).unwrap();
        let opened = Sqlite::open(&folder.path().join("study.db")).unwrap();
        for sqlite in [created, opened] {
            let connection = sqlite.file.connection();
            let mode: String =
                connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            let full = 2;
            assert_eq!((mode.as_str(), pragma(&connection, "synchronous")), ("wal", Ok(full)));
        }
    }

    #[test]
    fn a_full_disk_costs_nothing_that_was_acknowledged() {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = impatient(folder.path());
        sqlite.append(0, &[record(0)]).unwrap();
        let pages = pragma(&sqlite.file.connection(), "page_count").unwrap();
        set(&sqlite, "max_page_count", pages + 2);
        let many: Vec<Record> = (1..1000).map(record).collect();
        let full = Error::Full { location: sqlite.file.location() };
        assert_eq!(sqlite.append(1, &many), Err(full.clone()));
        assert_eq!(sqlite.read(0).unwrap(), [record(0)], "all or nothing");
        sqlite.append(1, &many[..5]).unwrap();
        set(&sqlite, "max_page_count", i64::from(i32::MAX));
        sqlite.append(6, &many[5..]).unwrap();
        assert_eq!(sqlite.read(0).unwrap().len(), 1000);
    }

    #[test]
    fn a_connection_that_only_reads_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = impatient(folder.path());
        set(&sqlite, "query_only", 1);
        let refusal = sqlite.append(0, &[record(0)]);
        assert!(matches!(refusal, Err(Error::ReadOnly { .. })), "{refusal:?}");
    }

    #[test]
    fn whoever_writes_twice_in_a_row_leaves_a_gap_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = impatient(folder.path());
        let begun = Instant::now();
        *sqlite.file.written.lock().unwrap() = Some(begun + GAP);
        sqlite.file.let_others_go_first();
        assert!(begun.elapsed() >= GAP);
        // Whoever wrote long ago does not wait.
        sqlite.append(0, &[record(0)]).unwrap();
        assert!(sqlite.file.written.lock().unwrap().is_some());
    }

    #[test]
    fn patience_with_others_ends() {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = impatient(folder.path());
        let other = Connection::open(folder.path().join("study.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let Err(Error::Busy { holders, .. }) = sqlite.append(0, &[record(0)]) else {
            panic!("somebody else was writing")
        };
        #[cfg(target_os = "linux")]
        assert!(holders[0].starts_with(&format!("process {} (", std::process::id())));
        drop(holders);
        other.execute_batch("COMMIT").unwrap();
        sqlite.append(0, &[record(0)]).unwrap();
    }

    #[test]
    fn leases_are_kept_alive_while_the_other_connection_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = impatient(folder.path());
        let minute = Duration::from_secs(60);
        let claim = Claim { evaluations: &[1, 2], most: 2, owner: "me", ttl: minute };
        let leases = sqlite.claim(&claim).unwrap();
        let long_read = sqlite.file.connection();
        assert!(sqlite.renew(&leases, minute).unwrap().is_empty());
        sqlite.release(&leases[0]).unwrap();
        drop(long_read);
        let live: Vec<bool> =
            sqlite.leases().unwrap().iter().map(|status| status.is_live()).collect();
        assert_eq!(live, [false, true]);
    }

    #[test]
    fn whoever_finds_nothing_free_does_not_wait_for_those_who_write() {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = impatient(folder.path());
        let minute = Duration::from_secs(60);
        let claim = Claim { evaluations: &[1, 2], most: 2, owner: "me", ttl: minute };
        assert_eq!(sqlite.claim(&claim).unwrap().len(), 2);
        let other = Connection::open(folder.path().join("study.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(sqlite.claim(&claim), Ok(vec![]));
    }

    #[test]
    fn whoever_has_waited_longer_looks_more_often() {
        let longest = |waited: u64| {
            (0..500).map(|_| pause(Duration::from_millis(waited))).max().unwrap_or_default()
        };
        assert!(longest(0) > longest(500) && longest(500) > longest(5_000));
        assert!(longest(0) <= Duration::from_millis(6));
    }

    const HELD: &str = "UNYOKE_STORE_TEST_HELD";

    /// Not a test but a process that is stopped in the middle of a transaction.
    #[test]
    #[ignore = "this is run by another test"]
    fn process_in_a_transaction() {
        let Ok(path) = std::env::var(HELD) else { return };
        let connection = Connection::open(path).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        writeln!(std::io::stderr(), "\nlocked").unwrap();
        loop {
            std::thread::park();
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn whoever_waits_for_a_stopped_process_is_told_which_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = impatient(folder.path());
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args(["sqlite::tests::process_in_a_transaction", "--exact", "--ignored"]);
        process.arg("--nocapture").env(HELD, folder.path().join("study.db"));
        let mut child = process.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(said.map_while(std::result::Result::ok).any(|line| line == "locked"));
        let number = child.id().to_string();
        assert!(Command::new("kill").args(["-STOP", &number]).status().unwrap().success());
        let start = Instant::now();
        loop {
            let Err(Error::Busy { holders, .. }) = sqlite.append(0, &[record(0)]) else {
                panic!("somebody else was writing")
            };
            assert_eq!(holders.len(), 1, "{holders:?}");
            assert!(holders[0].starts_with(&format!("process {number} (")), "{holders:?}");
            // The signal arrives at some moment.
            if holders[0].ends_with(", stopped)") {
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{holders:?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        sqlite.append(0, &[record(0)]).unwrap();
    }

    #[test]
    fn a_panic_elsewhere_does_not_close_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = impatient(folder.path());
        let other = sqlite.clone();
        let panicked = std::thread::spawn(move || {
            other.file.write(&[], |transaction| -> rusqlite::Result<()> {
                transaction.execute("INSERT INTO journal VALUES (0, '', NULL)", [])?;
                panic!("in the middle of a transaction")
            })
        });
        assert!(panicked.join().is_err());
        sqlite.append(0, &[record(0)]).unwrap();
        assert_eq!(sqlite.read(0).unwrap(), [record(0)]);
    }
}
