//! Whether a study could be created is found out without creating it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod places;

use places::{Place, client, record, server, unique, with_parameter};
use unyoke::Journal;
use unyoke_store::{Error, Location, Store};

/// The URL of the server with another database.
fn url_of(database: &str) -> String {
    let server = server();
    let (base, parameters) = server.split_once('?').unwrap_or((&server, ""));
    format!("{}/{database}?{parameters}", base.rsplit_once('/').unwrap().0)
}

fn study(url: &str, name: &str) -> Location {
    Location::parse(&with_parameter(url, &format!("study={name}"))).unwrap()
}

#[test]
fn a_file_is_not_made_by_asking_whether_it_could_be() {
    let place = places::File::new();
    let location = Location::File(place.path());
    assert_eq!(Store::check_creatable(&location), Ok(()));
    assert!(!place.path().exists());
    let deeper = Location::File(place.path().join("deeper.db"));
    assert!(Store::check_creatable(&deeper).is_err());
}

#[test]
fn a_database_is_asked_for_its_rights_and_left_as_it_was() {
    let name = unique("unyoke_test_");
    let user = unique("unyoke_user_");
    client(&server()).batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
    let (url, mut database) = (url_of(&name), client(&url_of(&name)));
    let mut execute = |statements: &str| database.batch_execute(statements).unwrap();
    execute(&format!("CREATE ROLE {user} LOGIN PASSWORD 'unyoke'"));
    let theirs = with_parameter(&url, &format!("user={user}&password=unyoke"));
    let check = |url: &str| Store::check_creatable(&study(url, "s"));
    let is_read_only = |checked: Result<(), Error>| matches!(checked, Err(Error::ReadOnly { .. }));

    // Before there are tables.
    assert_eq!(check(&url), Ok(()));
    let open = Store::open(&study(&url, "s"));
    assert!(matches!(open, Err(Error::NoStudy { .. })), "it was created: {open:?}");
    assert!(is_read_only(check(&theirs)), "{:?}", check(&theirs));
    execute(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    assert!(is_read_only(check(&url)), "{:?}", check(&url));
    let back = format!("SET default_transaction_read_only = off; ALTER DATABASE {name} RESET ALL");
    execute(&back);

    // With the tables of another study.
    Store::create(&study(&url, "other")).unwrap().append(0, &[record(0, "me")]).unwrap();
    assert_eq!(check(&url), Ok(()));
    assert!(matches!(Store::open(&study(&url, "s")), Err(Error::NoStudy { .. })));
    assert!(check(&theirs).is_err());
    execute(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    assert!(is_read_only(check(&url)), "{:?}", check(&url));
    execute(&back);

    let stranger = with_parameter(&url, "user=nobody_of_that_name&password=wrong");
    let refused = check(&stranger);
    assert!(matches!(refused, Err(Error::NoAccess { .. })), "{refused:?}");
    drop(database);
    let server = &mut client(&server());
    server.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).unwrap();
    server.batch_execute(&format!("DROP ROLE {user}")).unwrap();
}
