//! A connection to a PostgreSQL server, which is made again when it is lost.
//!
//! Everything has a limit of time, on the server where it can keep it and here where it cannot: a
//! server that stands still does not hold up its clients indefinitely.

use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::error::{DbError, Severity, SqlState};
use tokio_postgres::{Client, Config, GenericClient};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Error, Result};
use crate::location::PostgresUrl;
use crate::schema;

use super::tls::Tls;

/// How long a server may take to answer a new connection, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long what was sent may stay unanswered by the network, unless the URL says otherwise.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(30);

/// After how long without traffic the network is asked whether the server is still there, how long
/// that may take, and how often it is asked again.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(30), Duration::from_secs(10), 3);

/// How much longer than its own limit a server is given to say that a statement took too long.
const GRACE: Duration = Duration::from_secs(15);

/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_millis(200);

/// How often a statement is repeated that got in the way of another one.
const COLLISIONS: usize = 10;

/// What our statements and promises rely on, whatever the database is set up for: levels of
/// isolation and durability, and limits of time where there are none. Limits that somebody set are
/// kept.
const SESSION: &str = "
    SELECT set_config('default_transaction_isolation', 'read committed', false);
    SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') = 'off';
    SELECT set_config(name, value, false)
        FROM (VALUES ('statement_timeout', '60s'), ('lock_timeout', '30s'),
            ('idle_in_transaction_session_timeout', '30s')) AS wanted (name, value)
        WHERE current_setting(name) = '0';";

/// For what may be lost with the server, as long as all of it is lost or nothing.
const RELAXED: &str = "SELECT set_config('synchronous_commit', 'off', false)";

pub(super) type Answer<T> = std::result::Result<T, tokio_postgres::Error>;

/// Whether a commit is on disk when it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// It is.
    Full,
    /// It is soon after. A server that crashes before forgets it.
    Relaxed,
}

/// One connection. Users take turns.
pub(super) struct Link {
    location: String,
    config: Config,
    tls: MakeRustlsConnect,
    durability: Durability,
    session: Mutex<Option<Session>>,
}

/// A connection that was made.
struct Session {
    runtime: Runtime,
    /// `None` once it says goodbye.
    client: Option<Client>,
    /// Moves what is sent and received.
    traffic: JoinHandle<()>,
    /// How long a statement may take.
    limit: Duration,
}

/// Why something was not done.
enum Trouble {
    /// The connection broke, perhaps long ago.
    Lost(Error),
    /// The statement got in the way of another one and was taken back.
    Collision(Error),
    /// Anything else.
    Other(Error),
}

impl Trouble {
    fn into_error(self) -> Error {
        match self {
            Self::Lost(error) | Self::Collision(error) | Self::Other(error) => error,
        }
    }
}

impl Link {
    /// A connection that is made when it is first needed.
    pub(super) fn new(url: &PostgresUrl, durability: Durability) -> Result<Self> {
        let (plain, tls) = Tls::take(url.url());
        let (config, location) = (config(url, &plain)?, url.to_string());
        let no_access = |reason| Error::NoAccess { location: location.clone(), reason };
        let tls = tls.connector().map_err(no_access)?;
        Ok(Self { location, config, tls, durability, session: Mutex::new(None) })
    }

    /// The place of the study, for messages.
    pub(super) fn location(&self) -> &str {
        &self.location
    }

    /// Does `work` with the connection, which is made if there is none.
    ///
    /// If the connection turns out to be lost, `work` is done again on a new one. It must therefore
    /// be something that can be done twice.
    pub(super) fn run<T>(&self, work: impl AsyncFn(&mut Client) -> Answer<T>) -> Result<T> {
        let mut slot = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reconnected = slot.is_none();
        let mut collisions = 0;
        loop {
            match self.attempt(&mut slot, &work) {
                Ok(done) => return Ok(done),
                Err(Trouble::Lost(_)) if !reconnected => reconnected = true,
                Err(Trouble::Collision(_)) if collisions < COLLISIONS => collisions += 1,
                Err(trouble) => return Err(trouble.into_error()),
            }
        }
    }

