//! What can be done to a study: each an event in its journal, signed by whoever did it, by the code that the command
//! line uses as well.
//!
//! A request has a key. If it comes again, because its answer was lost or the server was killed, the journal shows
//! that it was carried out, and nothing is done twice.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use unyoke::{
    Asked, Design, Evaluation, Event, Journal, Outcome, Parameter, Pause, Permission, Problem,
    Reading, Record, Status, Study, Suggestion,
};
use unyoke_run::{
    Attempt, BY_HAND, Entry, Limits, Signature, Signed, StudyFile, ask_by_hand, claim_by_hand,
    left_out, now, record_by_hand, with_value, working,
};
use unyoke_store::{Location, Store};
use unyoke_view::words::is_over_budget;
use unyoke_view::{EvaluationView, SuggestionView, evaluations};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::{ErrorAnswer, Kind, Refusal};
use crate::events::off_thread;
use crate::hall::{Hall, Visit};
use crate::shelf::{Served, Terms, subject};

/// The longest reason, in characters.
const LONGEST_REASON: usize = 2000;

/// All actions.
pub(crate) fn router() -> OpenApiRouter<Arc<Hall>> {
    OpenApiRouter::new()
        .routes(routes!(ask))
        .routes(routes!(tell))
        .routes(routes!(fail))
        .routes(routes!(withdraw))
        .routes(routes!(skip))
        .routes(routes!(correct))
        .routes(routes!(retract))
        .routes(routes!(retry))
        .routes(routes!(stop))
        .routes(routes!(queue))
        .routes(routes!(unqueue))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(price))
        .routes(routes!(budget))
}

/// What an action has led to.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Done {
    /// How many records the journal has.
    position: u64,
    /// Whether a request with this key was carried out before; then nothing was done now.
    repeated: bool,
    /// The evaluation as it stands, as in docs/views.md.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    evaluation: Option<EvaluationView>,
    /// What was asked for, as in docs/views.md; without options if the request is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    suggestion: Option<SuggestionView>,
    /// The number of an entry in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<u64>,
    /// What else to know.
    notes: Vec<String>,
}

/// Asks for an evaluation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AskBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who asks.
    by: Option<String>,
    /// Only these measurements.
    #[serde(default)]
    measurements: Vec<String>,
    /// Only designs with these values of some parameters.
    #[serde(default)]
    #[schema(value_type = Object)]
    fix: BTreeMap<String, serde_json::Value>,
}

/// Records values.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TellBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who records them.
    by: Option<String>,
    /// The evaluation.
    evaluation: u64,
    /// A number, or `{"value": 1.2, "sd": 0.1}`, for each output.
    #[schema(value_type = Object)]
    values: BTreeMap<String, Reading>,
    /// Why other outputs have no value.
    missing: Option<String>,
    /// What it really cost.
    cost: Option<f64>,
    /// Values of parameters that were not as asked for.
    #[serde(default)]
    #[schema(value_type = Object)]
    design: BTreeMap<String, serde_json::Value>,
}

/// Records that an evaluation gave no value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FailBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who records it.
    by: Option<String>,
    /// The evaluation.
    evaluation: u64,
    /// Why there is no value.
    reason: String,
    /// What it really cost.
    cost: Option<f64>,
}

/// Says that what was recorded is wrong.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CorrectBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who corrects it.
    by: Option<String>,
    /// The evaluation.
    evaluation: u64,
    /// The right values; outputs that are left out keep theirs.
    #[serde(default)]
    #[schema(value_type = Object)]
    values: BTreeMap<String, Reading>,
    /// It gave no value, for this reason.
    failed: Option<String>,
    /// Why other outputs have no value.
    missing: Option<String>,
    /// What it really cost.
    cost: Option<f64>,
    /// Values of parameters that were not as recorded.
    #[serde(default)]
    #[schema(value_type = Object)]
    design: BTreeMap<String, serde_json::Value>,
}

/// Takes back what was recorded.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RetractBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who takes it back.
    by: Option<String>,
    /// The evaluation.
    evaluation: u64,
    /// Why it does not count.
    reason: Option<String>,
}

/// Names an evaluation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EvaluationBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who does it.
    by: Option<String>,
    /// The evaluation.
    evaluation: u64,
}

