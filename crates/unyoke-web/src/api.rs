//! What programs can read: the views of a study as JSON.

use axum::Json;
use axum::extract::{Extension, FromRequestParts, Path, RawQuery, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use unyoke::{Design, Problem};
use unyoke_draw::Picture;
use unyoke_view::StudyReport;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Role;
use crate::answer::{self, ErrorAnswer, Kind, Refusal};
use crate::computing::{Answer, Question};
use crate::events::{self, off_thread};
use crate::hall::{Hall, Visit};
use crate::shown::{LiveView, Ready, StudyCard};
use crate::views::{self, EvaluationWithDeeds, LogView};

/// What everything takes that needs models.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "it is described here, and read by its name")]
struct Wait {
    /// Seconds to wait for the present answer, at most 25
    wait: Option<f64>,
}

/// The longest that a request waits for what is being computed.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

/// Designs of a front, at most.
const MOST_POINTS: usize = 1000;

/// Evaluations in one answer, at most.
const MOST_EVALUATIONS: usize = 10_000;

/// All that can be read.
pub(crate) fn router() -> OpenApiRouter<Arc<Hall>> {
    OpenApiRouter::new()
        .routes(routes!(studies))
        .routes(routes!(study))
        .routes(routes!(status))
        .routes(routes!(evaluations))
        .routes(routes!(live))
        .routes(routes!(log))
        .routes(routes!(next))
        .routes(routes!(front))
        .routes(routes!(best))
        .routes(routes!(measured_front))
        .routes(routes!(models))
        .routes(routes!(effects))
        .routes(routes!(confirmation))
        .routes(routes!(report))
        .routes(routes!(design))
        .routes(routes!(figures))
        .routes(routes!(figure))
        .routes(routes!(watch))
}

/// What stands behind the question mark of an address, decoded; the last of several with one name.
pub(crate) type Query = BTreeMap<String, String>;

/// Reads what stands behind the question mark.
pub(crate) fn query_of(raw: Option<&str>) -> Query {
    form_urlencoded::parse(raw.unwrap_or_default().as_bytes()).into_owned().collect()
}

/// A number of the query.
fn number<T: std::str::FromStr>(query: &Query, name: &str) -> Result<Option<T>, Refusal> {
    let Some(text) = query.get(name) else { return Ok(None) };
    let wrong = |_| Refusal::bad(format!("{name} must be a number"));
    text.parse().map(Some).map_err(wrong)
}

/// Prices of what-if questions: `price.NAME=12`.
pub(crate) fn prices(query: &Query, problem: &Problem) -> Result<BTreeMap<String, f64>, Refusal> {
    let mut prices = BTreeMap::new();
    for (name, text) in query {
        let Some(measurement) = name.strip_prefix("price.") else { continue };
        problem.measurement_index(measurement).map_err(|error| Refusal::bad(error.to_string()))?;
        let price = text.parse::<f64>().ok().filter(|price| price.is_finite() && *price > 0.0);
        let wrong =
            || Refusal::bad(format!("the price of {measurement} must be a positive number"));
        prices.insert(measurement.to_owned(), price.ok_or_else(wrong)?);
    }
    Ok(prices)
}

/// A study that is asked about, as it stands, and what stands behind the question mark of the address.
pub(crate) struct Inquiry {
    visit: Visit,
    query: Query,
}

impl FromRequestParts<Arc<Hall>> for Inquiry {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, hall: &Arc<Hall>) -> Result<Self, Response> {
        let Path(path) = Path::<BTreeMap<String, String>>::from_request_parts(parts, hall)
            .await
            .map_err(IntoResponse::into_response)?;
        let id = path.get("id").map_or("", String::as_str);
        let visit = hall.visit(id).await.map_err(IntoResponse::into_response)?;
        Ok(Self { visit, query: query_of(parts.uri.query()) })
    }
}

impl Inquiry {
    /// The answer to a question, waited for if the query says so.
    async fn ask(&self, question: Question) -> Result<Ready<Answer>, Refusal> {
        let seconds = number::<f64>(&self.query, "wait")?.unwrap_or(0.0);
        if seconds.is_nan() || seconds < 0.0 {
            return Err(Refusal::bad("wait must not be negative"));
        }
        let wait = Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        let Visit { computer, glance, .. } = &self.visit;
        Ok(computer.wait(&question, glance, Instant::now() + wait).await)
    }