    /// Does `work` once. A connection that failed is forgotten.
    fn attempt<T>(
        &self,
        slot: &mut Option<Session>,
        work: &impl AsyncFn(&mut Client) -> Answer<T>,
    ) -> std::result::Result<T, Trouble> {
        let kept = slot.take().filter(Session::is_open);
        let mut session = match kept {
            Some(session) => session,
            None => self.connect().map_err(Trouble::Other)?,
        };
        let start = Instant::now();
        let Some(answer) = session.within(session.limit, work) else {
            return Err(Trouble::Other(self.timed_out(start.elapsed())));
        };
        let waited = start.elapsed();
        let error = match answer {
            Ok(done) => {
                *slot = Some(session);
                return Ok(done);
            }
            Err(error) => error,
        };
        if !is_only_refusal(&error) {
            return Err(Trouble::Lost(self.failure(&error)));
        }
        let failure = match self.failure(&error) {
            Error::Busy { location, .. } => {
                Error::Busy { location, waited, holders: session.holders() }
            }
            Error::TimedOut { location, .. } => Error::TimedOut { location, waited },
            other => other,
        };
        *slot = Some(session);
        Err(if is_collision(&error) {
            Trouble::Collision(failure)
        } else {
            Trouble::Other(failure)
        })
    }

    /// A new connection to a database that is not newer than this version.
    fn connect(&self) -> Result<Session> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Failed {
            location: self.location.clone(),
            reason: format!("no connection can be made: {error}"),
        })?;
        // Name lookup, several addresses and the greeting take their time, too.
        let waited = self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT) * 3;
        let greeted = runtime.block_on(async { timeout(waited, self.greet()).await });
        let Greeted { client, traffic, limit, layout } =
            greeted.map_err(|_| self.timed_out(waited))?.map_err(|error| self.failure(&error))?;
        if layout > schema::NEWEST {
            let location = self.location.clone();
            return Err(Error::NewerLayout { location, found: layout, known: schema::NEWEST });
        }
        Ok(Session { runtime, client: Some(client), traffic, limit })
    }

    /// Connects, sets up the session and looks what there is, without writing anything.
    async fn greet(&self) -> Answer<Greeted> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        // What ends it is told to whoever waits for an answer.
        let traffic = tokio::spawn(async { connection.await.unwrap_or_default() });
        client.batch_execute(SESSION).await?;
        if self.durability == Durability::Relaxed {
            client.batch_execute(RELAXED).await?;
        }
        let limit = "SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'";
        let limit: i64 = client.query_one(limit, &[]).await?.try_get(0)?;
        let limit = Duration::from_millis(limit.cast_unsigned()).saturating_add(GRACE);
        let layout = layout(&client).await?;
        Ok(Greeted { client, traffic, limit, layout })
    }

    fn timed_out(&self, waited: Duration) -> Error {
        Error::TimedOut { location: self.location.clone(), waited }
    }

    /// What the server or the network said, in terms of what a caller can do about it.
    fn failure(&self, error: &tokio_postgres::Error) -> Error {
        let (location, reason) = (self.location.clone(), reason(error));
        let Some(refusal) = error.as_db_error() else {
            return match is_hopeless(error) {
                true => Error::NoAccess { location, reason },
                false => Error::Unreachable { location, reason },
            };
        };
        match refusal.code() {
            code if is_denial(code) => Error::NoAccess { location, reason },
            &SqlState::DISK_FULL => Error::Full { location },
            &SqlState::READ_ONLY_SQL_TRANSACTION => Error::ReadOnly { location, reason },
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => {
                Error::Damaged { location, reason }
            }
            &SqlState::QUERY_CANCELED => Error::TimedOut { location, waited: Duration::ZERO },
            &SqlState::LOCK_NOT_AVAILABLE => busy(location),
            _ if is_collision(error) => busy(location),
            code if is_fatal(refusal) || is_passing(code) => {
                Error::Unreachable { location, reason }
            }
            _ => Error::Failed { location, reason },
        }
    }
}

/// Somebody else has locked something. For how long, and who, is found out by whoever waited.
fn busy(location: String) -> Error {
    Error::Busy { location, waited: Duration::ZERO, holders: Vec::new() }
}

/// A connection before it is known to be fit for use.
struct Greeted {
    client: Client,
    traffic: JoinHandle<()>,
    limit: Duration,
    layout: i64,
}

impl Session {
    fn is_open(&self) -> bool {
        self.client.as_ref().is_some_and(|client| !client.is_closed())
    }

    /// The answer to `work`, unless it takes too long.
    fn within<T>(
        &mut self,
        limit: Duration,
        work: &impl AsyncFn(&mut Client) -> Answer<T>,
    ) -> Option<Answer<T>> {
        let client = self.client.as_mut()?;
        self.runtime.block_on(async { timeout(limit, work(client)).await }).ok()
    }

    /// Who locks our tables now, as far as may be known.
    fn holders(&mut self) -> Vec<String> {
        let query = "SELECT DISTINCT session.pid, session.application_name, session.state
            FROM pg_locks AS held JOIN pg_stat_activity AS session USING (pid)
            WHERE held.granted AND held.mode <> 'AccessShareLock' AND held.pid <> pg_backend_pid()
                AND held.relation IN (SELECT oid FROM pg_class
                    WHERE relnamespace = to_regnamespace('unyoke'))
            ORDER BY pid LIMIT 8";
        let ask = async |client: &mut Client| -> Answer<Vec<String>> {
            client.query(query, &[]).await?.iter().map(holder).collect()
        };
        self.within(GRACE, &ask).and_then(Answer::ok).unwrap_or_default()
    }
}