/// Puts a design into the queue.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct QueueBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who wants it.
    by: Option<String>,
    /// A value for each parameter.
    #[schema(value_type = Object)]
    design: BTreeMap<String, serde_json::Value>,
    /// Only this measurement; by default all that the design lacks.
    measurement: Option<String>,
}

/// Takes an entry out of the queue.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct UnqueueBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who does it.
    by: Option<String>,
    /// The number of the entry.
    entry: u64,
}

/// Leaves out a measurement for a while.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PauseBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who does it.
    by: Option<String>,
    /// The measurement.
    measurement: String,
    /// Until when, in seconds since the beginning of 1970, UTC; by default until it is resumed.
    until: Option<u64>,
    /// Why it cannot be made.
    reason: Option<String>,
}

/// Names a measurement.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ResumeBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who does it.
    by: Option<String>,
    /// The measurement.
    measurement: String,
}

/// Changes a price.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PriceBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who does it.
    by: Option<String>,
    /// The measurement.
    measurement: String,
    /// What an evaluation of it costs from now on.
    cost: f64,
}

/// Changes the budget.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BudgetBody {
    /// A name of this request, the same when it is sent again: 8 to 64 letters, digits, - and _.
    key: String,
    /// Who does it.
    by: Option<String>,
    /// The most that may be spent; `null` for no limit.
    cost: Option<f64>,
}

/// A study that is being changed.
struct Acting {
    study: Study<Signed<Store>>,
    store: Store,
    terms: Arc<Terms>,
}

/// Who asks for what, by which request.
struct Request {
    signature: Signature,
    /// Whether a study that was not begun is begun by it.
    begins: bool,
    /// The event that it leads to.
    leads_to: fn(&Event) -> bool,
}

impl Request {
    fn new(key: String, by: Option<String>, leads_to: fn(&Event) -> bool) -> Result<Self, Refusal> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !(8..=64).contains(&key.len()) || !key.chars().all(is_plain) {
            let message = "key must have 8 to 64 letters, digits, - or _, new for each action";
            return Err(Refusal::bad(message));
        }
        let by = by.map(|by| by.trim().to_owned()).filter(|by| !by.is_empty());
        let signature = Signature { by, at: Some(now()), key: Some(key) };
        signature.check().map_err(|error| Refusal::bad(error.to_string()))?;
        Ok(Self { signature, begins: false, leads_to })
    }

    fn beginning(self) -> Self {
        Self { begins: true, ..self }
    }
}

/// The body of a request, which must be JSON: forms of other pages cannot send that.
fn read<T: DeserializeOwned>(headers: &HeaderMap, body: &Bytes) -> Result<T, Refusal> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim());
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        let message = "the request must be JSON, with Content-Type: application/json";
        return Err(Refusal::new(Kind::MediaType, message));
    }
    serde_json::from_slice(body).map_err(|error| Refusal::bad(error.to_string()))
}

/// Carries out a request on a study.
async fn act(
    hall: &Hall,
    id: &str,
    request: Request,
    deed: impl FnOnce(&mut Acting) -> Result<Done, Refusal> + Send + 'static,
) -> Result<Json<Done>, Refusal> {
    let served = hall.study(id).await?;
    Ok(Json(off_thread(move || Ok(carry_out(&served, request, deed))).await??))
}

fn carry_out(
    served: &Arc<Served>,
    request: Request,
    deed: impl FnOnce(&mut Acting) -> Result<Done, Refusal>,
) -> Result<Done, Refusal> {
    let key = request.signature.key.clone().unwrap_or_default();
    let Some(_under_way) = served.begin(&key) else {
        let message = "this request is being carried out; send it again to see what came of it";
        return Err(Refusal::new(Kind::Unavailable, message));
    };
    let terms = served.terms()?;
    let mut acting = open(&terms, request.signature, request.begins)?;
    let done = match acting.study.journal().repeated() {
        Some(at) => acting.again(at, request.leads_to),
        None => deed(&mut acting).or_else(|refusal| match acting.study.journal().repeated() {
            // Another program has carried it out meanwhile.
            Some(at) => acting.again(at, request.leads_to),
            None => Err(refusal),
        }),
    };
    drop(acting);
    match &terms.location {
        // Otherwise others could not write to it as long as this server runs.
        Location::Journal(_) => served.close(),
        _ => drop(served.look()),
    }
    done
}

