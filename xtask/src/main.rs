//! The project's own commands.
//!
//! - `cargo xtask test`: everything that must pass before a change lands.
//! - `cargo xtask bench [FILTER]`: the benchmarks, as the table of `docs/performance.md`.
//! - `cargo xtask postgres COMMAND...`: a command with the database server that tests use.
//! - `cargo xtask slurm COMMAND...`: a command with the cluster of one node that tests use.
//! - `cargo xtask clusters [FILTER]`: the tests on that cluster, which `test` runs as well.
//! - `cargo xtask many-jobs`: 500 jobs through 50 slots, and what they took.
//! - `cargo xtask soak [SEED]`: studies whose processes are killed and stopped again and again.
//! - `cargo xtask fuzz-api [SECONDS]`: made-up requests to the server of pages, ten minutes by default.
//! - `cargo xtask wheel`: the Python package, module and program in one wheel.
//! - `cargo xtask python`: the tests of the Python package, which `test` runs as well.
//! - `cargo xtask python-long [ARGUMENTS]`: those that install much or take long.
//! - `cargo xtask browser [ARGUMENTS]`: the tests of the pages in a browser, which `test` runs as well.
//! - `cargo xtask screenshots [FOLDER]`: pictures of all pages, wide and on a phone, light and dark.

mod command;
mod bench;
mod postgres;
mod slurm;
mod python;
mod browser;
mod test;

use std::process::ExitCode;

/// The long form of the tests that kill and stop processes.
const SOAK: [&str; 9] = [
    "cargo",
    "test",
    "-p=unyoke-cli",
    "--test=killing",
    "--",
    "--ignored",
    "--nocapture",
    "--test-threads=1",
    "soak",
];

/// The long form of the test that makes up requests.
const FUZZ: [&str; 8] = [
    "test",
    "-p=unyoke-web",
    "--lib",
    "--",
    "--ignored",
    "--nocapture",
    "--test-threads=1",
    "made_up_requests_do_no_harm_for_long",
];

/// How long requests are made up, in seconds.
const SECONDS: &str = "UNYOKE_FUZZ_SECONDS";

/// Chooses the disturbances of the soak.
const SEED: &str = "UNYOKE_SOAK_SEED";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => test::all(),
        ["bench"] => bench::all(None),
        ["bench", filter] => bench::all(Some(filter)),
        ["postgres", command @ ..] => postgres::with(command),
        ["slurm", command @ ..] => slurm::with(command),
        ["clusters", filter @ ..] => slurm::test(filter),
        ["many-jobs"] => slurm::test_long(),
        ["soak"] => postgres::with(&SOAK),
        ["soak", seed] => {
            let seed = format!("{SEED}={seed}");
            postgres::with(&[&["env", seed.as_str()], SOAK.as_slice()].concat())
        }
        ["fuzz-api"] => command::run(&mut command::cargo(&FUZZ)),
        ["fuzz-api", seconds] => command::run(command::cargo(&FUZZ).env(SECONDS, seconds)),
        ["wheel"] => python::wheel(),
        ["python"] => python::test(),
        ["python-long", arguments @ ..] => python::test_long(arguments),
        ["browser", arguments @ ..] => browser::test(arguments),
        ["screenshots"] => browser::screenshots(None),
        ["screenshots", folder] => browser::screenshots(Some(folder)),
        _ => Err("usage: cargo xtask test | bench [FILTER] | postgres COMMAND... | slurm COMMAND... | \
                  clusters [FILTER] | many-jobs | soak [SEED] | fuzz-api [SECONDS] | wheel | python | \
                  python-long [ARGUMENTS] | browser [ARGUMENTS] | screenshots [FOLDER]"
            .to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
