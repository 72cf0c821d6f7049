//! Encrypted connections, and whose certificates are believed. The server is that of all tests,
//! with encryption switched on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod places;
mod wire;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use places::{Place, Postgres, Shared, client, server, unique};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, KeyPair};
use tempfile::TempDir;
use unyoke::Journal;
use unyoke_store::{Error, Location, Store};
use wire::Wire;

/// A server that encrypts, with a certificate that it signed itself, for `localhost` only.
struct Encrypted {
    port: String,
    user: String,
    folder: TempDir,
}

const PASSWORD: &str = "correct-horse";

impl Encrypted {
    /// The server is set up once for all tests of this file.
    fn get() -> &'static Self {
        static SERVER: OnceLock<Encrypted> = OnceLock::new();
        SERVER.get_or_init(Self::set_up)
    }

    fn set_up() -> Self {
        let (key, certificate) = self_signed("localhost");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("server.pem"), certificate.pem()).unwrap();
        fs::write(folder.path().join("other.pem"), self_signed("localhost").1.pem()).unwrap();
        let mut admin = client(&server());
        // Only the server can write where it looks for them, and as whom it wants.
        for (name, content) in [("key", key.serialize_pem()), ("crt", certificate.pem())] {
            let program = format!("umask 077; cat > unyoke-test.{name}");
            let lines: Vec<String> = content.lines().map(|line| format!("('{line}')")).collect();
            admin
                .batch_execute(&format!(
                    "COPY (VALUES {}) TO PROGRAM '{program}'",
                    lines.join(", ")
                ))
                .unwrap();
        }
        let user = unique("unyoke_tls_");
        drop(Postgres::new().begin());
        for statement in [
            "ALTER SYSTEM SET ssl_cert_file = 'unyoke-test.crt'",
            "ALTER SYSTEM SET ssl_key_file = 'unyoke-test.key'",
            "ALTER SYSTEM SET ssl = on",
            "SELECT pg_reload_conf()",
            &format!("CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'"),
            &format!("GRANT USAGE ON SCHEMA unyoke TO {user}"),
            &format!("GRANT SELECT ON unyoke.layout, unyoke.journal TO {user}"),
        ] {
            admin.batch_execute(statement).unwrap();
        }
        let port: String = admin.query_one("SHOW port", &[]).unwrap().get(0);
        let encrypted = Self { port, user, folder };
        encrypted.await_encryption();
        encrypted
    }

    /// The server switches at some moment after it was told to.
    fn await_encryption(&self) {
        loop {
            let on: String = client(&server()).query_one("SHOW ssl", &[]).unwrap().get(0);
            if on == "on" {
                return;
            }
            std::thread::yield_now();
        }
    }

    fn certificate(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn location(&self, place: &Postgres, password: &str, host: &str, parameters: &str) -> Location {
        let (user, port, text) = (&self.user, &self.port, place.text());
        let study = text.rsplit_once("study=").unwrap().1;
        let text = format!(
            "postgres://{user}:{password}@{host}:{port}/postgres?study={study}{parameters}"
        );
        Location::parse(&text).unwrap()
    }

    fn open(&self, place: &Postgres, host: &str, parameters: &str) -> Result<Store, Error> {
        Store::open(&self.location(place, PASSWORD, host, parameters))
    }
}

/// As people make them: an authority and a server in one.
fn self_signed(name: &str) -> (KeyPair, Certificate) {
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = parameters.self_signed(&key).unwrap();
    (key, certificate)
}

fn refused(outcome: Result<Store, Error>) -> String {
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::NoAccess { .. }), "{error:?}");
    assert!(!error.is_passing(), "{error}");
    error.to_string()
}

fn is_encrypted(name: &str) -> bool {
    let query = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name = $1";
    client(&server()).query_one(query, &[&name]).unwrap().get(0)
}

#[test]
fn connections_are_encrypted_unless_that_is_switched_off() {
    let place = Postgres::new();
    drop(place.begin());
    let server = Encrypted::get();
    for mode in ["", "&sslmode=prefer", "&sslmode=require"] {
        let name = unique("encrypted_");
        let parameters = format!("{mode}&application_name={name}");
        let store = server.open(&place, "127.0.0.1", &parameters).unwrap();
        assert_eq!(store.read(0).unwrap().len(), 1);
        assert!(is_encrypted(&name), "{mode}");
    }
    let reason = refused(server.open(&place, "127.0.0.1", "&sslmode=disable"));
    assert!(reason.contains("no encryption"), "{reason}");
}

#[test]
fn only_the_right_certificate_for_the_right_name_is_believed() {
    let place = Postgres::new();
    drop(place.begin());
    let server = Encrypted::get();
    let right = format!("&sslrootcert={}", server.certificate("server.pem").display());
    let wrong = format!("&sslrootcert={}", server.certificate("other.pem").display());
    for (host, parameters) in [
        ("localhost", format!("&sslmode=verify-full{right}")),
        ("127.0.0.1", format!("&sslmode=verify-ca{right}")),
        ("127.0.0.1", format!("&sslmode=require{right}")),
    ] {
        server.open(&place, host, &parameters).unwrap();
    }
    for (host, parameters) in [
        ("127.0.0.1", format!("&sslmode=verify-full{right}")),
        ("localhost", format!("&sslmode=verify-full{wrong}")),
        ("127.0.0.1", format!("&sslmode=verify-ca{wrong}")),
        ("localhost", "&sslmode=verify-full".to_owned()),
        ("localhost", "&sslmode=verify-full&sslrootcert=system".to_owned()),
    ] {
        let reason = refused(server.open(&place, host, &parameters));
        assert!(reason.contains("certificate"), "{parameters}: {reason}");
    }
    refused(server.open(&place, "localhost", "&sslrootcert=/there/is/no/such.pem"));
}

#[test]
fn a_server_that_cannot_encrypt_is_refused_if_it_must() {
    let place = Postgres::new();
    drop(place.begin());
    // Behind the wire is a local socket, on which no server encrypts.
    let wire = Wire::new();
    let Location::Postgres(url) = wire.location(&place) else { panic!("another place") };
    let text = format!("{url}&sslmode=require");
    let reason = refused(Store::open(&Location::parse(&text).unwrap()));
    assert!(reason.contains("does not support TLS"), "{reason}");
    let text = format!("{url}&sslmode=prefer");
    Store::open(&Location::parse(&text).unwrap()).unwrap();
}

#[test]
fn a_wrong_password_is_trouble_that_stays_and_is_never_shown() {
    let place = Postgres::new();
    drop(place.begin());
    let location = Encrypted::get().location(&place, "hunter2", "127.0.0.1", "");
    let error = Store::open(&location).unwrap_err();
    assert!(matches!(error, Error::NoAccess { .. }) && !error.is_passing(), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
}
