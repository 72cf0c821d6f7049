//! Shows and drives studies over HTTP: pages for people, JSON for programs, events for whoever watches.
//!
//! [`serve`] is the server. What it shows are the views of `unyoke-view`; what it does to a study is done by the
//! code of `unyoke-run` that the command line uses as well, and ends as an event in the study's journal. It holds
//! no lock: whoever reads keeps nobody from writing.
//!
//! Modules stand in the order of use; each uses only those above it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
mod access;
mod rates;
mod assets;
mod shown;
mod page;
mod shelf;
mod computing;
mod answer;
mod events;
mod hall;
mod views;
mod api;
mod actions;
mod pages;
mod handbook;
mod app;
mod server;
#[cfg(test)]
mod tests;

pub use access::Tokens;
pub use error::{Error, Result};
pub use rates::{Rate, Rates};
pub use server::{Listening, Settings, TlsFiles, serve};
