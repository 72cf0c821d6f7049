//! What is answered to programs: JSON, and why something was refused.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use unyoke::JournalError;
use utoipa::ToSchema;

use crate::error::Error;
use crate::shown::Ready;

/// The header that says of how many records a view is.
pub(crate) const POSITION: &str = "unyoke-position";

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) kind: Kind,
    /// For people: what is wrong, and what to do.
    pub(crate) message: String,
}

/// Kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The request makes no sense.
    BadRequest,
    /// There is no token, or a wrong one.
    Unauthorized,
    /// The token does not allow this, or a page of another server has asked.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// Not this way.
    Method,
    /// Something else happened first.
    Conflict,
    /// The request is too long.
    TooLarge,
    /// The request is not JSON.
    MediaType,
    /// The request was meant for another server.
    WrongHost,
    /// The study refuses it.
    Refused,
    /// Too many requests.
    TooMany,
    /// A mistake in the server.
    Internal,
    /// The study cannot be reached now.
    Unavailable,
    /// It is being computed: ask again.
    Computing,
}

/// An error as it is sent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorAnswer {
    error: ErrorBody,
}

/// What is wrong.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    kind: Kind,
    /// For people: what is wrong, and what to do.
    message: String,
}

impl Kind {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::WrongHost => StatusCode::MISDIRECTED_REQUEST,
            Self::Refused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Computing => StatusCode::ACCEPTED,
        }
    }

    /// In two or three words.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::BadRequest => "That makes no sense",
            Self::Unauthorized => "Who are you?",
            Self::Forbidden => "Not allowed",
            Self::NotFound => "Nothing here",
            Self::Method => "Not this way",
            Self::Conflict => "Somebody was faster",
            Self::TooLarge => "Too long",
            Self::MediaType => "Not JSON",
            Self::WrongHost => "Another server",
            Self::Refused => "Refused",
            Self::TooMany => "Too many requests",
            Self::Internal => "A mistake of this program",
            Self::Unavailable => "Not reachable now",
            Self::Computing => "Being computed",
        }
    }
}

impl Refusal {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(Kind::BadRequest, message)
    }

    pub(crate) fn no_study(id: &str) -> Self {
        // Only what can be an address is repeated.
        let id: String = id.chars().take(60).collect();
        Self::new(Kind::NotFound, format!("there is no study {id:?} here"))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self { kind, message } = self;
        let mut response =
            (kind.status(), Json(ErrorAnswer { error: ErrorBody { kind, message } }))
                .into_response();
        if matches!(kind, Kind::TooMany | Kind::Unavailable | Kind::Computing) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let Error::Run(error) = error else { return Self::new(Kind::Internal, message) };
        Self::new(kind_of(&error), message)
    }
}

/// What an error of a study means to whoever has asked.
fn kind_of(error: &unyoke_run::Error) -> Kind {
    use unyoke_run::Error as Run;
    use unyoke_store::Error as Stored;
    match error {
        error if error.is_passing() => Kind::Unavailable,
        Run::Study(unyoke::Error::UnknownEvaluation { .. }) => Kind::NotFound,
        Run::Study(unyoke::Error::AlreadySettled { .. } | unyoke::Error::CannotCorrect { .. }) => {
            Kind::Conflict
        }
        Run::Store(Stored::Locked { .. } | Stored::LockStuck { .. }) => Kind::Unavailable,
        Run::Study(unyoke::Error::Journal(JournalError::Storage { .. }))
        | Run::Store(_)
        | Run::DiskFull { .. }
        | Run::Io { .. } => Kind::Unavailable,
        Run::Study(
            unyoke::Error::Journal(_)
            | unyoke::Error::CorruptJournal { .. }
            | unyoke::Error::Format { .. },
        ) => Kind::Internal,
        _ => Kind::Refused,
    }
}

/// A view that takes long, as far as it is there.
pub(crate) fn ready<T: Serialize>(ready: Ready<T>) -> Result<Response, Refusal> {
    part(ready, |value| Some(value))
}

/// A part of a view that takes long.
pub(crate) fn part<T, P: Serialize>(
    ready: Ready<T>,
    part: impl Fn(&T) -> Option<&P>,
) -> Result<Response, Refusal> {
    match ready {
        Ready::Done { value, position } => {
            let mut response = Json(part(&value)).into_response();
            response.headers_mut().insert(POSITION, HeaderValue::from(position));
            Ok(response)
        }
        Ready::Computing => Err(Refusal::new(Kind::Computing, "this is being computed")),
        Ready::Nothing(reason) | Ready::Failed(reason) => Err(Refusal::new(Kind::Refused, reason)),
    }
}