fn open(terms: &Arc<Terms>, signature: Signature, begins: bool) -> Result<Acting, Refusal> {
    let opened = || -> Result<Acting, crate::error::Error> {
        if let Some(file) = terms.file.as_ref().filter(|_| begins) {
            file.open_or_create_as(signature.by.as_deref())?;
        }
        let store = Store::open(&terms.location)?;
        let study = Study::open(Signed::new(store.clone(), signature)?)?;
        if let Some(file) = &terms.file {
            file.check_problem(&study)?;
        }
        Ok(Acting { study, store, terms: Arc::clone(terms) })
    };
    Ok(opened()?)
}

/// What the engine says, as it is answered.
fn says(error: unyoke::Error) -> Refusal {
    crate::error::Error::from(error).into()
}

/// What the code that the command line uses as well says.
fn said(error: unyoke_run::Error) -> Refusal {
    crate::error::Error::from(error).into()
}

impl Acting {
    /// What a request has led to that was carried out before.
    fn again(&mut self, at: u64, leads_to: fn(&Event) -> bool) -> Result<Done, Refusal> {
        self.study.refresh().map_err(says)?;
        let records = self.store.read(at).map_err(|error| says(error.into()))?;
        let Some(Record { event, .. }) = records.first().filter(|record| leads_to(&record.event))
        else {
            let message = "this key was used for something else; each action needs a new one";
            return Err(Refusal::new(Kind::Conflict, message));
        };
        let mut done = Done { repeated: true, ..self.done() };
        if let Some((id, what)) = subject(event) {
            done.evaluation = self.view(id);
            if what == "asked" {
                // It may have been cut off before it was somebody's own.
                let _ = claim_by_hand(&self.store, id);
                done.suggestion = self.suggestion_again(id);
            }
        }
        if let Event::Queued { entry, .. } = event {
            done.entry = Some(*entry);
        }
        Ok(done)
    }

    fn done(&self) -> Done {
        Done { position: self.study.position(), ..Done::default() }
    }

    fn view(&self, id: u64) -> Option<EvaluationView> {
        evaluations(&self.study).into_iter().find(|shown| shown.evaluation == id)
    }

    /// What was asked for, as far as the journal has it.
    fn suggestion_again(&self, id: u64) -> Option<SuggestionView> {
        let view = self.view(id)?;
        Some(SuggestionView {
            evaluation: id,
            measurement: view.measurement?,
            outputs: view.outputs,
            design: view.design,
            cost: view.cost,
            gain_per_cost: None,
            options: vec![],
            chosen: None,
            prospect: None,
            appraisal: None,
            notes: vec![],
        })
    }

    fn evaluation(&self, id: u64) -> Result<&Evaluation, Refusal> {
        let known = self.study.evaluations().iter().find(|evaluation| evaluation.id == id);
        known.ok_or_else(|| says(unyoke::Error::UnknownEvaluation { id }))
    }

    /// Records something of an evaluation.
    fn record(&mut self, id: u64, entry: Entry) -> Result<Done, Refusal> {
        self.evaluation(id)?;
        let mut notes = record_by_hand(&mut self.study, &self.store, id, entry).map_err(said)?;
        if is_over_budget(self.study.spent(), self.terms.budget.cost) {
            notes.push("the budget is exceeded: nothing more will be asked for".to_owned());
        }
        Ok(Done { evaluation: self.view(id), notes, ..self.done() })
    }

    /// What came out of an evaluation. Values may be left out of what is corrected.
    fn outcome(&self, id: u64, given: Given) -> Result<Outcome, Refusal> {
        let (problem, evaluation) = (self.study.problem(), self.evaluation(id)?);
        for name in given.values.keys() {
            problem.output_index(name).map_err(says)?;
        }
        let lacking = left_out(problem, evaluation, |name| given.values.contains_key(name));
        let is_whole = lacking.is_empty() || given.missing.is_some() || given.keeps_others;
        if !is_whole {
            let message = format!(
                "evaluation {id} gives {} as well; add the value, or say why there is none",
                lacking.join(", ")
            );
            return Err(Refusal::new(Kind::Refused, message));
        }
        let mut outcome = Outcome::from(given.values);
        if let Some(reason) = given.missing {
            outcome = outcome.missing(reason);
        }
        if let Some(cost) = given.cost {
            outcome = outcome.cost(cost);
        }
        if !given.design.is_empty() {
            outcome = outcome.at(typed(problem, evaluation.design.clone(), &given.design)?);
        }
        Ok(outcome)
    }

