//! Stands in for the program `unyoke` in tests.
//!
//! `supervise FOLDER` is a supervisor. `start FOLDER ARGV...` starts an attempt, says so, and then
//! waits to be killed.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use unyoke::Design;
use unyoke_run::{Attempt, Spec, Supervisor, supervise};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["supervise", folder] => supervise(Path::new(folder)),
        ["start", folder, argv @ ..] => start(Path::new(folder), argv),
        other => {
            eprintln!("cannot be called with {other:?}");
            ExitCode::FAILURE
        }
    }
}

fn start(folder: &Path, argv: &[&str]) -> ExitCode {
    let spec = Spec {
        evaluation: 1,
        attempt: 1,
        retry: 0,
        measurement: "f".to_owned(),
        outputs: vec!["f".to_owned()],
        design: Design::new(),
        argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
        directory: folder.parent().unwrap_or(folder).to_owned(),
        env: Default::default(),
        timeout: None,
        grace: Duration::from_secs(5),
    };
    let started = Supervisor::this_program("supervise")
        .and_then(|supervisor| Attempt::start(folder, &spec, &supervisor));
    match started {
        Ok(_attempt) => {
            let _ = std::io::stdout().write_all(b"started\n");
            let _ = std::io::stdout().flush();
            loop {
                std::thread::park();
            }
        }
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}
