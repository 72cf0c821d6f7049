//! Programs that are killed at arbitrary moments. Whatever they said has happened, has; nothing
//! happens twice; and what they had begun is finished by the next.
//!
//! A few kills belong to the test command. Many are for `cargo xtask soak`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod place;

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use place::{Place, TWO, signal, stderr};

/// Begins like the other scripts, and takes a while.
const SLOW: &str =
    "echo \"$UNYOKE_EVALUATION $UNYOKE_ATTEMPT\" >> starts\nsleep 0.05\nexec \"$@\"\n";

/// Runs a study, killing it `kills` times, each time after so many milliseconds as `moments` says.
fn kill_and_go_on(place: &Place, kills: usize, mut moments: impl FnMut() -> u64) {
    place.write("log.sh", SLOW);
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    for kill in 0..kills {
        // A larger budget each time, so that there is something to do.
        let cost = (10 * (kill + 1)).to_string();
        let run = place.spawn(&["run", "--no-report", "--slots", "2", "--cost", &cost]);
        thread::sleep(Duration::from_millis(moments()));
        signal(&run, "-KILL");
        let output = run.wait_with_output().unwrap();
        said.extend(stderr(&output).lines().filter_map(value_in));
    }
    let cost = (10 * kills).to_string();
    place.text(&["run", "--no-report", "--slots", "2", "--cost", &cost]);

    let evaluations = place.evaluations();
    assert_eq!(place.spent(), 10.0 * kills as f64);
    for row in &evaluations {
        assert_eq!(row["status"], "told", "{row:?}");
        assert_eq!(place::starts_of(place, &row["evaluation"]), 1, "{row:?}");
    }
    for (evaluation, value) in said {
        let row = &evaluations[evaluation.parse::<usize>().unwrap()];
        let kept: f64 = row["value"].parse().unwrap();
        let told: f64 = value.parse().unwrap();
        assert!((kept - told).abs() <= 1e-3 * told.abs() + 1e-9, "{evaluation}: {value} {kept}");
    }
}

/// The evaluation and its value in a line such as `   12  mass = 0.5 after 3ms`.
fn value_in(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let evaluation = words.next()?;
    let (_, equals) = (words.next()?, words.next()?);
    (equals == "=").then(|| (evaluation.to_owned(), words.next().unwrap_or_default().to_owned()))
}

/// Numbers from 0 to `most`, the same in every run.
fn numbers(seed: u64, most: u64) -> impl FnMut() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ seed;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % (most + 1)
    }
}

/// The study with its journal in the PostgreSQL of the tests, under a name of its own.
fn in_postgres(name: &str) -> Place {
    let server = std::env::var("UNYOKE_TEST_POSTGRES")
        .expect("`cargo xtask test` starts a PostgreSQL for the tests");
    let separator = if server.contains('?') { '&' } else { '?' };
    let name = format!("{name}-{}", std::process::id());
    let store = format!("{server}{separator}study={name}");
    Place::new(&format!("[study]\nstore = {store:?}\n{TWO}"))
}

#[test]
fn nothing_is_lost_or_doubled_when_programs_are_killed() {
    kill_and_go_on(&Place::new(TWO), 5, numbers(0, 500));
}

#[test]
fn nothing_is_lost_or_doubled_in_postgres() {
    kill_and_go_on(&in_postgres("killing"), 3, numbers(1, 500));
}

#[test]
#[ignore = "long: cargo xtask soak"]
fn soak_a_file() {
    for round in 0..30 {
        kill_and_go_on(&Place::new(TWO), 10, numbers(round, 600));
        println!("{} kills on SQLite", 10 * (round + 1));
    }
}

#[test]
#[ignore = "long: cargo xtask soak"]
fn soak_postgres() {
    for round in 0..5 {
        kill_and_go_on(&in_postgres(&format!("soak-{round}")), 10, numbers(round, 600));
        println!("{} kills on PostgreSQL", 10 * (round + 1));
    }
}
