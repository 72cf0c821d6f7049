//! The names of all fields of a study file, section by section.
//!
//! `schema.json` and `docs/study-file.md` tell the same; tests hold them to it.

pub(super) const FILE: &[&str] = &[
    "study",
    "budget",
    "stop",
    "run",
    "initial",
    "preference",
    "engine",
    "parameters",
    "limits",
    "objectives",
    "constraints",
    "measurements",
];
pub(super) const STUDY: &[&str] = &["name", "seed", "algorithm", "store"];
pub(super) const BUDGET: &[&str] = &["cost", "wall_time", "evaluations"];
pub(super) const STOP: &[&str] = &["worth", "searches"];
pub(super) const RUN: &[&str] = &["slots", "trials", "confirm"];
pub(super) const INITIAL: &[&str] = &["designs", "per_measurement", "per_objective"];
pub(super) const PREFERENCE: &[&str] = &["utility", "importance"];
pub(super) const ENGINE: &[&str] = &[
    "weights",
    "preference",
    "units",
    "lengthscales",
    "lengthscale_prior",
    "deterministic",
    "failures",
    "correlations",
    "pending",
    "outliers",
    "best_possible",
    "recommendations",
    "discretisation",
    "search",
    "front",
    "reference",
];
pub(super) const PARAMETER: &[&str] =
    &["type", "low", "high", "scale", "step", "digits", "choices", "ordered", "was"];
pub(super) const OBJECTIVE: &[&str] = &[
    "direction",
    "goal",
    "enough",
    "formula",
    "cost",
    "noise",
    "scale",
    "command",
    "timeout",
    "retries",
    "slots",
    "directory",
    "env",
    "executor",
    "slurm",
    "submit",
    "status",
    "cancel",
    "poll",
    "grace",
    "call_timeout",
    "priors",
    "hyper",
];
pub(super) const CONSTRAINT: &[&str] = &[
    "at_most",
    "at_least",
    "formula",
    "cost",
    "noise",
    "scale",
    "command",
    "timeout",
    "retries",
    "slots",
    "directory",
    "env",
    "executor",
    "slurm",
    "submit",
    "status",
    "cancel",
    "poll",
    "grace",
    "call_timeout",
    "priors",
    "hyper",
];
pub(super) const MEASUREMENT: &[&str] = &[
    "outputs",
    "cost",
    "command",
    "timeout",
    "retries",
    "slots",
    "directory",
    "env",
    "executor",
    "slurm",
    "submit",
    "status",
    "cancel",
    "poll",
    "grace",
    "call_timeout",
];
/// How a measurement is made.
pub(super) const RUNNING: &[&str] = &[
    "command",
    "timeout",
    "retries",
    "slots",
    "directory",
    "env",
    "executor",
    "slurm",
    "submit",
    "status",
    "cancel",
    "poll",
    "grace",
    "call_timeout",
];
pub(super) const SLURM: &[&str] = &["partition", "time", "cpus", "memory", "extra"];

pub(super) const PARAMETER_TYPES: &[&str] = &["continuous", "integer", "categorical"];
pub(super) const SCALES: &[&str] = &["linear", "log"];
pub(super) const DIRECTIONS: &[&str] = &["minimise", "maximise", "minimize", "maximize"];
pub(super) const NOISES: &[&str] = &["none", "unknown"];
pub(super) const UTILITIES: &[&str] = &["linear", "chebyshev"];
pub(super) const EXECUTORS: &[&str] = &["local", "slurm", "command", "hand"];
