//! Studies in a PostgreSQL database, by name. Only this file and those below it know the crate
//! `tokio_postgres`.
//!
//! Every operation is one statement and therefore all or nothing, and no transaction waits for a
//! client. Whoever appends second at a position meets the primary key of the first. Time is that of
//! the server.
//!
//! A statement whose answer was lost is repeated. What adds something carries a token, by which the
//! second time recognises that the first was carried out.

mod tls;
mod link;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};
use unyoke::Record;

use crate::backend::{Backend, Claim, Effects};
use crate::clock::microseconds;
use crate::error::{Error, Result};
use crate::lease::{LateResult, Lease, LeaseState, LeaseStatus};
use crate::location::PostgresUrl;
use crate::text::Line;
use crate::{schema, text};

use link::{Answer, Durability, Link};

/// The lock behind which layouts change: "unyoke" as a number.
const LAYOUT_LOCK: i64 = 0x756e_796f_6b65;

/// One study in a database. Clones share connections and take turns.
#[derive(Clone)]
pub(crate) struct Postgres(Arc<Named>);

struct Named {
    study: String,
    link: Link,
    /// For what keeps leases alive: it never waits for a long read or append of the other one, and
    /// what it writes need not outlast the server.
    lease_link: Link,
    /// The last append, if it is not known whether it was carried out.
    undecided: Mutex<Option<Undecided>>,
    /// The token of the last claim, if it is not known whether that was carried out.
    claiming: Mutex<Option<String>>,
}

/// Lines that may have been appended.
struct Undecided {
    lines: Vec<Line>,
    token: String,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Postgres({})", self.0.location())
    }
}

impl Postgres {
    /// The study of that name.
    pub(crate) fn open(url: &PostgresUrl) -> Result<Self> {
        let (named, layout) = Named::connect(url)?;
        // Before the study is known to be there, nothing is written.
        if layout == 0 || !named.has_records(layout)? {
            return Err(Error::NoStudy { location: named.location().to_owned() });
        }
        named.migrate(layout)?;
        Ok(Self(Arc::new(named)))
    }

    /// A place for a study of that name, if there is none yet.
    pub(crate) fn create(url: &PostgresUrl) -> Result<Self> {
        let (named, layout) = Named::connect(url)?;
        named.migrate(layout)?;
        if named.has_records(schema::NEWEST)? {
            return Err(Error::StudyExists { location: named.location().to_owned() });
        }
        Ok(Self(Arc::new(named)))
    }

    /// The names of all studies in the database, in order.
    pub(crate) fn studies(url: &PostgresUrl) -> Result<Vec<String>> {
        let (named, layout) = Named::connect(url)?;
        if layout == 0 {
            return Ok(vec![]);
        }
        let all = "SELECT study FROM unyoke.journal WHERE position = 0 ORDER BY study";
        named.link.run(async |client| {
            let rows = client.query(all, &[]).await?;
            rows.iter().map(|row| row.try_get(0)).collect()
        })
    }

    /// Fails if no study of that name could be created. What is tried is rolled back.
    pub(crate) fn check_creatable(url: &PostgresUrl) -> Result<()> {
        let (named, layout) = Named::connect(url)?;
        if layout == schema::NEWEST {
            return named.link.run(async |client| {
                let transaction = client.transaction().await?;
                let insert = "INSERT INTO unyoke.journal (study, position, record)
                    VALUES ($1, 0, '') ON CONFLICT DO NOTHING";
                transaction.execute(insert, &[&named.study]).await?;
                transaction.rollback().await
            });
        }
        // Tables are to be made first. To make them and roll back would hold up others.
        let may_create = "SELECT has_database_privilege(current_database(), 'CREATE')
            AND NOT current_setting('transaction_read_only')::boolean";
        let may_create: bool =
            named.link.run(async |client| client.query_one(may_create, &[]).await?.try_get(0))?;
        if may_create {
            return Ok(());
        }
        let reason = "there is no right to create tables".to_owned();
        Err(Error::ReadOnly { location: named.location().to_owned(), reason })
    }
}

impl Named {
    /// A connection and the layout that the database has.
    fn connect(url: &PostgresUrl) -> Result<(Self, i64)> {
        let named = Self {
            study: url.study().to_owned(),
            link: Link::new(url, Durability::Full)?,
            lease_link: Link::new(url, Durability::Relaxed)?,
            undecided: Mutex::new(None),
            claiming: Mutex::new(None),
        };
        let layout = named.link.run(async |client| link::layout(client).await)?;
        Ok((named, layout))
    }

