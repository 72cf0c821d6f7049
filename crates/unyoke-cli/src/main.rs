//! The program `unyoke`: parses arguments and calls the other crates.

mod lab;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Finds the trade-off curve of expensive objectives by running each one only when it is worth
/// its price.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Repeat the paper's experiments, or measure algorithms on test problems.
    #[command(subcommand)]
    Lab(lab::Command),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Lab(command) => lab::run(command),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("unyoke: {error}");
            ExitCode::FAILURE
        }
    }
}