    fn file(&self) -> Result<&StudyFile, Refusal> {
        let message =
            "this server has no study file of this study, and the next run would follow that";
        self.terms.file.as_ref().ok_or_else(|| Refusal::new(Kind::Refused, message))
    }
}

/// What somebody says has come out.
struct Given {
    values: BTreeMap<String, Reading>,
    missing: Option<String>,
    cost: Option<f64>,
    design: BTreeMap<String, serde_json::Value>,
    /// Whether outputs that are left out have a value already.
    keeps_others: bool,
}

/// A design with values that were sent.
fn typed(
    problem: &Problem,
    mut design: Design,
    values: &BTreeMap<String, serde_json::Value>,
) -> Result<Design, Refusal> {
    for (name, value) in values {
        let parameter = problem.parameters.iter().find(|parameter| parameter.name() == name);
        let unknown = || {
            let near = unyoke::near(name, problem.parameters.iter().map(Parameter::name));
            says(unyoke::Error::UnknownParameter { name: name.clone(), near })
        };
        let parameter = parameter.ok_or_else(unknown)?;
        let text = match value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(number) => number.to_string(),
            _ => return Err(Refusal::bad(format!("{name} must be a number or a text"))),
        };
        design = with_value(design, parameter, &text).map_err(Refusal::bad)?;
    }
    Ok(design)
}

/// A reason that somebody gives, not empty and not endless.
fn reason(text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > LONGEST_REASON {
        let message = format!("a reason must have 1 to {LONGEST_REASON} characters");
        return Err(Refusal::bad(message));
    }
    Ok(text.to_owned())
}

fn optional_reason(text: Option<&str>) -> Result<Option<String>, Refusal> {
    text.filter(|text| !text.trim().is_empty()).map(reason).transpose()
}

/// Asks for the evaluation that is worth most per unit of cost, to make it by hand.
#[utoipa::path(post, path = "/api/studies/{id}/ask", tag = "actions", params(("id" = String, Path)), request_body = AskBody, responses(
    (status = 200, description = "What to measure where", body = Done),
    (status = 422, description = "Nothing can be asked for now", body = ErrorAnswer),
))]
async fn ask(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let AskBody { key, by, measurements, fix } = read(&headers, &body)?;
    let leads_to = |event: &Event| subject(event).is_some_and(|(_, what)| what == "asked");
    let request = Request::new(key, by, leads_to)?.beginning();
    // What was computed for the page need not be computed again.
    let Visit { computer, glance, .. } = hall.visit(&id).await?;
    let is_free = measurements.is_empty() && fix.is_empty();
    let known = computer.known_suggestion(&glance).filter(|_| is_free);
    act(&hall, &id, request, move |acting| {
        let problem = acting.study.problem().clone();
        for name in &measurements {
            problem.measurement_index(name).map_err(says)?;
        }
        let fixed = typed(&problem, Design::new(), &fix)?;
        let Acting { study, store, terms } = acting;
        let known = std::cell::Cell::new(known);
        let ask = |study: &mut Study<Signed<Store>>, limits: &Limits<'_>| {
            let limits = limits.clone().only(&measurements);
            let allowed = |study: &Study<_>, which: &[usize]| limits.permission(study, which);
            if let Some(asked) = known.take().map(|known| ask_for(study, known, allowed)) {
                return asked;
            }
            study.ask_within(&fixed, allowed)
        };
        let asked = ask_by_hand(study, store, (&terms.budget, &terms.run), ask).map_err(said)?;
        let Some(suggestion) = asked else {
            return Err(Refusal::new(Kind::Refused, nothing(study, terms, &measurements)));
        };
        let (evaluation, view) =
            (suggestion.evaluation, SuggestionView::new(&problem, &suggestion, None));
        let (suggestion, evaluation) = (Some(view), acting.view(evaluation));
        Ok(Done { suggestion, evaluation, ..acting.done() })
    })
    .await
}

