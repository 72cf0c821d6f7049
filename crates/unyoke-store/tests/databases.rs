//! What may be found in a PostgreSQL database, and what may happen to the connection.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod places;

use places::{Place, Postgres, Shared, client, record, server, unique, with_parameter};
use std::time::Duration;
use unyoke::{Event, FORMAT, Journal, JournalError};
use unyoke_store::{Error, Location, Store};

/// A database of our own on the server, for what would disturb others.
struct Database(String);

impl Database {
    fn new() -> Self {
        let name = unique("unyoke_test_");
        client(&server()).batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        Self(name)
    }

    /// The URL of the server with another database.
    fn url(&self) -> String {
        let server = server();
        let (base, parameters) = server.split_once('?').unwrap_or((&server, ""));
        let (host, _) = base.rsplit_once('/').unwrap();
        format!("{host}/{}?{parameters}", self.0)
    }

    fn location(&self) -> Location {
        Location::parse(&with_parameter(&self.url(), "study=s")).unwrap()
    }

    fn execute(&self, statements: &str) {
        client(&self.url()).batch_execute(statements).unwrap();
    }

    fn set(&self, setting: &str) {
        self.execute(&format!("ALTER DATABASE {} SET {setting}", self.0));
    }

    fn has_schema(&self) -> bool {
        let query = "SELECT to_regnamespace('unyoke') IS NOT NULL";
        client(&self.url()).query_one(query, &[]).unwrap().get(0)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.0);
        let _ = client(&server()).batch_execute(&drop);
    }
}

#[test]
fn a_missing_study_is_not_made_by_looking_for_it() {
    let database = Database::new();
    let missing = Store::open(&database.location()).unwrap_err();
    assert_eq!(missing, Error::NoStudy { location: database.location().to_string() });
    assert!(!database.has_schema());
    drop(Store::create(&database.location()).unwrap());
    assert!(database.has_schema());
    assert!(matches!(Store::open(&database.location()), Err(Error::NoStudy { .. })));
}

#[test]
fn a_study_is_created_once() {
    let place = Postgres::new();
    drop(place.begin());
    assert!(matches!(Store::create(&place.location()), Err(Error::StudyExists { .. })));
    assert_eq!(place.open().read(0).unwrap().len(), 1);
}

#[test]
fn studies_of_one_database_do_not_see_each_other() {
    let (mine, yours) = (Postgres::new(), Postgres::new());
    let (mut my_store, your_store) = (mine.begin(), yours.begin());
    my_store.append(1, &[record(1, "me")]).unwrap();
    my_store.keep_late(1, 1, "late").unwrap();
    assert!(my_store.claim(1, "me", Duration::from_secs(60)).unwrap().is_some());
    assert_eq!(your_store.read(0).unwrap().len(), 1);
    assert!(your_store.late().unwrap().is_empty() && your_store.leases().unwrap().is_empty());
    assert!(your_store.claim(1, "you", Duration::from_secs(60)).unwrap().is_some());
}

#[test]
fn a_lost_connection_is_told_and_made_again() {
    let place = Postgres::new();
    drop(place.begin());
    let name = unique("lost_");
    let text = with_parameter(&place.text(), &format!("application_name={name}"));
    let mut store = Store::open(&Location::parse(&text).unwrap()).unwrap();
    let cut = || {
        let cut = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE application_name = $1";
        assert_eq!(client(&server()).execute(cut, &[&name]).unwrap(), 1);
    };
    cut();
    let lost = store.append(1, &[record(1, "me")]).unwrap_err();
    assert!(
        matches!(&lost, JournalError::Unavailable { reason } if reason.contains("reached")),
        "{lost}"
    );
    assert_eq!(store.read(0).unwrap().len(), 1);
    store.append(1, &[record(1, "me")]).unwrap();
    cut();
    assert!(matches!(store.leases(), Err(Error::Unreachable { .. })));
    assert_eq!(store.leases(), Ok(Vec::new()));
}

#[test]
fn a_server_or_database_that_is_not_there_is_named_without_password() {
    let nowhere = "postgres://ann:hunter2@127.0.0.1:1/lab?study=s";
    let error = Store::open(&Location::parse(nowhere).unwrap()).unwrap_err();
    let Error::Unreachable { location, .. } = &error else { panic!("{error:?}") };
    assert_eq!(location, "postgres://ann@127.0.0.1:1/lab?study=s");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    let server = server();
    let (host, _) = server.split('?').next().unwrap().rsplit_once('/').unwrap();
    let text = format!("{host}/there_is_no_such_database?study=s");
    let error = Store::open(&Location::parse(&text).unwrap()).unwrap_err();
    assert!(matches!(error, Error::NoAccess { .. }), "{error:?}");
    assert!(error.to_string().contains("does not exist"), "{error}");
}

#[test]
fn a_url_that_postgresql_does_not_understand_is_refused() {
    let location = Location::parse("postgres://h/lab?sslmode=perhaps&study=s").unwrap();
    assert!(matches!(Store::open(&location), Err(Error::BadLocation { .. })));
}

/// A database as layout 1 had it. Change nothing here: such databases may exist.
const LAYOUT_1: &str = r#"
    CREATE SCHEMA unyoke;
    CREATE TABLE unyoke.layout (version bigint NOT NULL);
    INSERT INTO unyoke.layout VALUES (1);
    CREATE TABLE unyoke.journal (
        study text NOT NULL,
        position bigint NOT NULL CHECK (position >= 0),
        record text NOT NULL,
        PRIMARY KEY (study, position)
    );
    INSERT INTO unyoke.journal
    VALUES ('s', 0, '{"format":1,"event":"told","evaluation":3,"value":0.5}');"#;

