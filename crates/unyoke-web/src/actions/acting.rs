//! Carries out what somebody does to a study: opens it, signs what is recorded, and lets go.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::Arc;
use unyoke::{
    Design, Evaluation, Event, Journal, Outcome, Parameter, Problem, Reading, Record, Study,
};
use unyoke_run::{
    Entry, Signature, Signed, StudyFile, claim_by_hand, left_out, now, record_by_hand, with_value,
    working,
};
use unyoke_store::{Location, Store};
use unyoke_view::words::is_over_budget;
use unyoke_view::{EvaluationView, SuggestionView, evaluation};
use utoipa::ToSchema;

use super::bodies::Sent;
use crate::answer::{Kind, Refusal};
use crate::events::off_thread;
use crate::hall::{Hall, Visit};
use crate::shelf::{Served, Terms, subject};

/// The longest reason, in characters.
const LONGEST_REASON: usize = 2000;

/// What an action has led to.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Done {
    /// How many records the journal has.
    pub(super) position: u64,
    /// Whether a request with this key was carried out before; then nothing was done now.
    pub(super) repeated: bool,
    /// The evaluation as it stands, as in docs/views.md.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    pub(super) evaluation: Option<EvaluationView>,
    /// What was asked for, as in docs/views.md; without options if the request is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    pub(super) suggestion: Option<SuggestionView>,
    /// The number of an entry in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) entry: Option<u64>,
    /// What else to know.
    pub(super) notes: Vec<String>,
}

/// A study that is being changed.
pub(super) struct Acting {
    pub(super) study: Study<Signed<Store>>,
    pub(super) store: Store,
    pub(super) terms: Arc<Terms>,
}

/// An action that somebody sends.
pub(super) struct Call<B> {
    pub(super) caller: Caller,
    pub(super) body: B,
}

/// Who does something to which study.
pub(super) struct Caller {
    hall: Arc<Hall>,
    study: String,
    signature: Signature,
    /// Whether a study that was not begun is begun by it.
    begins: bool,
}

impl<B: DeserializeOwned> FromRequest<Arc<Hall>> for Call<B> {
    type Rejection = Response;

    async fn from_request(request: Request, hall: &Arc<Hall>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Path(study) = Path::from_request_parts(&mut parts, hall)
            .await
            .map_err(IntoResponse::into_response)?;
        let headers = parts.headers.clone();
        let body = Bytes::from_request(Request::from_parts(parts, body), hall)
            .await
            .map_err(IntoResponse::into_response)?;
        let read = || -> Result<Self, Refusal> {
            let Sent { key, by, body } = read(&headers, &body)?;
            let (hall, signature) = (Arc::clone(hall), signature(key, by)?);
            Ok(Self { caller: Caller { hall, study, signature, begins: false }, body })
        };
        read().map_err(IntoResponse::into_response)
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

fn signature(key: String, by: Option<String>) -> Result<Signature, Refusal> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !(8..=64).contains(&key.len()) || !key.chars().all(is_plain) {
        let message = "key must have 8 to 64 letters, digits, - or _, new for each action";
        return Err(Refusal::bad(message));
    }
    let by = by.map(|by| by.trim().to_owned()).filter(|by| !by.is_empty());
    let signature = Signature { by, at: Some(now()), key: Some(key) };
    signature.check().map_err(|error| Refusal::bad(error.to_string()))?;
    Ok(signature)
}

impl Caller {
    /// A study that was not begun is begun by this.
    pub(super) fn beginning(self) -> Self {
        Self { begins: true, ..self }
    }

    /// The study as it stands.
    pub(super) async fn visit(&self) -> Result<Visit, Refusal> {
        self.hall.visit(&self.study).await
    }

    /// Carries out a deed, which leads to a certain event.
    pub(super) async fn act(
        self,
        leads_to: fn(&Event) -> bool,
        deed: impl FnOnce(&mut Acting) -> Result<Done, Refusal> + Send + 'static,
    ) -> Result<Json<Done>, Refusal> {
        let served = self.hall.study(&self.study).await?;
        let act = move || Ok(self.carry_out(&served, leads_to, deed));
        Ok(Json(off_thread(act).await??))
    }