    /// A part of the report.
    async fn part<P: Serialize>(
        &self,
        part: impl Fn(&StudyReport) -> Option<&P>,
    ) -> Result<Response, Refusal> {
        answer::part(self.ask(Question::Report).await?.report(), part)
    }

    fn problem(&self) -> &Problem {
        self.visit.glance.study.problem()
    }
}

/// All studies that are served.
#[utoipa::path(get, path = "/api/studies", tag = "studies", responses(
    (status = 200, description = "All studies", body = Vec<StudyCard>),
    (status = 401, description = "No token, or a wrong one", body = ErrorAnswer),
))]
async fn studies(State(hall): State<Arc<Hall>>) -> Result<Json<Vec<StudyCard>>, Refusal> {
    hall.cards().await.map(Json)
}

/// A study, and what it is about.
#[derive(Debug, Serialize, ToSchema)]
struct StudyView {
    /// As it stands in addresses.
    id: String,
    /// As people call it.
    name: String,
    /// Where it is kept, without passwords.
    store: String,
    /// How many records its journal has.
    position: u64,
    /// Whether this visitor may change it.
    may_write: bool,
    /// Parameters, outputs, measurements and limits.
    #[schema(value_type = Object)]
    problem: Problem,
    /// What people should know about how it is served.
    notes: Vec<String>,
}

/// What a study is about.
#[utoipa::path(get, path = "/api/studies/{id}", tag = "studies", params(("id" = String, Path)), responses(
    (status = 200, description = "The study", body = StudyView),
    (status = 404, description = "There is no such study", body = ErrorAnswer),
))]
async fn study(inquiry: Inquiry, Extension(role): Extension<Role>) -> Json<StudyView> {
    let Visit { served, glance, .. } = inquiry.visit;
    Json(StudyView {
        id: served.id.clone(),
        name: glance.terms.name.clone(),
        store: glance.terms.location.to_string(),
        position: glance.position,
        may_write: role == Role::Writer,
        problem: glance.study.problem().clone(),
        notes: glance.notes,
    })
}

/// How a study stands, as `unyoke status --json` prints it.
#[utoipa::path(get, path = "/api/studies/{id}/status", tag = "views", params(("id" = String, Path)), responses(
    (status = 200, description = "The status of docs/views.md", body = serde_json::Value),
))]
async fn status(inquiry: Inquiry) -> Result<Response, Refusal> {
    let glance = inquiry.visit.glance;
    let (position, status) =
        off_thread(move || Ok((glance.position, views::status_of(&glance)?))).await?;
    Ok(([(answer::POSITION, position.to_string())], Json(status)).into_response())
}

/// Evaluations, as `unyoke export --json` prints them, each with what was done to it by whom.
#[utoipa::path(get, path = "/api/studies/{id}/evaluations", tag = "views", params(
    ("id" = String, Path),
    ("from" = Option<u64>, Query, description = "The first number [default: 0]"),
    ("count" = Option<usize>, Query, description = "At most so many [default: 1000]"),
), responses((status = 200, description = "The evaluations of docs/views.md, with deeds", body = Vec<EvaluationWithDeeds>)))]
async fn evaluations(inquiry: Inquiry) -> Result<Json<Vec<EvaluationWithDeeds>>, Refusal> {
    let Inquiry { visit: Visit { glance, .. }, query } = inquiry;
    let from = number(&query, "from")?.unwrap_or(0);
    let count = number(&query, "count")?.unwrap_or(1000).min(MOST_EVALUATIONS);
    Ok(Json(off_thread(move || Ok(views::evaluations_from(&glance, from, count))).await?))
}

/// Evaluations whose results are awaited.
#[utoipa::path(get, path = "/api/studies/{id}/live", tag = "views", params(("id" = String, Path)), responses(
    (status = 200, description = "What is pending, with elapsed times", body = Vec<LiveView>),
))]
async fn live(inquiry: Inquiry) -> Result<Json<Vec<LiveView>>, Refusal> {
    let glance = inquiry.visit.glance;
    let live = move || Ok(views::live(&glance, &views::status_of(&glance)?));
    Ok(Json(off_thread(live).await?))
}

