//! The one test command: formatting, lints, documentation, tests, those of the Python package, and those of the pages in a browser.

use crate::browser;
use crate::command::{Outcome, cargo, run};
use crate::postgres::Postgres;
use crate::python;
use crate::slurm;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs every gate in turn and stops at the first that fails.
pub(crate) fn all() -> Outcome {
    let start = Instant::now();
    step("tools", install_components)?;
    step("formatting", || run(&mut cargo(&["fmt", "--all", "--", "--check"])))?;
    step("lints", || {
        run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    })?;
    step("documentation", || {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--document-private-items"]);
        run(doc.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    step("tests", || {
        let server = Postgres::start()?;
        run(server.show(&mut cargo(&["test", "--workspace", "--no-fail-fast"])))
    })?;
    step("Slurm", || slurm::test(&[]))?;
    step("Python", python::test)?;
    step("browser", || browser::test(&[]))?;
    eprintln!("\nall gates passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn step(name: &str, work: impl FnOnce() -> Outcome) -> Outcome {
    eprintln!("\n== {name}");
    let start = Instant::now();
    work().map_err(|error| format!("{name}: {error}"))?;
    eprintln!("== {name}: {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Installs rustfmt and clippy where a minimal toolchain lacks them.
fn install_components() -> Outcome {
    for (component, probe) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let present = cargo(&[probe, "--version"]).stdout(Stdio::null()).status();
        if !present.is_ok_and(|status| status.success()) {
            run(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    Ok(())
}
