//! Studies whose processes are killed, stopped or cut off from their database at arbitrary moments.
//! Whatever a runner said is recorded is recorded; nothing is recorded or run twice; no command runs
//! beside another of its evaluation; and what was begun is finished by the next run.
//!
//! A few disturbances belong to the test command. Many are for `cargo xtask soak`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod place;
mod soak;

use std::time::{SystemTime, UNIX_EPOCH};

use soak::tally::{Kind, Tally};
use soak::{Disturbed, Kept};

/// Disturbances of one study.
const ROUNDS: usize = 12;

/// Chooses the disturbances of `cargo xtask soak`, to repeat one.
const SEED: &str = "UNYOKE_SOAK_SEED";

/// Not a test but the command of the studies below.
#[test]
#[ignore = "this is run by other tests"]
fn command() {
    soak::command::run();
}

/// Disturbs one study in these ways.
fn disturb(kept: Kept, seed: u64, kinds: &[Kind]) {
    let mut tally = Tally::new("", seed);
    Disturbed::new(kept, seed).disturb(kinds, &mut tally);
    assert_eq!(tally.faults(), 0, "\n{tally}");
}

#[test]
fn nothing_is_lost_or_doubled_when_processes_are_killed() {
    use Kind::{KillCommand, KillRunner, KillSeveral, KillSupervisor};
    disturb(Kept::File, 1, &[KillRunner, KillSupervisor, KillCommand, KillSeveral]);
}

#[test]
fn nothing_is_lost_or_doubled_when_processes_are_stopped() {
    use Kind::{StopAndContinue, StopAndKill};
    disturb(Kept::File, 2, &[StopAndContinue, StopAndKill, StopAndContinue, StopAndKill]);
}

#[test]
fn nothing_is_lost_or_doubled_when_leases_end_early_and_runs_are_interrupted() {
    use Kind::{EndLeases, Interrupt};
    disturb(Kept::File, 3, &[EndLeases, Interrupt, EndLeases]);
}

#[test]
fn nothing_is_lost_or_doubled_in_postgres() {
    use Kind::{KillRunner, KillSeveral, KillSupervisor, RestartServer};
    let mut kinds = vec![KillRunner, RestartServer, KillSupervisor, RestartServer, KillSeveral];
    // One that somebody else provides is left alone.
    kinds.retain(|kind| *kind != RestartServer || soak::server::is_ours());
    disturb(Kept::Postgres, 4, &kinds);
}

#[test]
#[ignore = "long: cargo xtask soak"]
fn soak_a_file() {
    soak(Kept::File, 1_000);
}

#[test]
#[ignore = "long: cargo xtask soak"]
fn soak_postgres() {
    soak(Kept::Postgres, 300);
}

/// Disturbs one study after the other, then says how often and what came of it.
fn soak(kept: Kept, rounds: usize) {
    let name = match kept {
        Kept::File => "SQLite",
        Kept::Postgres => "PostgreSQL",
    };
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = std::env::var(SEED).map_or(seconds, |seed| seed.parse().unwrap());
    let mut tally = Tally::new(name, seed);
    while tally.rounds() < rounds {
        let mut study = Disturbed::new(kept, seed + tally.studies as u64);
        let kinds = study.kinds(ROUNDS.min(rounds - tally.rounds()));
        study.disturb(&kinds, &mut tally);
        println!("{name}: {} rounds, {} faults", tally.rounds(), tally.faults());
    }
    println!("\n{tally}");
    assert_eq!(tally.faults(), 0, "repeat it with {SEED}={seed}");
}