/// Asks for what was computed before, or for what is best by now.
fn ask_for(
    study: &mut Study<Signed<Store>>,
    known: Suggestion,
    allowed: impl Fn(&Study<Signed<Store>>, &[usize]) -> Permission,
) -> unyoke::Result<Option<Suggestion>> {
    match study.ask_for(known, &allowed)? {
        Asked::Recorded(suggestion) => Ok(Some(suggestion)),
        Asked::NotAllowed | Asked::Outdated => study.ask_where(allowed),
    }
}

/// Why nothing could be asked for.
fn nothing<J: Journal>(study: &Study<J>, terms: &Terms, only: &[String]) -> String {
    let choices = study.config().choices(study.problem());
    let limits = || Limits::new(&terms.budget, &terms.run, vec![]).only(only);
    let permits = |limits: &Limits<'_>| {
        choices.iter().any(|which| limits.permission(study, which) != Permission::Never)
    };
    if permits(&limits()) {
        return "every design was evaluated, or nothing fits into what is left of the budget"
            .to_owned();
    }
    match permits(&limits().without_pauses()) {
        true => "nothing can be asked for while measurements are paused".to_owned(),
        false => "nothing more fits into the budget".to_owned(),
    }
}

/// Records what came out of an evaluation.
#[utoipa::path(post, path = "/api/studies/{id}/tell", tag = "actions", params(("id" = String, Path)), request_body = TellBody, responses(
    (status = 200, description = "It is recorded", body = Done),
    (status = 409, description = "It is settled already", body = ErrorAnswer),
))]
async fn tell(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let TellBody { key, by, evaluation, values, missing, cost, design } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Measured { .. }))?;
    let missing = optional_reason(missing.as_deref())?;
    if values.is_empty() {
        return Err(Refusal::bad("there are no values; `fail` records that there is none"));
    }
    let given = Given { values, missing, cost, design, keeps_others: false };
    act(&hall, &id, request, move |acting| {
        let outcome = acting.outcome(evaluation, given)?;
        acting.record(evaluation, Entry::Result(outcome))
    })
    .await
}

/// Records that an evaluation gave no value. It counts as spent.
#[utoipa::path(post, path = "/api/studies/{id}/fail", tag = "actions", params(("id" = String, Path)), request_body = FailBody, responses(
    (status = 200, description = "It is recorded", body = Done),
    (status = 409, description = "It is settled already", body = ErrorAnswer),
))]
async fn fail(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let FailBody { key, by, evaluation, reason: why, cost } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Failed { .. }))?;
    let mut outcome = Outcome::default().missing(reason(&why)?);
    if let Some(cost) = cost {
        outcome = outcome.cost(cost);
    }
    let entry = Entry::Result(outcome);
    act(&hall, &id, request, move |acting| acting.record(evaluation, entry)).await
}

/// Takes an evaluation back: it will not be made, and nothing is spent.
#[utoipa::path(post, path = "/api/studies/{id}/withdraw", tag = "actions", params(("id" = String, Path)), request_body = EvaluationBody, responses(
    (status = 200, description = "It is withdrawn", body = Done),
    (status = 409, description = "It is settled already", body = ErrorAnswer),
))]
async fn withdraw(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let EvaluationBody { key, by, evaluation } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Withdrawn { .. }))?;
    act(&hall, &id, request, move |acting| acting.record(evaluation, Entry::Withdrawal)).await
}

/// Takes an evaluation back, and does not suggest it again right away.
#[utoipa::path(post, path = "/api/studies/{id}/skip", tag = "actions", params(("id" = String, Path)), request_body = EvaluationBody, responses(
    (status = 200, description = "It is skipped", body = Done),
    (status = 409, description = "It is settled already", body = ErrorAnswer),
))]
async fn skip(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let EvaluationBody { key, by, evaluation } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Skipped { .. }))?;
    act(&hall, &id, request, move |acting| acting.record(evaluation, Entry::Skip)).await
}

