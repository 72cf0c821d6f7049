//! What can be done to a study: each an event in its journal, whoever else writes to it.

use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;

use crate::hall::Hall;

/// All actions.
pub(crate) fn router() -> OpenApiRouter<Arc<Hall>> {
    OpenApiRouter::new()
}
