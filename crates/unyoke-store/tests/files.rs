//! What may be found at the path of a file, and what may happen to it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod places;

use places::{File, Place, measured, record, told};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;
use unyoke::{FORMAT, Journal, JournalError};
use unyoke_store::{Error, Location, Store};

fn open(path: &Path) -> Result<Store, Error> {
    Store::open(&Location::from(path))
}

fn create(path: &Path) -> Result<Store, Error> {
    Store::create(&Location::from(path))
}

/// Opening and creating are both refused, in the same way, and the folder stays what it is.
fn refused_untouched(path: &Path) -> Error {
    let before = folder_of(path);
    let refusal = open(path).unwrap_err();
    assert_eq!(create(path).unwrap_err(), refusal);
    assert!(folder_of(path) == before, "{refusal}, but something was touched");
    refusal
}

/// Names and bytes of all files beside a file, but for the index that SQLite makes of its log.
fn folder_of(path: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap().map(Result::unwrap);
    let entries = entries.filter(|entry| !entry.path().ends_with("study.db-shm"));
    entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect()
}

/// A study that nobody has open, with everything in the one file.
fn closed() -> File {
    let place = File::new();
    let mut store = place.begin();
    let records: Vec<_> = (1..200).map(|number| record(number, &"x".repeat(100))).collect();
    store.append(1, &records).unwrap();
    drop(store);
    assert!(!place.path().with_extension("db-wal").exists());
    place
}

#[test]
fn a_missing_file_is_no_study() {
    let place = File::new();
    let error = open(&place.path()).unwrap_err();
    let location = place.path().display().to_string();
    assert_eq!(error, Error::NoStudy { location: location.clone() });
    assert_eq!(
        error.to_string(),
        format!("there is no study at {location}; `unyoke run` creates it")
    );
    assert!(!place.path().exists(), "looking for a study does not make one");
}

#[test]
fn a_study_is_created_once() {
    let place = closed();
    assert!(matches!(create(&place.path()), Err(Error::StudyExists { .. })));
    assert_eq!(place.open().read(0).unwrap().len(), 200);
}

#[test]
fn a_creation_that_was_interrupted_can_be_repeated() {
    let place = File::new();
    fs::write(place.path(), "").unwrap();
    assert!(matches!(open(&place.path()), Err(Error::NoStudy { .. })));
    drop(create(&place.path()).unwrap());
    assert!(matches!(open(&place.path()), Err(Error::NoStudy { .. })));
    drop(place.begin());
    assert_eq!(place.open().read(0).unwrap().len(), 1);
}

#[test]
fn of_many_who_create_a_study_one_begins_it() {
    let place = File::new();
    let begun: usize = std::thread::scope(|scope| {
        let begin = |writer: usize| match create(&place.path()) {
            Ok(mut store) => store.append(0, &[record(0, &writer.to_string())]).is_ok(),
            Err(Error::StudyExists { .. }) => false,
            Err(error) => panic!("{error}"),
        };
        let threads: Vec<_> = (0..8).map(|writer| scope.spawn(move || begin(writer))).collect();
        threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    });
    assert_eq!(begun, 1);
    assert_eq!(place.open().read(0).unwrap().len(), 1);
}

#[test]
fn a_folder_is_no_study() {
    let folder = tempfile::tempdir().unwrap();
    for refusal in [open(folder.path()), create(folder.path())] {
        assert!(matches!(refusal, Err(Error::NotAStudy { .. })), "{refusal:?}");
    }
}

#[test]
fn other_files_are_refused_untouched() {
    let place = File::new();
    for content in ["a", "parameters:\n", &"{\"width\": 1.5}\n".repeat(1000)] {
        fs::write(place.path(), content).unwrap();
        let refusal = refused_untouched(&place.path());
        assert!(matches!(refusal, Error::NotAStudy { .. }), "{refusal:?}");
    }
}

#[test]
fn a_database_of_another_program_is_refused_untouched() {
    let place = File::new();
    let other = Connection::open(place.path()).unwrap();
    other.execute_batch("CREATE TABLE journal (entry TEXT); PRAGMA user_version = 1;").unwrap();
    drop(other);
    let refusal = refused_untouched(&place.path());
    assert!(refusal.to_string().ends_with("it is an SQLite file of another program"), "{refusal}");
}

#[test]
fn a_file_nobody_may_write_is_refused() {
    let place = closed();
    let mut permissions = fs::metadata(place.path()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(place.path(), permissions).unwrap();
    let refusal = refused_untouched(&place.path());
    assert!(matches!(refusal, Error::ReadOnly { .. }), "{refusal:?}");
}

#[test]
fn a_missing_folder_is_named() {
    let place = File::new();
    let refusal = create(&place.path().join("deeper").join("study.db")).unwrap_err();
    assert!(matches!(refusal, Error::NoAccess { .. }), "{refusal:?}");
}

#[test]
fn names_that_sqlite_takes_for_something_else_are_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["file:study.db?mode=memory", "ü 🦀 'x'.db", "a%20b#c.db"] {
        let path = folder.path().join(name);
        create(&path).unwrap().append(0, &[record(0, name)]).unwrap();
        assert!(path.is_file(), "{name}");
        assert_eq!(open(&path).unwrap().read(0).unwrap(), [record(0, name)]);
    }
}

