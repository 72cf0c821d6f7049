//! Makes a study's journal durable: SQLite by default, a journal file on network file systems,
//! PostgreSQL for many machines.
//!
//! A [`Store`] is a [`Journal`](unyoke::Journal), so a [`Study`](unyoke::Study) runs on it as it does
//! in memory. Beside the journal it keeps leases, by which workers share out evaluations, and
//! results that came too late to count.
//!
//! ```
//! use std::time::Duration;
//! use unyoke::{Config, Problem, Study};
//! use unyoke_store::{Location, Store};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("blade.db").to_string_lossy().into_owned();
//! let location = Location::parse(&path)?; // or file:…, or postgres://…?study=blade
//! let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("drag", 9.0).build()?;
//! let store = Store::create(&location)?;
//! let mut study = Study::create(problem, Config::default(), 0, store.clone())?;
//! let evaluation = study.ask()?.evaluation;
//!
//! let lease = store.claim(evaluation, "worker 1", Duration::from_secs(60))?;
//! assert_eq!(lease.map(|lease| lease.attempt), Some(1));
//! assert_eq!(store.claim(evaluation, "worker 2", Duration::from_secs(60))?, None);
//!
//! let reopened = Study::open(Store::open(&location)?)?;
//! assert_eq!(reopened.evaluations(), study.evaluations());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Modules stand in the order of the flow; each uses only those above it. What is stored where, and
//! what is promised, is in `docs/storage.md`.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
mod location;
mod clock;
mod lease;
mod frequent;
mod text;
mod schema;
mod backend;
mod lease_table;
mod memory;
mod file;
mod holders;
mod sqlite;
mod host;
mod lock;
mod batch;
mod journal_file;
mod postgres;
mod store;

pub use clock::Clock;
pub use error::{Error, Result};
pub use file::network_file_system;
pub use lease::{LateResult, Lease, LeaseState, LeaseStatus};
pub use location::{Location, PostgresUrl};
pub use store::Store;
