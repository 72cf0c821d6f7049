//! What was disturbed, and what went wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

/// One disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    KillRunner,
    KillSupervisor,
    KillCommand,
    KillSeveral,
    StopAndContinue,
    StopAndKill,
    Interrupt,
    EndLeases,
    RestartServer,
}

impl Kind {
    /// All that can happen to a study in a file.
    pub(crate) const ON_A_FILE: [Self; 8] = [
        Self::KillRunner,
        Self::KillSupervisor,
        Self::KillCommand,
        Self::KillSeveral,
        Self::StopAndContinue,
        Self::StopAndKill,
        Self::Interrupt,
        Self::EndLeases,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::KillRunner => "runner killed",
            Self::KillSupervisor => "supervisor killed",
            Self::KillCommand => "command killed",
            Self::KillSeveral => "several processes killed at once",
            Self::StopAndContinue => "process stopped, then continued",
            Self::StopAndKill => "process stopped, then killed",
            Self::Interrupt => "runner interrupted",
            Self::EndLeases => "all leases expired",
            Self::RestartServer => "server restarted",
        }
    }
}

/// A broken promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    Lost,
    Doubled,
    Overlapping,
    Unattended,
}

/// The sums over several studies.
pub(crate) struct Tally {
    store: &'static str,
    seed: u64,
    began: Instant,
    rounds: BTreeMap<Kind, usize>,
    pub(crate) studies: usize,
    pub(crate) evaluations: usize,
    pub(crate) attempts: usize,
    pub(crate) late: usize,
    faults: Vec<Fault>,
}

impl Tally {
    pub(crate) fn new(store: &'static str, seed: u64) -> Self {
        Self {
            store,
            seed,
            began: Instant::now(),
            rounds: BTreeMap::new(),
            studies: 0,
            evaluations: 0,
            attempts: 0,
            late: 0,
            faults: vec![],
        }
    }

    pub(crate) fn count(&mut self, kind: Kind) {
        *self.rounds.entry(kind).or_insert(0) += 1;
    }

    pub(crate) fn rounds(&self) -> usize {
        self.rounds.values().sum()
    }

    pub(crate) fn blame(&mut self, faults: impl IntoIterator<Item = Fault>) {
        self.faults.extend(faults);
    }

    pub(crate) fn faults(&self) -> usize {
        self.faults.len()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, seed, studies, evaluations, attempts, late, .. } = self;
        writeln!(f, "| {store}, seed {seed} | |\n|---|---|")?;
        for (kind, rounds) in &self.rounds {
            writeln!(f, "| {} | {rounds} |", kind.name())?;
        }
        writeln!(f, "| **rounds** | **{}** |", self.rounds())?;
        writeln!(f, "| studies | {studies} |\n| evaluations | {evaluations} |")?;
        writeln!(f, "| attempts | {attempts} |\n| kept as late | {late} |")?;
        writeln!(f, "| seconds | {:.0} |", self.began.elapsed().as_secs_f64())?;
        let faults = [
            ("lost", Fault::Lost),
            ("doubled", Fault::Doubled),
            ("overlapping", Fault::Overlapping),
            ("unattended", Fault::Unattended),
        ];
        for (name, fault) in faults {
            let times = self.faults.iter().filter(|found| **found == fault).count();
            writeln!(f, "| **{name}** | **{times}** |")?;
        }
        Ok(())
    }
}
