//! The application as visitors meet it, without a socket: every route for every role, hostile inputs, and requests
//! that a generator makes up.

mod setting;
mod routes;
mod actions;
mod stream;
mod closing;
mod hostile;
mod fuzz;