/// What the command of an evaluation has written so far: the end of it, or all from a byte on.
#[utoipa::path(get, path = "/api/studies/{id}/evaluations/{evaluation}/log", tag = "views", params(
    ("id" = String, Path),
    ("evaluation" = u64, Path),
    ("stream" = Option<String>, Query, description = "stdout or stderr [default: stderr]"),
    ("from" = Option<u64>, Query, description = "The first byte [default: 16 KiB before the end]"),
), responses(
    (status = 200, description = "At most 64 KiB of it", body = LogView),
    (status = 404, description = "It has written nothing, or elsewhere", body = ErrorAnswer),
))]
async fn log(
    inquiry: Inquiry,
    Path((_, evaluation)): Path<(String, u64)>,
) -> Result<Json<LogView>, Refusal> {
    let Inquiry { visit: Visit { glance, .. }, query } = inquiry;
    let stream = match query.get("stream").map(String::as_str) {
        None | Some("stderr") => "stderr",
        Some("stdout") => "stdout",
        Some(_) => return Err(Refusal::bad("stream must be stdout or stderr")),
    };
    let from = number(&query, "from")?;
    let log = off_thread(move || Ok(views::log(&glance, evaluation, stream, from))).await??;
    Ok(Json(log))
}

/// What to measure next and why, as `unyoke explain --json` prints it; with `price.NAME=12`, what would be next if
/// NAME cost that.
#[utoipa::path(get, path = "/api/studies/{id}/next", tag = "models", params(
    ("id" = String, Path),
    ("price.NAME" = Option<f64>, Query, description = "Another price of a measurement; the study is not changed"),
    Wait,
), responses(
    (status = 200, description = "The explanation of docs/views.md", body = serde_json::Value),
    (status = 202, description = "It is being computed: ask again", body = ErrorAnswer),
))]
async fn next(inquiry: Inquiry) -> Result<Response, Refusal> {
    let prices = prices(&inquiry.query, inquiry.problem())?;
    let question = match prices.is_empty() {
        true => Question::Next,
        false => Question::WhatIf { prices },
    };
    answer::ready(inquiry.ask(question).await?.next())
}

/// The trade-offs, as `unyoke front --json` prints them.
#[utoipa::path(get, path = "/api/studies/{id}/front", tag = "models", params(
    ("id" = String, Path),
    ("points" = Option<usize>, Query, description = "At most so many designs [default: 20]"),
    ("cautious" = Option<f64>, Query, description = "Rank by what is reached with this probability"),
    Wait,
), responses(
    (status = 200, description = "The front of docs/views.md", body = serde_json::Value),
    (status = 202, description = "It is being computed: ask again", body = ErrorAnswer),
))]
async fn front(inquiry: Inquiry) -> Result<Response, Refusal> {
    let points = number::<usize>(&inquiry.query, "points")?;
    let cautious = cautious(&inquiry.query)?;
    if points.is_none_or(|points| points == unyoke_view::ROWS) && cautious.is_none() {
        return inquiry.part(|report| report.front.as_ref()).await;
    }
    let points = points.unwrap_or(unyoke_view::ROWS).clamp(1, MOST_POINTS);
    answer::ready(inquiry.ask(Question::Front { points, cautious }).await?.front())
}

fn cautious(query: &Query) -> Result<Option<f64>, Refusal> {
    let cautious = number::<f64>(query, "cautious")?;
    match cautious {
        Some(quantile) if !(0.5..1.0).contains(&quantile) => {
            Err(Refusal::bad("cautious must be from 0.5 to below 1"))
        }
        cautious => Ok(cautious),
    }
}