    fn location(&self) -> &str {
        self.link.location()
    }

    /// Takes the steps that `layout` lacks, behind a lock: others may be doing the same.
    fn migrate(&self, layout: i64) -> Result<()> {
        if layout == schema::NEWEST {
            return Ok(());
        }
        let found = self.link.run(take_missing_steps)?;
        if found <= schema::NEWEST {
            return Ok(());
        }
        let location = self.location().to_owned();
        Err(Error::NewerLayout { location, found, known: schema::NEWEST })
    }

    /// Whether the study has begun. Its last record, which has the newest format of all, must be
    /// one that this version can read.
    fn has_records(&self, layout: i64) -> Result<bool> {
        let checksum = if layout < schema::CHECKSUMS { "NULL::bigint" } else { "checksum" };
        let query = format!(
            "SELECT position, record, {checksum} FROM unyoke.journal
             WHERE study = $1 ORDER BY position DESC LIMIT 1"
        );
        let last = self.link.run(async |client| {
            client.query_opt(&query, &[&self.study]).await?.as_ref().map(line).transpose()
        })?;
        last.map_or(Ok(false), |line| line.check(self.location()).map(|()| true))
    }

    /// The number of records, and whether the one at `at` was written with this token.
    fn look(&self, at: i64, token: &str) -> Result<(u64, bool)> {
        let query = "SELECT
            (SELECT coalesce(max(position) + 1, 0) FROM unyoke.journal WHERE study = $1),
            EXISTS (SELECT FROM unyoke.journal WHERE study = $1 AND position = $2 AND token = $3)";
        let (count, ours): (i64, bool) = self.link.run(async |client| {
            let row = client.query_one(query, &[&self.study, &at, &token]).await?;
            Ok((row.try_get(0)?, row.try_get(1)?))
        })?;
        Ok((count.cast_unsigned(), ours))
    }

