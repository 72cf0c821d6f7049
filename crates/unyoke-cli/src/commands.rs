//! One file for each command. A command turns its arguments into calls of the other crates, and
//! what they return into tables or JSON.

pub(crate) mod init;
pub(crate) mod check;
pub(crate) mod front;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod import;
pub(crate) mod worksheet;
pub(crate) mod ask;
pub(crate) mod confirm;
pub(crate) mod tell;
pub(crate) mod retry;
pub(crate) mod amend;
pub(crate) mod queue;
pub(crate) mod skip;
pub(crate) mod pause;
pub(crate) mod status;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod serve;
pub(crate) mod schema;
pub(crate) mod completions;
pub(crate) mod lab;