/// The study must say that it is damaged, when it is opened or when it is read, and must not be made worse.
fn check_damage(place: &File, damage: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(place.path()).unwrap();
    damage(&mut bytes);
    fs::write(place.path(), &bytes).unwrap();
    let outcome = open(&place.path()).map(|store| store.read(0));
    match outcome {
        Err(Error::Damaged { .. } | Error::NotAStudy { .. }) => (),
        Ok(Err(JournalError::Damaged { .. })) => (),
        Ok(Err(JournalError::Storage { reason })) => {
            assert!(reason.contains("damaged"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
    assert!(fs::read(place.path()).unwrap() == bytes, "the damaged file was changed");
}

#[test]
fn damage_is_told_and_not_made_worse() {
    check_damage(&closed(), |bytes| bytes[..16].fill(0));
    check_damage(&closed(), |bytes| bytes[100..4096].fill(0xff));
    check_damage(&closed(), |bytes| bytes[4096..].fill(0));
    check_damage(&closed(), |bytes| bytes.truncate(6000));
    check_damage(&closed(), |bytes| {
        // One letter of one record.
        let at = bytes.windows(6).rposition(|part| part == b"failed").unwrap();
        bytes[at] = b'F';
    });
}

#[test]
fn a_missing_record_is_damage() {
    let place = closed();
    let thief = Connection::open(place.path()).unwrap();
    thief.execute("DELETE FROM journal WHERE position = 70", []).unwrap();
    let error = place.open().read(0).unwrap_err();
    let reason = "it is missing".to_owned();
    assert_eq!(error, JournalError::Damaged { position: 70, reason });
    assert_eq!(place.open().read(71).unwrap().len(), 129);
}

#[test]
fn one_altered_digit_is_noticed() {
    let place = closed();
    place.open().append(200, &[measured(3, 0.125)]).unwrap();
    place.open().append(201, &[record(201, "after")]).unwrap();
    let thief = Connection::open(place.path()).unwrap();
    let alter =
        "UPDATE journal SET record = replace(record, '0.125', '0.126') WHERE position = 200";
    assert_eq!(thief.execute(alter, []), Ok(1));
    let error = place.open().read(0).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { position: 200, .. }), "{error:?}");
    assert!(error.to_string().contains("checksum"), "{error}");
    thief.execute("DELETE FROM journal WHERE position = 201", []).unwrap();
    let error = open(&place.path()).unwrap_err();
    assert!(matches!(error, Error::DamagedRecord { position: 200, .. }), "{error:?}");
}

#[test]
fn what_a_newer_version_added_is_not_called_damage() {
    let place = closed();
    let newer = Connection::open(place.path()).unwrap();
    let insert = "INSERT INTO journal (position, record) VALUES (200, ?1)";
    for text in [
        r#"{"format":1,"event":"merged","studies":[1,2]}"#,
        r#"{"format":1,"event":"told","evaluation":3,"value":0.5,"weight":2}"#,
        r#"{"format":2,"event":"measured","evaluation":3,"values":{"f":0.5},"weight":2}"#,
    ] {
        newer.execute(insert, [text]).unwrap();
        let error = place.open().read(0).unwrap_err().to_string();
        assert!(error.contains("record 200") && error.contains("newer Unyoke"), "{error}");
        newer.execute("DELETE FROM journal WHERE position = 200", []).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_file_with_a_second_name_is_refused_untouched() {
    let place = closed();
    fs::hard_link(place.path(), place.path().with_extension("link")).unwrap();
    let refusal = refused_untouched(&place.path());
    assert_eq!(refusal, Error::HardLinked { path: place.path(), links: 2 });
    fs::remove_file(place.path().with_extension("link")).unwrap();
    assert_eq!(place.open().read(0).unwrap().len(), 200);
}

#[test]
fn nothing_is_acknowledged_that_goes_into_a_file_nobody_will_find() {
    let place = closed();
    let mut store = place.open();
    fs::rename(place.path(), place.path().with_extension("old")).unwrap();
    let moved = Error::Moved { path: place.path() };
    assert_eq!(
        store.append(200, &[record(200, "me")]),
        Err(JournalError::Storage { reason: moved.to_string() })
    );
    assert_eq!(store.claim(1, "me", Duration::ZERO), Err(moved.clone()));
    fs::write(place.path(), "").unwrap();
    assert_eq!(store.claim(1, "me", Duration::ZERO), Err(moved));
    fs::rename(place.path().with_extension("old"), place.path()).unwrap();
    assert_eq!(store.append(200, &[record(200, "me")]), Ok(()));
}

#[test]
fn a_newer_layout_is_refused_untouched() {
    let place = closed();
    let newer = Connection::open(place.path()).unwrap();
    newer.execute_batch("CREATE TABLE merged (study TEXT); PRAGMA user_version = 4;").unwrap();
    drop(newer);
    let location = place.path().display().to_string();
    let refusal = Error::NewerLayout { location, found: 4, known: 3 };
    assert_eq!(refused_untouched(&place.path()), refusal);
}

#[test]
fn a_newer_record_is_refused_untouched() {
    let place = closed();
    let newer = Connection::open(place.path()).unwrap();
    let record = format!(r#"{{"format":{},"event":"merged","studies":[1,2]}}"#, FORMAT + 1);
    newer.execute("INSERT INTO journal (position, record) VALUES (200, ?1)", [&record]).unwrap();
    drop(newer);
    let refusal = Error::NewerRecord { found: FORMAT + 1, known: FORMAT };
    assert_eq!(refused_untouched(&place.path()), refusal);
}

#[test]
fn not_even_the_log_of_what_is_newer_is_touched() {
    let place = File::new();
    drop(place.begin());
    let newer = Connection::open(place.path()).unwrap();
    newer.execute_batch("PRAGMA user_version = 4;").unwrap();
    let crashed = File::new();
    for name in ["study.db", "study.db-wal"] {
        fs::copy(place.path().with_file_name(name), crashed.path().with_file_name(name)).unwrap();
    }
    let refusal = refused_untouched(&crashed.path());
    assert!(matches!(refusal, Error::NewerLayout { found: 4, .. }), "{refusal:?}");
}

#[test]
fn a_newer_record_that_arrives_later_is_refused_too() {
    let place = closed();
    let mut store = place.open();
    let newer = Connection::open(place.path()).unwrap();
    let insert = r#"INSERT INTO journal (position, record) VALUES (200, '{"format":9}')"#;
    newer.execute(insert, []).unwrap();
    let refusal = JournalError::Format { found: 9, known: FORMAT };
    assert_eq!(store.read(200), Err(refusal));
    let conflict = JournalError::Conflict { expected: 200, found: 201 };
    assert_eq!(store.append(200, &[record(200, "me")]), Err(conflict));
}

/// A study as layout 1 had it. Change nothing here: such files may exist.
const LAYOUT_1: &str = r#"
    PRAGMA journal_mode = WAL;
    PRAGMA application_id = 1431198027;
    CREATE TABLE journal (
        position INTEGER PRIMARY KEY CHECK (position >= 0),
        record TEXT NOT NULL
    ) STRICT;
    INSERT INTO journal VALUES (0, '{"format":1,"event":"told","evaluation":3,"value":0.5}');
    PRAGMA user_version = 1;"#;

#[test]
fn an_older_layout_is_brought_up_to_date() {
    let place = File::new();
    Connection::open(place.path()).unwrap().execute_batch(LAYOUT_1).unwrap();
    let store = place.open();
    assert_eq!(store.read(0).unwrap(), [told(3, 0.5)]);
    store.clone().append(1, &[record(1, "with a checksum")]).unwrap();
    assert_eq!(place.open().read(0).unwrap().len(), 2);
    assert!(store.claim(3, "me", Duration::from_secs(1)).unwrap().is_some());
    assert_eq!(place.open().leases().unwrap().len(), 1);
}

#[test]
fn many_may_bring_an_older_layout_up_to_date_at_once() {
    let place = File::new();
    Connection::open(place.path()).unwrap().execute_batch(LAYOUT_1).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(place.open().read(0).unwrap().len(), 1));
        }
    });
}

#[test]
fn readers_and_writers_do_not_wait_for_each_other() {
    let place = closed();
    let mut store = place.open();
    let other = Connection::open(place.path()).unwrap();
    let count = || -> i64 {
        other.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap()
    };
    other.execute_batch("BEGIN").unwrap();
    assert_eq!(count(), 200);
    store.append(200, &[record(200, "me")]).unwrap();
    assert_eq!(count(), 200, "a reader goes on reading what it began to read");
    other.execute_batch("COMMIT; BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.read(0).unwrap().len(), 201, "while somebody else is writing");
}

#[test]
fn what_the_log_holds_is_read_after_a_crash() {
    let place = File::new();
    let mut store = place.begin();
    store.append(1, &[record(1, "only in the log")]).unwrap();
    let copy = File::new();
    for name in ["study.db", "study.db-wal"] {
        fs::copy(place.path().with_file_name(name), copy.path().with_file_name(name)).unwrap();
    }
    assert_eq!(copy.open().read(1).unwrap(), [record(1, "only in the log")]);
}

#[test]
fn a_torn_end_of_the_log_costs_only_what_was_not_acknowledged() {
    let place = File::new();
    let mut store = place.begin();
    store.append(1, &[record(1, "acknowledged")]).unwrap();
    let copy = File::new();
    fs::copy(place.path(), copy.path()).unwrap();
    let mut log = fs::read(place.path().with_extension("db-wal")).unwrap();
    log.extend_from_slice(&[0x5a; 3000]);
    fs::write(copy.path().with_extension("db-wal"), log).unwrap();
    let mut repaired = copy.open();
    assert_eq!(repaired.read(1).unwrap(), [record(1, "acknowledged")]);
    repaired.append(2, &[record(2, "after")]).unwrap();
}
