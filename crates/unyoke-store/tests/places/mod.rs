//! Places to keep a study in, of every kind, each as if it were the only one.
#![allow(dead_code, reason = "not every test file uses all of them")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use unyoke::{Event, Journal, Record};
use unyoke_store::{Clock, Location, Store};

/// Where one study can be kept.
pub(crate) trait Place: Sync {
    /// A place that nobody used before.
    fn new() -> Self;

    /// A store for a new study.
    fn create(&self) -> Store;

    /// The store of the study that was begun.
    fn open(&self) -> Store;

    /// Lets time go by, as far as leases can tell.
    fn pass(&self, time: Duration);

    /// A store with a first record, which therefore can be opened too.
    fn begin(&self) -> Store {
        let mut store = self.create();
        store.append(0, &[record(0, "begun")]).unwrap();
        store
    }
}

/// A place that other processes can find.
pub(crate) trait Shared: Place {
    /// What to give to [`Location::parse`].
    fn text(&self) -> String;
}

/// A record that says who wrote it.
pub(crate) fn record(evaluation: u64, writer: &str) -> Record {
    Event::Failed { evaluation, reason: writer.to_owned(), cost: None }.into()
}

/// A record of the only value of an evaluation.
pub(crate) fn measured(evaluation: u64, value: f64) -> Record {
    let values = [("f".to_owned(), value.into())].into();
    let (missing, cost, design) = (None, None, None);
    Event::Measured { evaluation, values, missing, cost, design }.into()
}

/// The same as the first version wrote it.
pub(crate) fn told(evaluation: u64, value: f64) -> Record {
    Record { format: 1, ..Event::Told { evaluation, value }.into() }
}

/// Number and writer of a [`record`].
pub(crate) fn parts(record: &Record) -> (u64, &str) {
    match &record.event {
        Event::Failed { evaluation, reason, .. } => (*evaluation, reason),
        other => panic!("somebody else wrote {other:?}"),
    }
}

/// Memory of this process.
pub(crate) struct Memory {
    store: Store,
    clock: Clock,
}

impl Place for Memory {
    fn new() -> Self {
        let clock = Clock::by_hand();
        Self { store: Store::memory().with_clock(clock.clone()), clock }
    }

    fn create(&self) -> Store {
        self.store.clone()
    }

    fn open(&self) -> Store {
        self.store.clone()
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

/// A file in a temporary folder.
pub(crate) struct File {
    folder: TempDir,
    clock: Clock,
}

impl File {
    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("study.db")
    }

    pub(crate) fn location(&self) -> Location {
        Location::File(self.path())
    }
}

impl Place for File {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: Clock::by_hand() }
    }

    fn create(&self) -> Store {
        Store::create(&self.location()).unwrap().with_clock(self.clock.clone())
    }

    fn open(&self) -> Store {
        Store::open(&self.location()).unwrap().with_clock(self.clock.clone())
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

impl Shared for File {
    fn text(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }
}

/// A journal file in a temporary folder.
pub(crate) struct JournalFile {
    folder: TempDir,
    clock: Clock,
}

impl JournalFile {
    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("study.journal")
    }

    /// The folder of its lock.
    pub(crate) fn lock(&self) -> std::path::PathBuf {
        self.folder.path().join("study.journal.lock")
    }

    pub(crate) fn location(&self) -> Location {
        Location::Journal(self.path())
    }
}

impl Place for JournalFile {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: Clock::by_hand() }
    }

    fn create(&self) -> Store {
        Store::create(&self.location()).unwrap().with_clock(self.clock.clone())
    }

    fn open(&self) -> Store {
        Store::open(&self.location()).unwrap().with_clock(self.clock.clone())
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

impl Shared for JournalFile {
    fn text(&self) -> String {
        self.location().to_string()
    }
}

/// A name in the database that tests are given.
pub(crate) struct Postgres {
    study: String,
}

impl Postgres {
    pub(crate) fn location(&self) -> Location {
        Location::parse(&self.text()).unwrap()
    }

    /// Carries out a statement about this study, which it calls `$1`.
    pub(crate) fn execute(&self, statement: &str) {
        client(&server()).execute(statement, &[&self.study]).unwrap();
    }
}

impl Place for Postgres {
    fn new() -> Self {
        Self { study: unique("study ") }
    }

    fn create(&self) -> Store {
        Store::create(&self.location()).unwrap()
    }

    fn open(&self) -> Store {
        Store::open(&self.location()).unwrap()
    }

    fn pass(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.execute(&format!(
            "UPDATE unyoke.lease SET expires = expires - interval '{seconds} s' WHERE study = $1"
        ));
    }
}

impl Shared for Postgres {
    fn text(&self) -> String {
        with_parameter(&server(), &format!("study={}", self.study.replace(' ', "%20")))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        for table in ["journal", "lease", "late"] {
            let delete = format!("DELETE FROM unyoke.{table} WHERE study = $1");
            let _ = client(&server()).execute(&delete, &[&self.study]);
        }
    }
}

/// The URL of the server that tests are given.
pub(crate) fn server() -> String {
    std::env::var("UNYOKE_TEST_POSTGRES").expect(
        "this test needs PostgreSQL: run `cargo xtask test`, or `cargo xtask postgres cargo test -p unyoke-store`",
    )
}

pub(crate) fn client(url: &str) -> postgres::Client {
    postgres::Client::connect(url, postgres::NoTls).unwrap()
}

pub(crate) fn with_parameter(url: &str, parameter: &str) -> String {
    let separator = match url.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some(_) => "&",
    };
    format!("{url}{separator}{parameter}")
}

/// A name that no other test has, in this process or another.
pub(crate) fn unique(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}{}_{number}_{time}", std::process::id())
}
