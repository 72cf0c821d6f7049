//! Given a problem with its observations, says what to evaluate next and why.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
