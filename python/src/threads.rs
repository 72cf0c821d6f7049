//! The threads that compute. Those of a process do not survive a fork, so each process has its own;
//! how many there are, `RAYON_NUM_THREADS` says, by default one for each processor.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Failure, Result};

/// The threads, and the process that they belong to.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Does work on the threads of this process.
pub(crate) fn compute<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    Ok(pool()?.install(work))
}

fn pool() -> Result<Arc<ThreadPool>> {
    let mut kept = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, pool)) = &*kept
        && *owner == process
    {
        return Ok(pool.clone());
    }
    let pool = ThreadPoolBuilder::new().thread_name(|_| "unyoke".to_owned()).build();
    let pool = Arc::new(pool.map_err(|error| Failure::Refused(error.to_string()))?);
    // The threads of the process before the fork are not here to be ended.
    std::mem::forget(kept.replace((process, pool.clone())));
    Ok(pool)
}