/// A row of those who hold locks, in words.
fn holder(row: &tokio_postgres::Row) -> Answer<String> {
    let (pid, name): (i32, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
    let state: Option<String> = row.try_get(2)?;
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "unnamed".to_owned());
    let state = state.map(|state| format!(", {state}")).unwrap_or_default();
    Ok(format!("server process {pid} ({name}{state})"))
}

impl Drop for Session {
    fn drop(&mut self) {
        // The goodbye is sent by the traffic when it sees that the client is gone. Where tasks
        // run there is no waiting for it: the server then notices that the connection is closed.
        drop(self.client.take());
        if Handle::try_current().is_err() {
            let traffic = &mut self.traffic;
            let _ = self.runtime.block_on(async { timeout(GOODBYE, traffic).await });
        }
    }
}

/// How to connect: what the URL says, here in words of the client, a password from `PGPASSWORD`, and
/// limits of time.
fn config(url: &PostgresUrl, plain: &str) -> Result<Config> {
    let mut config: Config = plain.parse().map_err(|error| Error::BadLocation {
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
    if !plain.contains("keepalives") {
        let (idle, interval, retries) = KEEPALIVE;
        config.keepalives_idle(idle).keepalives_interval(interval).keepalives_retries(retries);
    }
    if config.get_application_name().is_none() {
        config.application_name(application_name());
    }
    Ok(config)
}

/// Which process on which machine a connection is of: others read it when they wait for us.
fn application_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    // The server keeps 63 bytes.
    let host: String = host.trim().chars().filter(char::is_ascii_graphic).take(40).collect();
    format!("unyoke {} on {host}", std::process::id())
}

/// The version of the layout, 0 if there is none. Nothing is written.
pub(super) async fn layout(client: &Client) -> Answer<i64> {
    let query = "SELECT to_regclass('unyoke.layout') IS NOT NULL";
    match client.query_one(query, &[]).await?.try_get(0)? {
        true => version(client).await,
        false => Ok(0),
    }
}

/// The version in a database that has a place for it.
pub(super) async fn version(client: &impl GenericClient) -> Answer<i64> {
    let row = client.query_opt("SELECT max(version) FROM unyoke.layout", &[]).await?;
    let version: Option<i64> = row.map(|row| row.try_get(0)).transpose()?.flatten();
    Ok(version.unwrap_or(0))
}

/// Whether the server refused one statement and would take the next on the same connection.
fn is_only_refusal(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|refusal| !is_fatal(refusal))
}

fn is_fatal(refusal: &DbError) -> bool {
    !matches!(refusal.parsed_severity(), Some(Severity::Error))
}

fn is_collision(error: &tokio_postgres::Error) -> bool {
    let code = error.code();
    code == Some(&SqlState::T_R_DEADLOCK_DETECTED)
        || code == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
}

/// Whether the server refused who asks, or what they ask for, and will do so again.
fn is_denial(code: &SqlState) -> bool {
    const AUTHORIZATION: &str = "28";
    code.code().starts_with(AUTHORIZATION)
        || *code == SqlState::INVALID_CATALOG_NAME
        || *code == SqlState::INSUFFICIENT_PRIVILEGE
}

/// Whether the server is in trouble that has nothing to do with what was asked.
fn is_passing(code: &SqlState) -> bool {
    const CONNECTION: &str = "08";
    const RESOURCES: &str = "53";
    const OPERATOR: &str = "57";
    [CONNECTION, RESOURCES, OPERATOR].iter().any(|class| code.code().starts_with(class))
}

/// Whether an error that the server did not send will come again. The crate tells kinds of errors
/// apart only by their words.
fn is_hopeless(error: &tokio_postgres::Error) -> bool {
    let said = error.to_string();
    let kinds = ["authentication error", "invalid configuration"];
    let denied = kinds.iter().any(|kind| said.starts_with(kind));
    denied || (said.starts_with("error performing TLS handshake") && !is_network(error))
}

/// Whether the network is at fault and not what came through it.
fn is_network(error: &tokio_postgres::Error) -> bool {
    let source = std::error::Error::source(error);
    let cause = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| {
        !matches!(cause.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput)
    })
}

/// The whole of what was said. The crate itself only says that it was an error.
pub(super) fn reason(error: &tokio_postgres::Error) -> String {
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
