//! A supervisor whose program was killed looks after the lease of its evaluation itself, and hands
//! in the value: a study in a database goes on elsewhere, where nobody sees this folder.
//!
//! As long as the program lives, which its locked file shows, this does nothing, and connects to
//! nothing.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unyoke::{Evaluation, Study};
use unyoke_store::{Lease, Location, Store};

use super::folder;
use super::outcome::{Outcome, Spent};
use super::spec::Asked;
use super::system::host_name;
use crate::error::{Error, Result};
use crate::signing::sign_as_program;

/// Where the study is, with its password: in the environment of the supervisor, which only its own
/// user can read, and not in that of the command.
pub(super) const STORE: &str = "UNYOKE_STORE";

/// How often a lease is renewed before it would end.
const BEATS: u32 = 4;

/// The lease under which an attempt was made, and whose it is: `lease.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entrusted {
    pub(crate) evaluation: u64,
    /// How often the evaluation was claimed.
    pub(crate) claim: u32,
    pub(crate) owner: String,
    /// Locked as long as the program lives that claimed the evaluation.
    pub(crate) alive: PathBuf,
    pub(crate) lasting_ms: u64,
}

impl Entrusted {
    /// Writes down under which lease an attempt is waited for, or is waited for from now on.
    pub(crate) fn write(&self, attempt: &Path) -> Result<()> {
        folder::replace_json(&attempt.join(folder::LEASE), self)
    }

    fn read(attempt: &Path) -> Option<Self> {
        folder::read_json(&attempt.join(folder::LEASE)).ok().flatten()
    }

    fn lease(&self) -> Lease {
        let Self { evaluation, claim, owner, .. } = self.clone();
        Lease { evaluation, attempt: claim, owner }
    }

    fn lasting(&self) -> Duration {
        Duration::from_millis(self.lasting_ms)
    }

    fn has_owner(&self) -> bool {
        folder::is_locked(&self.alive).unwrap_or(true)
    }
}

/// Looks after the lease of an attempt until it is dropped.
#[derive(Debug)]
pub(super) struct Custody {
    folder: PathBuf,
    location: Location,
    /// The thread ends when this is dropped.
    _alive: Sender<()>,
}

impl Custody {
    /// None where there is no database, or nobody to look after.
    pub(super) fn begin(folder: &Path) -> Option<Self> {
        let location = Location::parse(&std::env::var(STORE).ok()?).ok()?;
        let (alive, over) = channel::<()>();
        let (attempt, store) = (folder.to_owned(), location.clone());
        let watch = move || {
            let mut opened = None;
            let mut pause = Duration::from_secs(1);
            while over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let Some(entrusted) = Entrusted::read(&attempt) else { continue };
                pause = entrusted.lasting() / BEATS;
                if !entrusted.has_owner() {
                    renew(&store, &mut opened, &entrusted);
                }
            }
        };
        // Without a thread the lease ends, as it would if the machine went down.
        let _ = std::thread::Builder::new().name("custody".to_owned()).spawn(watch);
        Some(Self { folder: folder.to_owned(), location, _alive: alive })
    }

    /// Tells the study what came out, if nobody else will.
    pub(super) fn hand_in(self, outcome: &Outcome) -> Result<()> {
        let Some(entrusted) = Entrusted::read(&self.folder) else { return Ok(()) };
        // Whether a failure counts, or is tried again, is for a program to decide.
        let Ok(measured) = &outcome.result else { return Ok(()) };
        if entrusted.has_owner() {
            return Ok(());
        }
        let store = Store::open(&self.location)?;
        sign_as_program(&store, &host_name())?;
        let mut study = Study::open(store.clone())?;
        let evaluation = entrusted.evaluation;
        let known = |study: &Study<Store>| {
            let index = usize::try_from(evaluation).ok();
            index.and_then(|index| study.evaluations().get(index).cloned())
        };
        let result = match self.paid(&study, known(&study), outcome) {
            Some(cost) => measured.outcome(study.problem()).cost(cost),
            None => measured.outcome(study.problem()),
        };
        match study.tell(evaluation, result) {
            Ok(()) => {}
            Err(unyoke::Error::AlreadySettled { .. }) => {
                let is_known =
                    known(&study).is_some_and(|known| measured.is_in(&known, study.problem()));
                if !is_known {
                    store.keep_late(evaluation, outcome.attempt, &measured.to_string())?;
                }
            }
            Err(error) => return Err(Error::from(error)),
        }
        Ok(store.release(&entrusted.lease())?)
    }

    /// What an evaluation really cost, where that is known.
    fn paid(
        &self,
        study: &Study<Store>,
        known: Option<Evaluation>,
        outcome: &Outcome,
    ) -> Option<f64> {
        let known = known?;
        let measurement = study.problem().measurements.get(known.measurement?)?;
        let mut spent = Spent::default();
        for attempt in 1..outcome.attempt {
            let folder = self.folder.with_file_name(attempt.to_string());
            let asked: Option<Asked> =
                folder::read_json(&folder.join(folder::DESIGN)).ok().flatten();
            let ended: Option<Outcome> =
                folder::read_json(&folder.join(folder::EXIT)).ok().flatten();
            let is_current = asked.is_some_and(|asked| asked.retry == known.retried);
            ended.iter().filter(|_| is_current).for_each(|ended| spent.add(ended));
        }
        spent.add(outcome);
        spent.paid(study.cost(&measurement.name).ok()?)
    }
}

/// Renews a lease; what fails is tried again at the next beat.
fn renew(location: &Location, opened: &mut Option<Store>, entrusted: &Entrusted) {
    if opened.is_none() {
        *opened = Store::open(location).ok();
    }
    if let Some(store) = opened {
        let _ = store.renew(&entrusted.lease(), entrusted.lasting());
    }
}
