//! Studies whose processes are killed, stopped and cut off from their database at random moments, and
//! what must hold of them nevertheless.
//!
//! `disturbed` is the course of one study, `audit` what is promised, `command` what is evaluated.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

pub(crate) mod processes;
pub(crate) mod command;
pub(crate) mod server;
pub(crate) mod tally;
mod audit;
mod disturbed;

pub(crate) use disturbed::{Disturbed, Kept};