    /// Inserts all lines, the first of which must be the next one, or none of them, and does to
    /// leases what follows. Returns whether it did.
    fn insert(&self, at: i64, lines: &[Line], token: &str, effects: &Effects) -> Result<bool> {
        let insert = "WITH added AS (
                INSERT INTO unyoke.journal (study, position, record, checksum, token)
                SELECT $1, $2::bigint + place - 1, record, checksum, $5
                FROM unnest($3::text[], $4::bigint[])
                    WITH ORDINALITY AS new (record, checksum, place)
                WHERE $2::bigint =
                    (SELECT coalesce(max(position) + 1, 0) FROM unyoke.journal WHERE study = $1)
                RETURNING position
            ), released AS (
                UPDATE unyoke.lease SET expires = NULL
                WHERE study = $1 AND owner = $6 AND evaluation = ANY ($7::bigint[])
                    AND expires IS NOT NULL AND EXISTS (SELECT FROM added)
            ), claimed AS (
                INSERT INTO unyoke.lease AS held
                    (study, evaluation, attempt, owner, expires, token)
                SELECT $1, evaluation, 1, $6,
                    clock_timestamp() + $9::bigint * interval '1 microsecond', $5
                FROM unnest($8::bigint[]) AS asked (evaluation) WHERE EXISTS (SELECT FROM added)
                ON CONFLICT (study, evaluation) DO UPDATE
                SET attempt = held.attempt + 1, owner = excluded.owner,
                    expires = excluded.expires, token = excluded.token
                WHERE held.expires IS NULL OR held.expires <= clock_timestamp()
            )
            SELECT count(*) FROM added";
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        let checksums: Vec<Option<i64>> = lines.iter().map(|line| line.checksum).collect();
        let keys = |evaluations: &[u64]| evaluations.iter().map(|e| e.cast_signed()).collect();
        let (settled, asked): (Vec<i64>, Vec<i64>) = (keys(&effects.settled), keys(&effects.asked));
        let ttl = microseconds(effects.ttl);
        let inserted: i64 = self.link.run(async |client| {
            let values: [&(dyn ToSql + Sync); 9] = [
                &self.study,
                &at,
                &texts,
                &checksums,
                &token,
                &effects.owner,
                &settled,
                &asked,
                &ttl,
            ];
            match client.query_one(insert, &values).await {
                Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(0),
                other => other?.try_get(0),
            }
        })?;
        Ok(inserted > 0)
    }

    /// The leases that came with an append.
    fn leases_with(&self, effects: &Effects, token: &str) -> Result<Vec<Lease>> {
        if effects.asked.is_empty() {
            return Ok(Vec::new());
        }
        let query = "SELECT evaluation, attempt, owner FROM unyoke.lease
            WHERE study = $1 AND owner = $2 AND token = $3 AND evaluation = ANY ($4)";
        let asked: Vec<i64> = effects.asked.iter().map(|e| e.cast_signed()).collect();
        self.link.run(async |client| {
            let values: [&(dyn ToSql + Sync); 4] = [&self.study, &effects.owner, &token, &asked];
            client.query(query, &values).await?.iter().map(lease).collect()
        })
    }

    /// Inserts the lines unless they are there already, with this token.
    fn insert_once(
        &self,
        at: i64,
        lines: &[Line],
        token: &str,
        effects: &Effects,
    ) -> Result<Vec<Lease>> {
        if self.insert(at, lines, token, effects)? {
            return self.leases_with(effects, token);
        }
        // Not necessarily somebody else: an earlier attempt of ours whose answer was lost may have
        // been carried out, even after we had looked for it.
        let (found, ours) = self.look(at, token)?;
        let expected = at.cast_unsigned();
        if ours {
            self.leases_with(effects, token)
        } else {
            Err(Error::Conflict { expected, found })
        }
    }

    /// Claims with a token; `None` instead of an attempt says that somebody was faster.
    fn try_claims(&self, claim: &Claim<'_>, token: &str) -> Result<Vec<(u64, Option<i64>)>> {
        let statement = "WITH free AS (
                SELECT wanted.evaluation, wanted.place
                FROM unnest($2::bigint[]) WITH ORDINALITY AS wanted (evaluation, place)
                LEFT JOIN unyoke.lease AS held
                    ON held.study = $1 AND held.evaluation = wanted.evaluation
                WHERE held.expires IS NULL OR held.expires <= clock_timestamp() OR held.token = $6
                ORDER BY wanted.place LIMIT $3
            ), claimed AS (
                INSERT INTO unyoke.lease AS held
                    (study, evaluation, attempt, owner, expires, token)
                SELECT $1, evaluation, 1, $4,
                    clock_timestamp() + $5::bigint * interval '1 microsecond', $6
                FROM free ORDER BY place
                ON CONFLICT (study, evaluation) DO UPDATE
                SET attempt = held.attempt + CASE WHEN held.token = excluded.token THEN 0 ELSE 1 END,
                    owner = excluded.owner, expires = excluded.expires, token = excluded.token
                WHERE held.expires IS NULL OR held.expires <= clock_timestamp()
                    OR held.token = excluded.token
                RETURNING evaluation, attempt
            )
            SELECT evaluation, attempt FROM free LEFT JOIN claimed USING (evaluation) ORDER BY place";
        let keys: Vec<i64> = claim.evaluations.iter().map(|e| e.cast_signed()).collect();
        let most = i64::try_from(claim.most).unwrap_or(i64::MAX);
        let ttl = microseconds(claim.ttl);
        self.link.run(async |client| {
            let values: [&(dyn ToSql + Sync); 6] =
                [&self.study, &keys, &most, &claim.owner, &ttl, &token];
            let rows = client.query(statement, &values).await?;
            let outcome =
                |row: &Row| Ok((row.try_get::<_, i64>(0)?.cast_unsigned(), row.try_get(1)?));
            rows.iter().map(outcome).collect()
        })
    }

    /// Claims what is free, again if all that looked free was taken by others meanwhile.
    fn claim_with(&self, claim: &Claim<'_>, token: &str) -> Result<Vec<Lease>> {
        loop {
            let tried = self.try_claims(claim, token)?;
            let lease = |(evaluation, attempt): &(u64, Option<i64>)| {
                let (evaluation, attempt) = (*evaluation, saturated((*attempt)?));
                Some(Lease { evaluation, attempt, owner: claim.owner.to_owned() })
            };
            let leases: Vec<Lease> = tried.iter().filter_map(lease).collect();
            if tried.is_empty() || !leases.is_empty() {
                return Ok(leases);
            }
        }
    }
}

