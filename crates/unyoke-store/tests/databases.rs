//! What may be found in a PostgreSQL database, and what may happen to the connection.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod places;
mod wire;

use places::{
    Place, Postgres, Shared, client, measured, record, server, told, unique, with_parameter,
};
use std::net::TcpListener;
use std::time::Duration;
use unyoke::{Design, Event, FORMAT, Journal, JournalError};
use unyoke_store::{Error, Location, Store};
use wire::Wire;

const MINUTE: Duration = Duration::from_secs(60);

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

/// The study through a connection that can be found on the server, and how to cut it there.
fn cuttable(place: &Postgres) -> (Store, impl Fn()) {
    let name = unique("lost_");
    let text = with_parameter(&place.text(), &format!("application_name={name}"));
    let store = Store::open(&Location::parse(&text).unwrap()).unwrap();
    let cut = move || {
        let cut = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE application_name = $1";
        assert!(client(&server()).execute(cut, &[&name]).unwrap() > 0);
    };
    (store, cut)
}

#[test]
fn a_connection_that_was_lost_meanwhile_is_made_again() {
    let place = Postgres::new();
    drop(place.begin());
    let (mut store, cut) = cuttable(&place);
    cut();
    store.append(1, &[record(1, "me")]).unwrap();
    cut();
    assert_eq!(store.read(0).unwrap().len(), 2);
    cut();
    let lease = store.claim(1, "me", MINUTE).unwrap().unwrap();
    assert!(store.renew(&lease, MINUTE).unwrap());
    cut();
    assert!(store.renew(&lease, MINUTE).unwrap());
    cut();
    store.release(&lease).unwrap();
    cut();
    store.keep_late(1, 1, "late").unwrap();
    assert_eq!((store.leases().unwrap().len(), store.late().unwrap().len()), (1, 1));
}

#[test]
fn an_append_whose_answer_was_lost_is_neither_lost_nor_doubled() {
    let place = Postgres::new();
    drop(place.begin());
    let wire = Wire::new();
    let mut store = Store::open(&wire.location(&place)).unwrap();
    wire.swallow("SELECT 1", 1);
    store.append(1, &[record(1, "me"), record(2, "me")]).unwrap();
    assert_eq!(wire.swallowed(), 1, "it was carried out, and we did not hear of it");
    assert_eq!(place.open().read(1).unwrap(), [record(1, "me"), record(2, "me")]);
}

#[test]
fn an_append_that_remained_undecided_is_recognised_when_it_is_repeated() {
    let place = Postgres::new();
    drop(place.begin());
    let wire = Wire::new();
    let mut store = Store::open(&wire.location(&place)).unwrap();
    // Carried out unheard, and unheard as well that it was.
    wire.swallow("SELECT 1", 2);
    let lost = store.append(1, &[record(1, "me")]).unwrap_err();
    assert!(lost.is_passing(), "{lost}");
    assert_eq!(wire.swallowed(), 2);
    let other = place.open().append(1, &[record(1, "me")]);
    assert_eq!(other, Err(JournalError::Conflict { expected: 1, found: 2 }), "equal, not the same");
    store.append(1, &[record(1, "me")]).unwrap();
    let conflict = store.append(1, &[record(1, "me")]);
    assert_eq!(conflict, Err(JournalError::Conflict { expected: 1, found: 2 }), "only once");
    assert_eq!(place.open().read(0).unwrap().len(), 2);
}

#[test]
fn a_claim_whose_answer_was_lost_is_ours() {
    let place = Postgres::new();
    drop(place.begin());
    let wire = Wire::new();
    let store = Store::open(&wire.location(&place)).unwrap();
    wire.swallow("SELECT 1", 1);
    let lease = store.claim(7, "me", MINUTE).unwrap().unwrap();
    assert_eq!((wire.swallowed(), lease.attempt), (1, 1));
    assert_eq!(store.claim(7, "me", MINUTE).unwrap(), None, "not twice");
}

#[test]
fn a_lease_that_came_with_an_append_whose_answer_was_lost_is_ours() {
    let place = Postgres::new();
    drop(place.begin());
    let wire = Wire::new();
    let mut store = Store::open(&wire.location(&place)).unwrap();
    store.work_as("me", MINUTE).unwrap();
    let (design, measurement) = (Design::new().with("x", 0.5), "f".to_owned());
    let asked = Event::Asked { evaluation: 0, design, measurement, cost: 1.0, initial: true };
    wire.swallow("SELECT 1", 2);
    assert!(store.append(1, &[asked.clone().into()]).unwrap_err().is_passing());
    store.append(1, &[asked.into()]).unwrap();
    assert_eq!(store.claim(0, "me", MINUTE).unwrap().unwrap().attempt, 1);
    assert_eq!(store.read(0).unwrap().len(), 2);
}

