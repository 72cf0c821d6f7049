//! Studies in a PostgreSQL database, by name. The only file that knows the crate `postgres`.
//!
//! Every operation is one statement and therefore all or nothing. Whoever appends second at a
//! position meets the primary key of the first. Time is that of the server.

use ::postgres::error::{DbError, Severity, SqlState};
use ::postgres::{Client, Config, NoTls};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use unyoke::Record;

use crate::backend::Backend;
use crate::clock::microseconds;
use crate::error::{Error, Result};
use crate::lease::{LateResult, Lease, LeaseState, LeaseStatus};
use crate::location::PostgresUrl;
use crate::{schema, text};

/// How long a server may take to answer, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long what was sent may stay unanswered by the network, unless the URL says otherwise.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a statement may take, unless the database is set up otherwise.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a statement may wait for others, unless the database is set up otherwise.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The lock behind which layouts change: "unyoke" as a number.
const LAYOUT_LOCK: i64 = 0x756e_796f_6b65;

type Answer<T> = std::result::Result<T, ::postgres::Error>;

/// One study in a database. Clones share one connection and take turns.
#[derive(Clone)]
pub(crate) struct Postgres(Arc<Named>);

struct Named {
    study: String,
    location: String,
    config: Config,
    client: Mutex<Option<Client>>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Postgres({})", self.0.location)
    }
}

impl Postgres {
    /// The study of that name.
    pub(crate) fn open(url: &PostgresUrl) -> Result<Self> {
        let (named, layout) = Named::connect(url)?;
        if layout == 0 || !named.has_records()? {
            return Err(Error::NoStudy { location: named.location });
        }
        named.migrate(layout)?;
        Ok(Self(Arc::new(named)))
    }

    /// A place for a study of that name, if there is none yet.
    pub(crate) fn create(url: &PostgresUrl) -> Result<Self> {
        let (named, layout) = Named::connect(url)?;
        named.migrate(layout)?;
        if named.has_records()? {
            return Err(Error::StudyExists { location: named.location });
        }
        Ok(Self(Arc::new(named)))
    }
}

impl Named {
    /// A connection and the layout that the database has.
    fn connect(url: &PostgresUrl) -> Result<(Self, i64)> {
        let config = config(url)?;
        let (study, location) = (url.study().to_owned(), url.to_string());
        let named = Self { study, location, config, client: Mutex::new(None) };
        let layout = named.with(layout)?;
        Ok((named, layout))
    }

    /// Does `work` with the connection, which is made if there is none.
    fn with<T>(&self, work: impl FnOnce(&mut Client) -> Answer<T>) -> Result<T> {
        let mut slot = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let mut client = match slot.take() {
            Some(client) if !client.is_closed() => client,
            _ => self.new_client()?,
        };
        let answer = work(&mut client);
        // A connection that failed is forgotten; the next call makes a new one.
        if answer.as_ref().err().is_none_or(is_only_refusal) {
            *slot = Some(client);
        }
        answer.map_err(|error| self.failure(&error))
    }

    /// A new connection to a database that is not newer than this version.
    fn new_client(&self) -> Result<Client> {
        let failed = |error: ::postgres::Error| self.failure(&error);
        let mut client = self.config.connect(NoTls).map_err(failed)?;
        // A database may be set up otherwise; our statements and promises rely on these two.
        client
            .batch_execute(
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;
                 SELECT set_config('synchronous_commit', 'on', false)
                 WHERE current_setting('synchronous_commit') = 'off';",
            )
            .map_err(failed)?;
        let found = layout(&mut client).map_err(failed)?;
        self.check_layout(found)?;
        Ok(client)
    }

    fn check_layout(&self, found: i64) -> Result<()> {
        if found <= schema::NEWEST {
            return Ok(());
        }
        let location = self.location.clone();
        Err(Error::NewerLayout { location, found, known: schema::NEWEST })
    }