#[test]
fn an_older_layout_is_brought_up_to_date_by_one_of_many() {
    let database = Database::new();
    database.execute(LAYOUT_1);
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let database = &database;
            scope.spawn(move || {
                let store = Store::open(&database.location()).unwrap();
                let told = Event::Told { evaluation: 3, value: 0.5 };
                assert_eq!(store.read(0).unwrap(), [told.into()]);
                store.claim(worker, "me", Duration::from_secs(1)).unwrap().unwrap();
            });
        }
    });
    assert_eq!(Store::open(&database.location()).unwrap().leases().unwrap().len(), 8);
}

#[test]
fn of_many_who_create_the_first_study_all_succeed() {
    let database = Database::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| drop(Store::create(&database.location()).unwrap()));
        }
    });
}

#[test]
fn a_newer_layout_is_refused_untouched() {
    let database = Database::new();
    database.execute(LAYOUT_1);
    let mut store = Store::open(&database.location()).unwrap();
    database.execute("UPDATE unyoke.layout SET version = 3");
    let location = database.location().to_string();
    let refusal = Error::NewerLayout { location, found: 3, known: 2 };
    assert_eq!(Store::open(&database.location()).unwrap_err(), refusal);
    assert_eq!(Store::create(&database.location()).unwrap_err(), refusal);
    assert!(store.append(1, &[]).is_ok(), "whoever was there before is not thrown out");
}

#[test]
fn a_newer_record_is_refused_untouched() {
    let place = Postgres::new();
    let store = place.begin();
    place.execute(r#"INSERT INTO unyoke.journal VALUES ($1, 1, '{"format":9,"event":"merged"}')"#);
    let refusal = Error::NewerRecord { found: 9, known: FORMAT };
    assert_eq!(Store::open(&place.location()).unwrap_err(), refusal);
    assert_eq!(Store::create(&place.location()).unwrap_err(), refusal);
    assert_eq!(store.read(1), Err(JournalError::Format { found: 9, known: FORMAT }));
}

#[test]
fn a_missing_record_is_damage() {
    let place = Postgres::new();
    let mut store = place.begin();
    store.append(1, &[record(1, "me"), record(2, "me")]).unwrap();
    place.execute("DELETE FROM unyoke.journal WHERE study = $1 AND position = 1");
    let error = store.read(0).unwrap_err();
    assert!(error.to_string().contains("record 1 is missing"), "{error}");
}

#[test]
fn promises_do_not_depend_on_how_the_database_is_set_up() {
    let database = Database::new();
    for setting in [
        "default_transaction_isolation = 'serializable'",
        "synchronous_commit = off",
        "search_path = ''",
        "timezone = 'Pacific/Chatham'",
    ] {
        database.set(setting);
    }
    Store::create(&database.location()).unwrap().append(0, &[record(0, "me")]).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let mut store = Store::open(&database.location()).unwrap();
            scope.spawn(move || {
                let mut written = 0;
                while written < 10 {
                    let at = store.read(0).unwrap().len() as u64;
                    match store.append(at, &[record(worker, "me")]) {
                        Ok(()) => written += 1,
                        Err(JournalError::Conflict { .. }) => (),
                        Err(error) => panic!("{error}"),
                    }
                    store.claim(written, "me", Duration::from_secs(60)).unwrap();
                }
            });
        }
    });
    let store = Store::open(&database.location()).unwrap();
    assert_eq!(store.read(0).unwrap().len(), 81);
    assert!(store.leases().unwrap().iter().all(|status| status.lease.attempt == 1));
}

#[test]
fn a_database_that_only_lets_read_says_so() {
    let database = Database::new();
    Store::create(&database.location()).unwrap().append(0, &[record(0, "me")]).unwrap();
    database.set("default_transaction_read_only = on");
    let store = Store::open(&database.location()).unwrap();
    assert_eq!(store.read(0).unwrap().len(), 1);
    let refusal = store.claim(1, "me", Duration::ZERO);
    assert!(matches!(refusal, Err(Error::ReadOnly { .. })), "{refusal:?}");
}

#[test]
fn a_user_with_the_documented_rights_can_take_part() {
    let database = Database::new();
    Store::create(&database.location()).unwrap().append(0, &[record(0, "me")]).unwrap();
    let user = unique("unyoke_user_");
    database.execute(&format!(
        "CREATE ROLE {user} LOGIN PASSWORD 'unyoke';
         GRANT USAGE ON SCHEMA unyoke TO {user};
         GRANT SELECT ON unyoke.layout TO {user};
         GRANT SELECT, INSERT ON unyoke.journal, unyoke.late TO {user};
         GRANT SELECT, INSERT, UPDATE ON unyoke.lease TO {user};"
    ));
    let url = with_parameter(&database.url(), &format!("user={user}&password=unyoke"));
    let theirs =
        |study: &str| Location::parse(&with_parameter(&url, &format!("study={study}"))).unwrap();
    let mut store = Store::open(&theirs("s")).unwrap();
    store.append(1, &[record(1, "them")]).unwrap();
    let lease = store.claim(1, "them", Duration::from_secs(60)).unwrap().unwrap();
    assert!(store.renew(&lease, Duration::from_secs(60)).unwrap());
    store.release(&lease).unwrap();
    store.keep_late(1, 1, "late").unwrap();
    assert_eq!(store.late().unwrap().len(), 1);
    Store::create(&theirs("another")).unwrap().append(0, &[record(0, "them")]).unwrap();
    drop(store);
    database.execute(&format!("DROP OWNED BY {user}; DROP ROLE {user}"));
}