/// The best design for weights of the objectives, as `unyoke front --weights --json` prints it.
#[utoipa::path(get, path = "/api/studies/{id}/best", tag = "models", params(
    ("id" = String, Path),
    ("weights" = String, Query, description = "A weight for each objective, separated by commas"),
    ("cautious" = Option<f64>, Query, description = "Rank by what is reached with this probability"),
    Wait,
), responses(
    (status = 200, description = "A front of docs/views.md with one point", body = serde_json::Value),
    (status = 202, description = "It is being computed: ask again", body = ErrorAnswer),
))]
async fn best(inquiry: Inquiry) -> Result<Response, Refusal> {
    let cautious = cautious(&inquiry.query)?;
    let text = inquiry.query.get("weights").map_or("", String::as_str);
    let weights: Option<Vec<f64>> =
        text.split(',').map(|weight| weight.trim().parse::<f64>().ok()).collect();
    let objectives = inquiry.problem().objectives().count();
    let is_usable = |weights: &Vec<f64>| {
        let all = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
        weights.len() == objectives && all && weights.iter().sum::<f64>() > 0.0
    };
    let Some(weights) = weights.filter(is_usable) else {
        let message = format!("weights must be {objectives} numbers, not negative and not all 0");
        return Err(Refusal::bad(message));
    };
    answer::ready(inquiry.ask(Question::Best { weights, cautious }).await?.front())
}

/// What was measured of the trade-offs, as `unyoke front --measured --json` prints it.
#[utoipa::path(get, path = "/api/studies/{id}/measured-front", tag = "models", params(("id" = String, Path), Wait), responses(
    (status = 200, description = "The measured front of docs/views.md; null without values", body = serde_json::Value),
    (status = 202, description = "It is being computed: ask again", body = ErrorAnswer),
))]
async fn measured_front(inquiry: Inquiry) -> Result<Response, Refusal> {
    inquiry.part(|report| report.measured_front.as_ref()).await
}

/// How far the models can be trusted: each value predicted from all the others.
#[utoipa::path(get, path = "/api/studies/{id}/models", tag = "models", params(("id" = String, Path), Wait), responses(
    (status = 200, description = "The models of docs/views.md", body = serde_json::Value),
    (status = 202, description = "It is being computed: ask again", body = ErrorAnswer),
))]
async fn models(inquiry: Inquiry) -> Result<Response, Refusal> {
    inquiry.part(|report| Some(&report.next.models)).await
}

/// What each parameter does to each output.
#[utoipa::path(get, path = "/api/studies/{id}/effects", tag = "models", params(("id" = String, Path), Wait), responses(
    (status = 200, description = "Slices through a design of the front; null without values", body = serde_json::Value),
    (status = 202, description = "It is being computed: ask again", body = ErrorAnswer),
))]
async fn effects(inquiry: Inquiry) -> Result<Response, Refusal> {
    inquiry.part(|report| report.effects.as_ref()).await
}

/// How predictions held up in the latest round of confirmations.
#[utoipa::path(get, path = "/api/studies/{id}/confirmation", tag = "models", params(("id" = String, Path), Wait), responses(
    (status = 200, description = "The confirmation of docs/views.md; null before the first", body = serde_json::Value),
    (status = 202, description = "It is being computed: ask again", body = ErrorAnswer),
))]
async fn confirmation(inquiry: Inquiry) -> Result<Response, Refusal> {
    inquiry.part(|report| report.confirmation.as_ref()).await
}

/// Everything that is known of a study.
#[utoipa::path(get, path = "/api/studies/{id}/report", tag = "models", params(("id" = String, Path), Wait), responses(
    (status = 200, description = "The report of docs/views.md", body = serde_json::Value),
    (status = 202, description = "It is being computed: ask again", body = ErrorAnswer),
))]
async fn report(inquiry: Inquiry) -> Result<Response, Refusal> {
    inquiry.part(|report| Some(report)).await
}

/// What is expected of a design, and what measuring it is worth, as `unyoke explain --at` prints it.
#[utoipa::path(get, path = "/api/studies/{id}/design", tag = "models", params(
    ("id" = String, Path),
    ("PARAMETER" = String, Query, description = "A value for each parameter, by its name"),
    Wait,
), responses(
    (status = 200, description = "The design of docs/views.md", body = serde_json::Value),
    (status = 202, description = "It is being computed: ask again", body = ErrorAnswer),
))]
async fn design(inquiry: Inquiry) -> Result<Response, Refusal> {
    let design = typed_design(inquiry.problem(), &inquiry.query)?;
    answer::ready(inquiry.ask(Question::At { design }).await?.design())
}