    /// Takes the steps that `layout` lacks, behind a lock: others may be doing the same.
    fn migrate(&self, layout: i64) -> Result<()> {
        if layout == schema::NEWEST {
            return Ok(());
        }
        let found = self.with(|client| {
            let mut transaction = client.transaction()?;
            transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LAYOUT_LOCK])?;
            transaction.batch_execute(schema::POSTGRES_VERSION_TABLE)?;
            let found = version(&mut transaction)?;
            for step in schema::missing(&schema::POSTGRES, found) {
                transaction.batch_execute(step)?;
            }
            if found < schema::NEWEST {
                transaction.execute("DELETE FROM unyoke.layout", &[])?;
                let insert = "INSERT INTO unyoke.layout (version) VALUES ($1)";
                transaction.execute(insert, &[&schema::NEWEST])?;
            }
            transaction.commit()?;
            Ok(found)
        })?;
        self.check_layout(found)
    }

    /// Whether the study has begun. Its last record, which has the newest format of all, must be
    /// one that this version can read.
    fn has_records(&self) -> Result<bool> {
        let query = "SELECT position, record FROM unyoke.journal
            WHERE study = $1 ORDER BY position DESC LIMIT 1";
        let last: Option<(i64, String)> = self.with(|client| {
            let row = client.query_opt(query, &[&self.study])?;
            row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
        })?;
        let Some((position, record)) = last else { return Ok(false) };
        text::check_format(&self.location, position.cast_unsigned(), &record)?;
        Ok(true)
    }

    /// The number of records.
    fn count(&self) -> Result<u64> {
        let query = "SELECT coalesce(max(position) + 1, 0) FROM unyoke.journal WHERE study = $1";
        let count: i64 = self.with(|client| client.query_one(query, &[&self.study])?.try_get(0))?;
        Ok(count.cast_unsigned())
    }

    /// Inserts all texts from position `at` on, which must be the next one, or none of them.
    /// Returns whether it did.
    fn insert(&self, at: i64, texts: &[String]) -> Result<bool> {
        let insert = "INSERT INTO unyoke.journal (study, position, record)
            SELECT $1, $2::bigint + place - 1, record
            FROM unnest($3::text[]) WITH ORDINALITY AS new (record, place)
            WHERE $2::bigint =
                (SELECT coalesce(max(position) + 1, 0) FROM unyoke.journal WHERE study = $1)";
        let inserted = self.with(|client| {
            let inserted = client.execute(insert, &[&self.study, &at, &texts]);
            match inserted {
                Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(0),
                other => other,
            }
        })?;
        Ok(inserted > 0)
    }

    /// What the server or the network said, in terms of what a caller can do about it.
    fn failure(&self, error: &::postgres::Error) -> Error {
        let (location, reason) = (self.location.clone(), reason(error));
        let Some(refusal) = error.as_db_error() else {
            return match is_hopeless(error) {
                true => Error::NoAccess { location, reason },
                false => Error::Unreachable { location, reason },
            };
        };
        match refusal.code() {
            code if is_denial(code) => Error::NoAccess { location, reason },
            &SqlState::QUERY_CANCELED => Error::TimedOut { location, waited: STATEMENT_TIMEOUT },
            &SqlState::LOCK_NOT_AVAILABLE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::T_R_SERIALIZATION_FAILURE => {
                Error::Busy { location, waited: LOCK_TIMEOUT, holders: Vec::new() }
            }
            &SqlState::DISK_FULL => Error::Full { location },
            &SqlState::READ_ONLY_SQL_TRANSACTION => Error::ReadOnly { location, reason },
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => {
                Error::Damaged { location, reason }
            }
            _ if is_fatal(refusal) => Error::Unreachable { location, reason },
            _ => Error::Failed { location, reason },
        }
    }
}