impl Backend for Postgres {
    fn read_at_most(&self, from: u64, most: usize) -> Result<Vec<Record>> {
        let Ok(first) = i64::try_from(from) else { return Ok(Vec::new()) };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let query = "SELECT position, record, checksum FROM unyoke.journal
            WHERE study = $1 AND position >= $2 ORDER BY position LIMIT $3";
        let lines: Vec<Line> = self.0.link.run(async |client| {
            client.query(query, &[&self.0.study, &first, &most]).await?.iter().map(line).collect()
        })?;
        text::read(self.0.location(), first, &lines)
    }

    fn append_with(&self, at: u64, records: &[Record], effects: &Effects) -> Result<Vec<Lease>> {
        let next = i64::try_from(at).ok().filter(|_| !records.is_empty());
        let Some(next) = next else {
            let (found, _) = self.0.look(0, "")?;
            let fits = records.is_empty() && found == at;
            return if fits { Ok(vec![]) } else { Err(Error::Conflict { expected: at, found }) };
        };
        let lines = text::write(self.0.location(), next, records)?;
        let mut undecided = lock(&self.0.undecided);
        // Whoever repeats an append that may have been carried out is recognised by the token.
        let token = match undecided.take() {
            Some(earlier) if earlier.lines == lines => earlier.token,
            _ => new_token(self.0.location())?,
        };
        let outcome = self.0.insert_once(next, &lines, &token, effects);
        if outcome.as_ref().is_err_and(is_undecided) {
            *undecided = Some(Undecided { lines, token });
        }
        outcome
    }

    fn claim(&self, claim: &Claim<'_>) -> Result<Vec<Lease>> {
        let mut claiming = lock(&self.0.claiming);
        let token = claiming.take().map_or_else(|| new_token(self.0.location()), Ok)?;
        let outcome = self.0.claim_with(claim, &token);
        if outcome.as_ref().is_err_and(is_undecided) {
            *claiming = Some(token);
        }
        outcome
    }

    fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>> {
        let renew = "UPDATE unyoke.lease AS held
            SET expires = clock_timestamp() + $5::bigint * interval '1 microsecond'
            FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS kept (evaluation, attempt, owner)
            WHERE held.study = $1 AND held.evaluation = kept.evaluation
                AND held.attempt = kept.attempt AND held.owner = kept.owner
                AND held.expires IS NOT NULL
            RETURNING held.evaluation, held.attempt, held.owner";
        let keys: Vec<i64> = leases.iter().map(|lease| lease.evaluation.cast_signed()).collect();
        let attempts: Vec<i64> = leases.iter().map(|lease| i64::from(lease.attempt)).collect();
        let owners: Vec<&str> = leases.iter().map(|lease| lease.owner.as_str()).collect();
        let ttl = microseconds(ttl);
        let renewed: HashSet<Lease> = self.0.lease_link.run(async |client| {
            let values: [&(dyn ToSql + Sync); 5] = [&self.0.study, &keys, &attempts, &owners, &ttl];
            client.query(renew, &values).await?.iter().map(lease).collect()
        })?;
        Ok(leases.iter().filter(|lease| !renewed.contains(lease)).cloned().collect())
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        let release = "UPDATE unyoke.lease SET expires = NULL
            WHERE study = $1 AND evaluation = $2 AND attempt = $3 AND owner = $4";
        let (key, attempt) = (lease.evaluation.cast_signed(), i64::from(lease.attempt));
        self.0.lease_link.run(async |client| {
            let values: [&(dyn ToSql + Sync); 4] = [&self.0.study, &key, &attempt, &lease.owner];
            client.execute(release, &values).await.map(|_| ())
        })
    }

    fn take_over(&self, lease: &Lease, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        let take_over = "UPDATE unyoke.lease
            SET attempt = attempt + CASE WHEN token = $7 THEN 0 ELSE 1 END, owner = $5, token = $7,
                expires = clock_timestamp() + $6::bigint * interval '1 microsecond'
            WHERE study = $1 AND evaluation = $2 AND expires IS NOT NULL
                AND ((attempt = $3 AND owner = $4) OR token = $7)
            RETURNING attempt";
        let (key, attempt) = (lease.evaluation.cast_signed(), i64::from(lease.attempt));
        let (ttl, token) = (microseconds(ttl), new_token(self.0.location())?);
        let attempt: Option<i64> = self.0.link.run(async |client| {
            let values: [&(dyn ToSql + Sync); 7] =
                [&self.0.study, &key, &attempt, &lease.owner, &owner, &ttl, &token];
            let row = client.query_opt(take_over, &values).await?;
            row.map(|row| row.try_get(0)).transpose()
        })?;
        let (evaluation, owner) = (lease.evaluation, owner.to_owned());
        Ok(attempt.map(|attempt| Lease { evaluation, attempt: saturated(attempt), owner }))
    }

