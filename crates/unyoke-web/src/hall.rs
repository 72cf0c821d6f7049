//! What all requests share: the studies, who computes for them, and the rules of access.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::Access;
use crate::answer::{Kind, Refusal};
use crate::computing::Computer;
use crate::events::off_thread;
use crate::rates::{Buckets, Rates};
use crate::shelf::{Glance, Served, Shelf};
use crate::shown::StudyCard;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Hall {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) access: Access,
    pub(crate) buckets: Buckets,
    computers: Mutex<HashMap<String, Arc<Computer>>>,
    /// Places for those who watch.
    listeners: Arc<Semaphore>,
}

/// A study that somebody asks about, as it stands.
pub(crate) struct Visit {
    pub(crate) served: Arc<Served>,
    pub(crate) computer: Arc<Computer>,
    pub(crate) glance: Glance,
}

impl Hall {
    pub(crate) fn new(shelf: Shelf, access: Access, rates: Rates, listeners: usize) -> Self {
        Self {
            shelf: Arc::new(shelf),
            access,
            buckets: Buckets::new(rates),
            computers: Mutex::default(),
            listeners: Arc::new(Semaphore::new(listeners)),
        }
    }

    /// The study of an address.
    pub(crate) async fn study(&self, id: &str) -> Result<Arc<Served>, Refusal> {
        let (shelf, name) = (Arc::clone(&self.shelf), id.to_owned());
        let found = off_thread(move || Ok(shelf.study(&name))).await?;
        found.ok_or_else(|| Refusal::no_study(id))
    }

    /// The study of an address as it stands.
    pub(crate) async fn visit(&self, id: &str) -> Result<Visit, Refusal> {
        let served = self.study(id).await?;
        let looking = Arc::clone(&served);
        let glance = off_thread(move || looking.look()).await?;
        let computer = self.computer(&served);
        Ok(Visit { served, computer, glance })
    }

    /// All studies, as they stand in a list.
    pub(crate) async fn cards(&self) -> Result<Vec<StudyCard>, Refusal> {
        let shelf = Arc::clone(&self.shelf);
        let cards = move || Ok(shelf.studies().iter().map(|study| study.card()).collect());
        Ok(off_thread(cards).await?)
    }

    /// The same without looking at any of them.
    pub(crate) async fn quick_cards(&self) -> Result<Vec<StudyCard>, Refusal> {
        let shelf = Arc::clone(&self.shelf);
        let cards = move || Ok(shelf.studies().iter().map(|study| study.quick_card()).collect());
        Ok(off_thread(cards).await?)
    }

    fn computer(&self, served: &Arc<Served>) -> Arc<Computer> {
        let mut computers = self.computers.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Computer::new(Arc::clone(served)));
        Arc::clone(computers.entry(served.id.clone()).or_insert_with(new))
    }

    /// Closes studies that nobody has looked at for so long, and forgets what was computed of them: all of it
    /// comes back when somebody does.
    pub(crate) fn close_unused(&self, unused: Duration) {
        // Requests wait for this lock, so that nothing is waited for while it is held.
        let computers = || self.computers.lock().unwrap_or_else(PoisonError::into_inner);
        for served in self.shelf.known() {
            let computer = computers().get(&served.id).cloned();
            let is_unused = computer.is_none_or(|computer| computer.is_unused(unused));
            if is_unused && served.close_unused(unused) {
                computers().remove(&served.id);
            }
        }
    }

    /// A place for somebody who watches.
    pub(crate) fn place(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let full = |_| Refusal::new(Kind::Unavailable, "too many others watch; try again later");
        Arc::clone(&self.listeners).try_acquire_owned().map_err(full)
    }
}