impl Backend for Postgres {
    fn read(&self, from: u64) -> Result<Vec<Record>> {
        let Ok(first) = i64::try_from(from) else { return Ok(Vec::new()) };
        let query = "SELECT position, record FROM unyoke.journal
            WHERE study = $1 AND position >= $2 ORDER BY position";
        let rows = self.0.with(|client| {
            let rows = client.query(query, &[&self.0.study, &first])?;
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
        })?;
        text::read(&self.0.location, from, &text::gapless(&self.0.location, first, rows)?)
    }

    fn append(&self, at: u64, records: &[Record]) -> Result<()> {
        let texts = text::write(&self.0.location, records)?;
        let expected = i64::try_from(at).ok().filter(|_| !texts.is_empty());
        if let Some(expected) = expected
            && self.0.insert(expected, &texts)?
        {
            return Ok(());
        }
        let found = self.0.count()?;
        if texts.is_empty() && found == at {
            return Ok(());
        }
        Err(Error::Conflict { expected: at, found })
    }

    fn claim(&self, evaluation: u64, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        let claim = "INSERT INTO unyoke.lease AS held (study, evaluation, attempt, owner, expires)
            VALUES ($1, $2, 1, $3, clock_timestamp() + $4::bigint * interval '1 microsecond')
            ON CONFLICT (study, evaluation) DO UPDATE
            SET attempt = held.attempt + 1, owner = excluded.owner,
                expires = clock_timestamp() + $4::bigint * interval '1 microsecond'
            WHERE held.expires IS NULL OR held.expires <= clock_timestamp()
            RETURNING attempt";
        let (key, ttl) = (evaluation.cast_signed(), microseconds(ttl));
        let attempt: Option<i64> = self.0.with(|client| {
            let row = client.query_opt(claim, &[&self.0.study, &key, &owner, &ttl])?;
            row.map(|row| row.try_get(0)).transpose()
        })?;
        let lease = |attempt| Lease { evaluation, attempt, owner: owner.to_owned() };
        Ok(attempt.map(saturated).map(lease))
    }

    fn renew(&self, lease: &Lease, ttl: Duration) -> Result<bool> {
        let renew = "UPDATE unyoke.lease
            SET expires = clock_timestamp() + $5::bigint * interval '1 microsecond'
            WHERE study = $1 AND evaluation = $2 AND attempt = $3 AND owner = $4
                AND expires IS NOT NULL";
        let (key, attempt) = (lease.evaluation.cast_signed(), i64::from(lease.attempt));
        let ttl = microseconds(ttl);
        let changed = self.0.with(|client| {
            client.execute(renew, &[&self.0.study, &key, &attempt, &lease.owner, &ttl])
        })?;
        Ok(changed == 1)
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        let release = "UPDATE unyoke.lease SET expires = NULL
            WHERE study = $1 AND evaluation = $2 AND attempt = $3 AND owner = $4";
        let (key, attempt) = (lease.evaluation.cast_signed(), i64::from(lease.attempt));
        self.0.with(|client| {
            client.execute(release, &[&self.0.study, &key, &attempt, &lease.owner]).map(|_| ())
        })
    }

    fn leases(&self) -> Result<Vec<LeaseStatus>> {
        let query = "SELECT evaluation, attempt, owner,
                (extract(epoch FROM expires - clock_timestamp()) * 1000000)::bigint
            FROM unyoke.lease WHERE study = $1";
        let mut leases: Vec<LeaseStatus> = self.0.with(|client| {
            let status = |row: &::postgres::Row| {
                let evaluation = row.try_get::<_, i64>(0)?.cast_unsigned();
                let attempt = saturated(row.try_get(1)?);
                let lease = Lease { evaluation, attempt, owner: row.try_get(2)? };
                Ok(LeaseStatus { lease, state: LeaseState::at(0, row.try_get(3)?) })
            };
            client.query(query, &[&self.0.study])?.iter().map(status).collect()
        })?;
        // Here and not in the query: the database counts numbers beyond 2⁶³ as negative.
        leases.sort_by_key(|status| status.lease.evaluation);
        Ok(leases)
    }

