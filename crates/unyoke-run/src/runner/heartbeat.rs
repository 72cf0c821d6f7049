//! Keeps leases alive while evaluations run, on a thread of its own: a suggestion may take long.
//! The store renews them through a connection of its own, so reading and writing may take long, too.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use unyoke_store::{Lease, Store};

use crate::error::{Error, Result};

/// How often a lease is renewed before it would end.
const BEATS: u32 = 4;

/// How soon it is tried again when that was not possible, as a part of the time of a lease.
const RETRIES: u32 = 30;

/// The leases of a runner.
#[derive(Debug)]
pub(super) struct Heartbeat {
    store: Store,
    leases: Arc<Mutex<Vec<Lease>>>,
    /// The thread ends when this is dropped.
    _alive: Sender<()>,
}

impl Heartbeat {
    pub(super) fn new(store: Store, lasting: Duration) -> Result<Self> {
        let (alive, over) = channel::<()>();
        let leases = Arc::<Mutex<Vec<Lease>>>::default();
        let (theirs, renewer) = (leases.clone(), store.clone());
        let beat = move || {
            let mut pause = lasting / BEATS;
            while over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let leases = all(&theirs).clone();
                // A lease that was lost, or cannot be renewed just now, changes nothing: the
                // evaluation goes on, and what comes too late is recognised when it is told.
                let renewed = renewer.renew_all(&leases, lasting);
                pause = lasting / if renewed.is_ok() { BEATS } else { RETRIES };
            }
        };
        let thread = std::thread::Builder::new().name("heartbeat".to_owned()).spawn(beat);
        thread.map_err(Error::io("heartbeat"))?;
        Ok(Self { store, leases, _alive: alive })
    }

    /// Keeps a lease until it is given back.
    pub(super) fn keep(&self, lease: Lease) {
        all(&self.leases).push(lease);
    }

    /// Gives the lease of an evaluation back.
    pub(super) fn release(&self, evaluation: u64) -> Result<()> {
        let found = {
            let mut leases = all(&self.leases);
            let at = leases.iter().position(|lease| lease.evaluation == evaluation);
            at.map(|at| leases.swap_remove(at))
        };
        Ok(found.map_or(Ok(()), |lease| self.store.release(&lease))?)
    }
}

/// The leases. Whoever panicked while it held them left a list of whole leases.
fn all(leases: &Mutex<Vec<Lease>>) -> MutexGuard<'_, Vec<Lease>> {
    leases.lock().unwrap_or_else(PoisonError::into_inner)
}
