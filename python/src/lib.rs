//! The compiled part of the Python package: a study of the engine, wherever it is kept, as one class.
//!
//! What goes in and out is JSON, that of `docs/views.md` for what is shown and that of journals for
//! what is told, and arrays of numbers. Names, data frames, executors and pictures are Python's
//! business, in `python/unyoke`. No lock of the interpreter is held while anything is computed, read
//! or written.
//!
//! Modules stand in the order of use; each uses only those above it.

mod error;
mod threads;
mod place;
mod state;
mod written;
mod running;
mod jobs;
mod handle;

use pyo3::pymodule;

/// The engine behind the package `unyoke`; not meant to be used directly.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::handle::{Handle, check_executor, check_problem, front_picture, with_defaults};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const version: &str = env!("CARGO_PKG_VERSION");
}