    fn keep_late(&self, late: &LateResult) -> Result<()> {
        let insert = "INSERT INTO unyoke.late (study, evaluation, attempt, outcome)
            VALUES ($1, $2, $3, $4)";
        let (key, attempt) = (late.evaluation.cast_signed(), i64::from(late.attempt));
        self.0.with(|client| {
            client.execute(insert, &[&self.0.study, &key, &attempt, &late.outcome]).map(|_| ())
        })
    }

    fn late(&self) -> Result<Vec<LateResult>> {
        let query = "SELECT evaluation, attempt, outcome FROM unyoke.late
            WHERE study = $1 ORDER BY number";
        self.0.with(|client| {
            let late = |row: &::postgres::Row| {
                let evaluation = row.try_get::<_, i64>(0)?.cast_unsigned();
                let attempt = saturated(row.try_get(1)?);
                Ok(LateResult { evaluation, attempt, outcome: row.try_get(2)? })
            };
            client.query(query, &[&self.0.study])?.iter().map(late).collect()
        })
    }
}

/// How to connect: what the URL says, a password from `PGPASSWORD`, and timeouts.
fn config(url: &PostgresUrl) -> Result<Config> {
    let mut config: Config = url.url().parse().map_err(|error| Error::BadLocation {
        location: url.to_string(),
        reason: reason(&error),
    })?;
    if config.get_password().is_none()
        && let Ok(password) = std::env::var("PGPASSWORD")
    {
        config.password(password);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(NETWORK_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("unyoke");
    }
    Ok(config)
}

/// The version of the layout, 0 if there is none. Nothing is written.
fn layout(client: &mut Client) -> Answer<i64> {
    let query = "SELECT to_regclass('unyoke.layout') IS NOT NULL";
    if client.query_one(query, &[])?.try_get(0)? { version(client) } else { Ok(0) }
}

/// The version in a database that has a place for it.
fn version(client: &mut impl ::postgres::GenericClient) -> Answer<i64> {
    let row = client.query_opt("SELECT max(version) FROM unyoke.layout", &[])?;
    let version: Option<i64> = row.map(|row| row.try_get(0)).transpose()?.flatten();
    Ok(version.unwrap_or(0))
}

/// Whether the server refused one statement and would take the next on the same connection.
fn is_only_refusal(error: &::postgres::Error) -> bool {
    error.as_db_error().is_some_and(|refusal| !is_fatal(refusal))
}

fn is_fatal(refusal: &DbError) -> bool {
    !matches!(refusal.parsed_severity(), Some(Severity::Error))
}

/// Whether the server refused who asks, or what they ask for, and will do so again.
fn is_denial(code: &SqlState) -> bool {
    let authorization = code.code().starts_with("28");
    authorization
        || matches!(code, &SqlState::INVALID_CATALOG_NAME | &SqlState::INSUFFICIENT_PRIVILEGE)
}

/// Whether an error that the server did not send will come again. The crate tells kinds of errors
/// apart only by their words.
fn is_hopeless(error: &::postgres::Error) -> bool {
    let said = error.to_string();
    ["authentication error", "invalid configuration"].iter().any(|kind| said.starts_with(kind))
}

/// An attempt as it is kept, in the type in which it is told.
fn saturated(attempt: i64) -> u32 {
    u32::try_from(attempt).unwrap_or(u32::MAX)
}

/// The whole of what was said. The crate itself only says that it was an error.
fn reason(error: &::postgres::Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        let detail = refusal.detail().map(|detail| format!(" ({detail})"));
        return format!("{}{}", refusal.message(), detail.unwrap_or_default());
    }
    let mut reason = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !reason.contains(&cause_text) {
            reason = format!("{reason}: {cause_text}");
        }
        source = cause.source();
    }
    reason
}