/// Says that something else came out than was recorded. What was recorded before is kept and shown.
#[utoipa::path(post, path = "/api/studies/{id}/correct", tag = "actions", params(("id" = String, Path)), request_body = CorrectBody, responses(
    (status = 200, description = "It is corrected", body = Done),
    (status = 409, description = "It has no result yet", body = ErrorAnswer),
))]
async fn correct(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let CorrectBody { key, by, evaluation, values, failed, missing, cost, design } =
        read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Corrected { .. }))?;
    let (failed, missing) =
        (optional_reason(failed.as_deref())?, optional_reason(missing.as_deref())?);
    if failed.is_some() && !values.is_empty() {
        return Err(Refusal::bad("it has either values or a reason why it failed"));
    }
    act(&hall, &id, request, move |acting| {
        let is_completed = matches!(acting.evaluation(evaluation)?.status, Status::Completed(_));
        let keeps_others = is_completed || failed.is_some() || values.is_empty();
        let given = Given { values, missing: failed.or(missing), cost, design, keeps_others };
        let outcome = acting.outcome(evaluation, given)?;
        acting.record(evaluation, Entry::Correction(outcome))
    })
    .await
}

/// Says that what was recorded does not count. Its cost stays spent.
#[utoipa::path(post, path = "/api/studies/{id}/retract", tag = "actions", params(("id" = String, Path)), request_body = RetractBody, responses(
    (status = 200, description = "It is retracted", body = Done),
    (status = 409, description = "It has no result", body = ErrorAnswer),
))]
async fn retract(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let RetractBody { key, by, evaluation, reason } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Retracted { .. }))?;
    let entry = Entry::Retraction(optional_reason(reason.as_deref())?);
    act(&hall, &id, request, move |acting| acting.record(evaluation, entry)).await
}

/// Makes a failed evaluation pending again.
#[utoipa::path(post, path = "/api/studies/{id}/retry", tag = "actions", params(("id" = String, Path)), request_body = EvaluationBody, responses(
    (status = 200, description = "It is pending", body = Done),
    (status = 422, description = "It has not failed", body = ErrorAnswer),
))]
async fn retry(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let EvaluationBody { key, by, evaluation } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Retried { .. }))?;
    act(&hall, &id, request, move |acting| acting.record(evaluation, Entry::Retry)).await
}

/// Stops an evaluation that a program runs: it is withdrawn, and whoever runs its command ends that.
#[utoipa::path(post, path = "/api/studies/{id}/stop", tag = "actions", params(("id" = String, Path)), request_body = EvaluationBody, responses(
    (status = 200, description = "It is withdrawn; its command ends", body = Done),
    (status = 409, description = "It is settled already", body = ErrorAnswer),
    (status = 422, description = "No program runs it", body = ErrorAnswer),
))]
async fn stop(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let EvaluationBody { key, by, evaluation } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Withdrawn { .. }))?;
    act(&hall, &id, request, move |acting| {
        acting.evaluation(evaluation)?;
        let owner = acting.owner_of(evaluation).map_err(said)?;
        if owner.as_deref() == Some(BY_HAND) {
            let message = "no program runs it: it is made by hand; withdraw it instead";
            return Err(Refusal::new(Kind::Refused, message));
        }
        let mut done = acting.record(evaluation, Entry::Withdrawal)?;
        // A program that runs it sees that it was withdrawn. If there is none any more, its command may
        // still run here.
        if owner.is_none()
            && let Some(layout) = &acting.terms.layout
            && let Some(attempt) = layout.attempts(evaluation).map_err(said)?.pop()
        {
            let stopped = Attempt::open(layout.attempt(evaluation, attempt)).stop();
            done.notes.extend(stopped.err().map(|error| error.to_string()));
        }
        Ok(done)
    })
    .await
}

impl Acting {
    /// Who works on an evaluation, if that is a program that lives or a person.
    fn owner_of(&self, evaluation: u64) -> unyoke_run::Result<Option<String>> {
        let nowhere = unyoke_run::Layout::new("");
        let layout = self.terms.layout.as_ref().unwrap_or(&nowhere);
        Ok(working(layout, &self.store)?.remove(&evaluation).and_then(|working| working.owner))
    }
}

/// Puts a design of one's own into the queue: it is measured before anything is searched for.
#[utoipa::path(post, path = "/api/studies/{id}/queue", tag = "actions", params(("id" = String, Path)), request_body = QueueBody, responses(
    (status = 200, description = "It is queued", body = Done),
    (status = 422, description = "The design is not possible, or lacks nothing", body = ErrorAnswer),
))]
async fn queue(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let QueueBody { key, by, design, measurement } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Queued { .. }))?.beginning();
    act(&hall, &id, request, move |acting| {
        let design = typed(acting.study.problem(), Design::new(), &design)?;
        if let Some(measurement) = &measurement {
            acting.study.problem().measurement_index(measurement).map_err(says)?;
        }
        let entry = acting.study.queue(design, measurement.as_deref()).map_err(says)?;
        Ok(Done { entry: Some(entry), ..acting.done() })
    })
    .await
}