#[test]
fn a_server_that_does_not_answer_is_not_waited_for_endlessly() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let text = format!("postgres://ann@127.0.0.1:{port}/lab?connect_timeout=1&study=s");
    let error = Store::open(&Location::parse(&text).unwrap()).unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }) && error.is_passing(), "{error:?}");
}

#[test]
fn leases_are_renewed_while_a_long_read_is_under_way() {
    let database = Database::new();
    Store::create(&database.location()).unwrap().append(0, &[record(0, "me")]).unwrap();
    let store = Store::open(&database.location()).unwrap();
    let lease = store.claim(1, "me", MINUTE).unwrap().unwrap();
    let mut locker = client(&database.url());
    locker.batch_execute("BEGIN; LOCK TABLE unyoke.journal IN ACCESS EXCLUSIVE MODE").unwrap();
    std::thread::scope(|scope| {
        let reader = store.clone();
        let reading = scope.spawn(move || reader.read(0));
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted
            AND relation = 'unyoke.journal'::regclass";
        while client(&database.url()).query_one(waiting, &[]).unwrap().get::<_, i64>(0) == 0 {
            std::thread::yield_now();
        }
        assert!(store.renew(&lease, MINUTE).unwrap());
        store.release(&lease).unwrap();
        locker.batch_execute("COMMIT").unwrap();
        assert_eq!(reading.join().unwrap().unwrap().len(), 1);
    });
}

#[test]
fn whoever_waits_too_long_is_told_for_whom() {
    let database = Database::new();
    Store::create(&database.location()).unwrap().append(0, &[record(0, "me")]).unwrap();
    database.set("lock_timeout = '200ms'");
    let mut store = Store::open(&database.location()).unwrap();
    let name = unique("locker_");
    let mut locker = client(&with_parameter(&database.url(), &format!("application_name={name}")));
    locker.batch_execute("BEGIN; LOCK TABLE unyoke.journal IN EXCLUSIVE MODE").unwrap();
    let busy = store.append(1, &[record(1, "me")]).unwrap_err();
    let said = busy.to_string();
    assert!(busy.is_passing() && said.contains(&name), "{said}");
    assert!(said.contains("idle in transaction"), "{said}");
    locker.batch_execute("COMMIT").unwrap();
    store.append(1, &[record(1, "me")]).unwrap();
}

#[test]
fn a_statement_that_takes_too_long_is_trouble_that_passes() {
    let database = Database::new();
    Store::create(&database.location()).unwrap().append(0, &[record(0, "me")]).unwrap();
    database.set("statement_timeout = '200ms'");
    let store = Store::open(&database.location()).unwrap();
    let mut locker = client(&database.url());
    locker.batch_execute("BEGIN; LOCK TABLE unyoke.lease IN ACCESS EXCLUSIVE MODE").unwrap();
    let slow = store.leases().unwrap_err();
    assert!(matches!(slow, Error::TimedOut { .. }) && slow.is_passing(), "{slow:?}");
    locker.batch_execute("COMMIT").unwrap();
    assert_eq!(store.leases(), Ok(vec![]));
}

#[test]
fn one_altered_digit_is_noticed() {
    let place = Postgres::new();
    let mut store = place.begin();
    store.append(1, &[measured(3, 0.125)]).unwrap();
    place.execute(
        "UPDATE unyoke.journal SET record = replace(record, '0.125', '0.126') WHERE study = $1",
    );
    let error = store.read(0).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { position: 1, .. }), "{error:?}");
    let error = Store::open(&place.location()).unwrap_err();
    assert!(matches!(error, Error::DamagedRecord { position: 1, .. }), "{error:?}");
}

#[test]
fn somebody_the_server_does_not_know_is_refused_for_good() {
    let text =
        with_parameter(&Postgres::new().text(), "user=there_is_no_such_role&password=hunter2");
    let error = Store::open(&Location::parse(&text).unwrap()).unwrap_err();
    assert!(matches!(error, Error::NoAccess { .. }) && !error.is_passing(), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
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
                assert_eq!(store.read(0).unwrap(), [told(3, 0.5)]);
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
    database.execute("UPDATE unyoke.layout SET version = 4");
    let location = database.location().to_string();
    let refusal = Error::NewerLayout { location, found: 4, known: 3 };
    assert_eq!(Store::open(&database.location()).unwrap_err(), refusal);
    assert_eq!(Store::create(&database.location()).unwrap_err(), refusal);
    assert!(store.append(1, &[]).is_ok(), "whoever was there before is not thrown out");
}

#[test]
fn a_newer_record_is_refused_untouched() {
    let place = Postgres::new();
    let store = place.begin();
    place.execute(
        r#"INSERT INTO unyoke.journal (study, position, record)
        VALUES ($1, 1, '{"format":9,"event":"merged"}')"#,
    );
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
    let reason = "it is missing".to_owned();
    assert_eq!(error, JournalError::Damaged { position: 1, reason });
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
