//! The project's own commands.
//!
//! - `cargo xtask test`: everything that must pass before a change lands.
//! - `cargo xtask bench [FILTER]`: the benchmarks, as the table of `docs/performance.md`.
//! - `cargo xtask postgres COMMAND...`: a command with the database server that tests use.
//! - `cargo xtask soak`: programs that are killed again and again.

mod command;
mod bench;
mod postgres;
mod test;

use std::process::ExitCode;

/// The long form of the tests that kill programs.
const SOAK: [&str; 8] =
    ["cargo", "test", "--workspace", "--test", "killing", "--", "--ignored", "--nocapture"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => test::all(),
        ["bench"] => bench::all(None),
        ["bench", filter] => bench::all(Some(filter)),
        ["postgres", command @ ..] => postgres::with(command),
        ["soak"] => postgres::with(&SOAK),
        _ => {
            Err("usage: cargo xtask test | bench [FILTER] | postgres COMMAND... | soak".to_owned())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