/// Takes an entry out of the queue.
#[utoipa::path(post, path = "/api/studies/{id}/unqueue", tag = "actions", params(("id" = String, Path)), request_body = UnqueueBody, responses(
    (status = 200, description = "It is not queued any more", body = Done),
))]
async fn unqueue(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let UnqueueBody { key, by, entry } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Unqueued { .. }))?;
    act(&hall, &id, request, move |acting| {
        acting.study.unqueue(entry).map_err(says)?;
        Ok(Done { entry: Some(entry), ..acting.done() })
    })
    .await
}

/// Leaves out a measurement for a while.
#[utoipa::path(post, path = "/api/studies/{id}/pause", tag = "actions", params(("id" = String, Path)), request_body = PauseBody, responses(
    (status = 200, description = "It is paused", body = Done),
))]
async fn pause(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let PauseBody { key, by, measurement, until, reason } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Paused { .. }))?.beginning();
    let reason = optional_reason(reason.as_deref())?;
    if until.is_some_and(|until| until <= now()) {
        return Err(Refusal::bad("until is in the past"));
    }
    act(&hall, &id, request, move |acting| {
        acting.study.pause(&measurement, Pause { until, reason }).map_err(says)?;
        Ok(acting.done())
    })
    .await
}

/// Makes a paused measurement again.
#[utoipa::path(post, path = "/api/studies/{id}/resume", tag = "actions", params(("id" = String, Path)), request_body = ResumeBody, responses(
    (status = 200, description = "It is not paused any more", body = Done),
))]
async fn resume(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let ResumeBody { key, by, measurement } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::Resumed { .. }))?;
    act(&hall, &id, request, move |acting| {
        let was_paused = acting.study.resume(&measurement).map_err(says)?;
        let note = (!was_paused).then(|| format!("{measurement} was not paused"));
        Ok(Done { notes: note.into_iter().collect(), ..acting.done() })
    })
    .await
}

/// Changes what evaluations of a measurement cost from now on, in the study and in its file.
#[utoipa::path(post, path = "/api/studies/{id}/price", tag = "actions", params(("id" = String, Path)), request_body = PriceBody, responses(
    (status = 200, description = "It has another price", body = Done),
    (status = 422, description = "The study file cannot be changed from here", body = ErrorAnswer),
))]
async fn price(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let PriceBody { key, by, measurement, cost } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::CostChanged { .. }))?;
    act(&hall, &id, request, move |acting| {
        acting.study.problem().measurement_index(&measurement).map_err(says)?;
        if !(cost.is_finite() && cost > 0.0) {
            return Err(says(unyoke::Error::BadCost { measurement, cost }));
        }
        // The file first: a run that begins meanwhile would otherwise go back to the price that it has.
        if let Some(file) = &acting.terms.file {
            file.change_price(&measurement, cost).map_err(said)?;
        }
        acting.study.set_cost(&measurement, cost).map_err(says)?;
        Ok(acting.done())
    })
    .await
}

/// Changes the most that may be spent, in the study file and for programs that run the study.
#[utoipa::path(post, path = "/api/studies/{id}/budget", tag = "actions", params(("id" = String, Path)), request_body = BudgetBody, responses(
    (status = 200, description = "The budget is another", body = Done),
    (status = 422, description = "The study file cannot be changed from here", body = ErrorAnswer),
))]
async fn budget(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Done>, Refusal> {
    let BudgetBody { key, by, cost } = read(&headers, &body)?;
    let request = Request::new(key, by, |event| matches!(event, Event::BudgetChanged { .. }))?;
    act(&hall, &id, request, move |acting| {
        if cost.is_some_and(|cost| !(cost.is_finite() && cost > 0.0)) {
            return Err(Refusal::bad("the budget must be a positive number, or null for no limit"));
        }
        acting.file()?.change_budget(cost).map_err(said)?;
        acting.study.set_budget(cost).map_err(says)?;
        Ok(acting.done())
    })
    .await
}