    fn carry_out(
        self,
        served: &Arc<Served>,
        leads_to: fn(&Event) -> bool,
        deed: impl FnOnce(&mut Acting) -> Result<Done, Refusal>,
    ) -> Result<Done, Refusal> {
        let key = self.signature.key.clone().unwrap_or_default();
        let Some(_under_way) = served.begin(&key) else {
            let message = "this request is being carried out; send it again to see what came of it";
            return Err(Refusal::new(Kind::Unavailable, message));
        };
        let terms = served.terms()?;
        let mut acting = self.open(&terms)?;
        let done = match acting.study.journal().repeated() {
            Some(at) => acting.again(at, leads_to),
            None => deed(&mut acting).or_else(|refusal| match acting.study.journal().repeated() {
                // Another program has carried it out meanwhile.
                Some(at) => acting.again(at, leads_to),
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

    fn open(self, terms: &Arc<Terms>) -> Result<Acting, crate::error::Error> {
        let Self { signature, begins, .. } = self;
        if let Some(file) = terms.file.as_ref().filter(|_| begins) {
            file.open_or_create_as(signature.by.as_deref())?;
        }
        let store = Store::open(&terms.location)?;
        let study = Study::open(Signed::new(store.clone(), signature)?)?;
        if let Some(file) = &terms.file {
            file.check_problem(&study)?;
        }
        Ok(Acting { study, store, terms: Arc::clone(terms) })
    }
}

/// What the engine says, as it is answered.
pub(super) fn says(error: unyoke::Error) -> Refusal {
    crate::error::Error::from(error).into()
}

/// What the code that the command line uses as well says.
pub(super) fn said(error: unyoke_run::Error) -> Refusal {
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

    pub(super) fn done(&self) -> Done {
        Done { position: self.study.position(), ..Done::default() }
    }

    pub(super) fn view(&self, id: u64) -> Option<EvaluationView> {
        evaluation(&self.study, id)
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

    pub(super) fn evaluation(&self, id: u64) -> Result<&Evaluation, Refusal> {
        let known = self.study.evaluations().iter().find(|evaluation| evaluation.id == id);
        known.ok_or_else(|| says(unyoke::Error::UnknownEvaluation { id }))
    }

    /// Records something of an evaluation.
    pub(super) fn record(&mut self, id: u64, entry: Entry) -> Result<Done, Refusal> {
        self.evaluation(id)?;
        let mut notes = record_by_hand(&mut self.study, &self.store, id, entry).map_err(said)?;
        if is_over_budget(self.study.spent(), self.terms.budget.cost) {
            notes.push("the budget is exceeded: nothing more will be asked for".to_owned());
        }
        Ok(Done { evaluation: self.view(id), notes, ..self.done() })
    }

    /// What came out of an evaluation. Values may be left out of what is corrected.
    pub(super) fn outcome(&self, id: u64, given: Given) -> Result<Outcome, Refusal> {
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

    pub(super) fn file(&self) -> Result<&StudyFile, Refusal> {
        let message =
            "this server has no study file of this study, and the next run would follow that";
        self.terms.file.as_ref().ok_or_else(|| Refusal::new(Kind::Refused, message))
    }
}

/// What somebody says has come out.
pub(super) struct Given {
    pub(super) values: BTreeMap<String, Reading>,
    pub(super) missing: Option<String>,
    pub(super) cost: Option<f64>,
    pub(super) design: BTreeMap<String, serde_json::Value>,
    /// Whether outputs that are left out have a value already.
    pub(super) keeps_others: bool,
}

/// A design with values that were sent.
pub(super) fn typed(
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
pub(super) fn reason(text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > LONGEST_REASON {
        let message = format!("a reason must have 1 to {LONGEST_REASON} characters");
        return Err(Refusal::bad(message));
    }
    Ok(text.to_owned())
}

pub(super) fn optional_reason(text: Option<&str>) -> Result<Option<String>, Refusal> {
    text.filter(|text| !text.trim().is_empty()).map(reason).transpose()
}

impl Acting {
    /// Who works on an evaluation, if that is a program that lives or a person.
    pub(super) fn owner_of(&self, evaluation: u64) -> unyoke_run::Result<Option<String>> {
        let nowhere = unyoke_run::Layout::new("");
        let layout = self.terms.layout.as_ref().unwrap_or(&nowhere);
        Ok(working(layout, &self.store)?.remove(&evaluation).and_then(|working| working.owner))
    }
}