    fn release_owner(&self, owner: &str) -> Result<()> {
        let release = "UPDATE unyoke.lease SET expires = NULL
            WHERE study = $1 AND owner = $2 AND expires IS NOT NULL";
        self.0
            .link
            .run(async |client| client.execute(release, &[&self.0.study, &owner]).await.map(|_| ()))
    }

    fn leases(&self) -> Result<Vec<LeaseStatus>> {
        let query = "SELECT evaluation, attempt, owner,
                (extract(epoch FROM expires - clock_timestamp()) * 1000000)::bigint
            FROM unyoke.lease WHERE study = $1";
        let status = |row: &Row| {
            Ok(LeaseStatus { lease: lease(row)?, state: LeaseState::at(0, row.try_get(3)?) })
        };
        let mut leases: Vec<LeaseStatus> = self.0.link.run(async |client| {
            client.query(query, &[&self.0.study]).await?.iter().map(status).collect()
        })?;
        // Here and not in the query: the database counts numbers beyond 2⁶³ as negative.
        leases.sort_by_key(|status| status.lease.evaluation);
        Ok(leases)
    }

    fn keep_late(&self, late: &LateResult) -> Result<()> {
        let insert = "INSERT INTO unyoke.late (study, evaluation, attempt, outcome, token)
            VALUES ($1, $2, $3, $4, $5) ON CONFLICT (token) DO NOTHING";
        let (key, attempt) = (late.evaluation.cast_signed(), i64::from(late.attempt));
        let token = new_token(self.0.location())?;
        self.0.link.run(async |client| {
            let values: [&(dyn ToSql + Sync); 5] =
                [&self.0.study, &key, &attempt, &late.outcome, &token];
            client.execute(insert, &values).await.map(|_| ())
        })
    }

    fn late(&self) -> Result<Vec<LateResult>> {
        let query = "SELECT evaluation, attempt, outcome FROM unyoke.late
            WHERE study = $1 ORDER BY number";
        let late = |row: &Row| {
            let evaluation = row.try_get::<_, i64>(0)?.cast_unsigned();
            let attempt = saturated(row.try_get(1)?);
            Ok(LateResult { evaluation, attempt, outcome: row.try_get(2)? })
        };
        self.0.link.run(async |client| {
            client.query(query, &[&self.0.study]).await?.iter().map(late).collect()
        })
    }
}

/// Takes the steps that are missing, and returns the version that was found.
async fn take_missing_steps(client: &mut Client) -> Answer<i64> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LAYOUT_LOCK]).await?;
    transaction.batch_execute(schema::POSTGRES_VERSION_TABLE).await?;
    let found = link::version(&transaction).await?;
    for step in schema::missing(&schema::POSTGRES, found) {
        transaction.batch_execute(step).await?;
    }
    if found < schema::NEWEST {
        transaction.execute("DELETE FROM unyoke.layout", &[]).await?;
        let insert = "INSERT INTO unyoke.layout (version) VALUES ($1)";
        transaction.execute(insert, &[&schema::NEWEST]).await?;
    }
    transaction.commit().await?;
    Ok(found)
}

fn line(row: &Row) -> Answer<Line> {
    Ok(Line { position: row.try_get(0)?, text: row.try_get(1)?, checksum: row.try_get(2)? })
}

fn lease(row: &Row) -> Answer<Lease> {
    let evaluation = row.try_get::<_, i64>(0)?.cast_unsigned();
    Ok(Lease { evaluation, attempt: saturated(row.try_get(1)?), owner: row.try_get(2)? })
}

/// An attempt as it is kept, in the type in which it is told.
fn saturated(attempt: i64) -> u32 {
    u32::try_from(attempt).unwrap_or(u32::MAX)
}

/// Whether an error leaves open if something was written.
fn is_undecided(error: &Error) -> bool {
    matches!(error, Error::Unreachable { .. } | Error::TimedOut { .. })
}

/// What nobody else has, by which we recognise what we wrote.
fn new_token(location: &str) -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Failed {
        location: location.to_owned(),
        reason: format!("the system gives no random numbers: {error}"),
    })?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

/// What a lock protects. A thread that panicked while it held it left it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
