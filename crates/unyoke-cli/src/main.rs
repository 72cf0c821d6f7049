//! The program `unyoke`: parses arguments and calls the other crates.
//!
//! Each command is a file in `commands`. Results go to standard output, everything else to standard
//! error, and the exit code says what kind of trouble there was: `failure`.

mod output;
mod failure;
mod words;
mod clock;
mod cells;
mod workbook;
mod table;
mod arguments;
mod live;
mod commands;
mod command_line;

use clap::{CommandFactory, Parser};
use std::process::ExitCode;

use command_line::{Arguments, Command};
use failure::Failure;

fn main() -> ExitCode {
    match run(Arguments::parse_from(arguments::typed(std::env::args_os()))) {
        Ok(code) => code,
        Err(failure) => failure.show(),
    }
}

fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let form = arguments.form();
    match arguments.command {
        Command::Init(arguments) => commands::init::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments, form),
        Command::Run(arguments) => commands::run::run(&arguments, form),
        Command::Confirm(arguments) => commands::confirm::run(&arguments, form),
        Command::Ask(arguments) => commands::ask::run(&arguments, form),
        Command::Tell(arguments) => commands::tell::run(&arguments, form),
        Command::Queue(arguments) => commands::queue::run(&arguments, form),
        Command::Skip(arguments) => commands::skip::run(&arguments, form),
        Command::Pause(arguments) => commands::pause::pause(&arguments, form),
        Command::Resume(arguments) => commands::pause::resume(&arguments, form),
        Command::Retry(arguments) => commands::retry::run(&arguments, form),
        Command::Amend(arguments) => commands::amend::run(&arguments, form),
        Command::Import(arguments) => commands::import::run(&arguments, form),
        Command::Status(arguments) => commands::status::run(&arguments, form),
        Command::Front(arguments) => commands::front::run(&arguments, form),
        Command::Explain(arguments) => commands::explain::run(&arguments, form),
        Command::Report(arguments) => commands::report::run(&arguments, form),
        Command::Export(arguments) => commands::export::run(&arguments, form),
        Command::Serve(arguments) => commands::serve::run(&arguments, form),
        Command::Schema => commands::schema::run(),
        Command::Completions { shell } => {
            commands::completions::run(shell, &mut Arguments::command())
        }
        Command::Lab(command) => Ok(commands::lab::run(command)?),
        Command::Supervise { folder } => Ok(unyoke_run::supervise(&folder)),
    }
}
