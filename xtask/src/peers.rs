//! Suggestions of BoTorch, Ax and Optuna against ours, in an environment of their own.

use crate::command::{Outcome, cargo, root, run};
use crate::python::environment;
use std::process::Command;

/// The peers. They bring PyTorch, which from PyPI has gigabytes for graphics cards;
/// `PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu` avoids them.
const PEERS: [&str; 3] = ["botorch", "ax-platform", "optuna"];

/// Prints processor times and ratios, measured in one run.
pub(crate) fn compare() -> Outcome {
    let environment = environment("peers-env")?;
    let python = || Command::new(environment.join("bin/python"));
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(python().args(install).args(PEERS))?;
    run(&mut cargo(&["build", "--release", "--package=unyoke-cli", "--bin=unyoke"]))?;
    let program = root().join("target/release/unyoke");
    run(python().arg(root().join("xtask/peers/suggest.py")).arg(program))
}