/// The design that a query names.
fn typed_design(problem: &Problem, query: &Query) -> Result<Design, Refusal> {
    let mut design = Design::new();
    for parameter in &problem.parameters {
        let name = parameter.name();
        let missing = || Refusal::bad(format!("a value of {name} is missing"));
        let text = query.get(name).ok_or_else(missing)?;
        design = unyoke_run::with_value(design, parameter, text).map_err(Refusal::bad)?;
    }
    Ok(design)
}

/// The figures of a report, by name.
const FIGURES: [&str; 6] =
    ["trade-offs", "designs", "values", "spending", "progress", "predictions"];

/// The names of the figures.
#[utoipa::path(get, path = "/api/studies/{id}/figures", tag = "figures", params(("id" = String, Path)), responses(
    (status = 200, description = "Names, in the order of a report", body = Vec<String>),
))]
async fn figures(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
) -> Result<Json<Vec<&'static str>>, Refusal> {
    hall.study(&id).await?;
    Ok(Json(FIGURES.to_vec()))
}

/// A picture of a figure, as the report has it: `trade-offs.svg` is the first, `trade-offs-2.svg` the second.
#[utoipa::path(get, path = "/api/studies/{id}/figures/{name}", tag = "figures", params(
    ("id" = String, Path), ("name" = String, Path),
), responses(
    (status = 200, description = "The picture", content_type = "image/svg+xml", body = String),
    (status = 202, description = "It is being computed: ask again", body = ErrorAnswer),
    (status = 404, description = "There is no such picture", body = ErrorAnswer),
))]
pub(crate) async fn figure(
    inquiry: Inquiry,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let none = || Refusal::new(Kind::NotFound, "there is no such figure");
    let (figure, number) = figure_of(&name).ok_or_else(none)?;
    let report = inquiry.ask(Question::Report).await?.report();
    let Ready::Done { value, position } = report else { return answer::ready(report) };
    let draw = move || Ok(pictures(&value, figure).into_iter().nth(number - 1));
    let picture = off_thread(draw).await?.ok_or_else(none)?;
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    let position = [(answer::POSITION, position.to_string())];
    Ok((StatusCode::OK, headers, position, picture.svg()).into_response())
}

/// The figure and the number of the picture in a name such as `trade-offs-2.svg`.
fn figure_of(name: &str) -> Option<(&'static str, usize)> {
    let stem = name.strip_suffix(".svg")?;
    let whole = FIGURES.into_iter().find(|figure| *figure == stem).map(|figure| (figure, 1));
    whole.or_else(|| {
        let (figure, number) = stem.rsplit_once('-')?;
        let figure = FIGURES.into_iter().find(|known| *known == figure)?;
        let number = number.parse().ok().filter(|number| (1..=1000).contains(number))?;
        Some((figure, number))
    })
}

fn pictures(report: &StudyReport, figure: &str) -> Vec<Picture> {
    match figure {
        "trade-offs" => report.trade_offs_pictures(),
        "designs" => report.designs_pictures(),
        "values" => report.values_pictures(),
        "spending" => report.spending_pictures(),
        "progress" => report.progress_pictures(),
        _ => report.predictions_pictures(),
    }
}

/// Events as they happen (server-sent events). The id of an event is the number of records in the journal with it: a
/// reader that was cut off sends the last one as `Last-Event-ID` and misses nothing.
#[utoipa::path(get, path = "/api/studies/{id}/events", tag = "events", params(
    ("id" = String, Path),
    ("from" = Option<u64>, Query, description = "All records from this position on, first those that there are"),
    ("Last-Event-ID" = Option<u64>, Header, description = "The same, as browsers send it"),
), responses((status = 200, description = "hello, record, views, live and trouble", content_type = "text/event-stream", body = String)))]
async fn watch(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let query = query_of(query.as_deref());
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = last.and_then(|text| text.trim().parse::<u64>().ok());
    let from = last.or(number(&query, "from")?);
    let served = hall.study(&id).await?;
    Ok(events::stream(served, from, hall.place()?).await?.into_response())
}
