//! What can be done to a study: each an event in its journal, signed by whoever did it, by the code that the command
//! line uses as well.
//!
//! A request has a key. If it comes again, because its answer was lost or the server was killed, the journal shows
//! that it was carried out, and nothing is done twice.

mod bodies;
mod acting;

use axum::Json;
use std::sync::Arc;
use unyoke::{
    Asked, Design, Event, Journal, Outcome, Pause, Permission, Status, Study, Suggestion,
};
use unyoke_run::{Attempt, BY_HAND, Entry, Limits, Signed, ask_by_hand, now};
use unyoke_store::Store;
use unyoke_view::SuggestionView;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use acting::{Acting, Call, Done, Given, optional_reason, reason, said, says, typed};
use bodies::{
    AskBody, BudgetBody, CorrectBody, EvaluationBody, FailBody, PauseBody, PriceBody, QueueBody,
    ResumeBody, RetractBody, Sent, TellBody, UnqueueBody,
};

use crate::answer::{ErrorAnswer, Kind, Refusal};
use crate::hall::{Hall, Visit};
use crate::shelf::{Terms, subject};

/// What is answered to an action.
type Answer = Result<Json<Done>, Refusal>;

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

/// Asks for the evaluation that is worth most per unit of cost, to make it by hand.
#[utoipa::path(post, path = "/api/studies/{id}/ask", tag = "actions", params(("id" = String, Path)), request_body = Sent<AskBody>, responses(
    (status = 200, description = "What to measure where", body = Done),
    (status = 422, description = "Nothing can be asked for now", body = ErrorAnswer),
))]
async fn ask(Call { caller, body }: Call<AskBody>) -> Answer {
    let AskBody { measurements, fix } = body;
    let leads_to = |event: &Event| subject(event).is_some_and(|(_, what)| what == "asked");
    // What was computed for the page need not be computed again.
    let Visit { computer, glance, .. } = caller.visit().await?;
    let is_free = measurements.is_empty() && fix.is_empty();
    let known = computer.known_suggestion(&glance).filter(|_| is_free);
    caller
        .beginning()
        .act(leads_to, move |acting| {
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
            let asked =
                ask_by_hand(study, store, (&terms.budget, &terms.run), ask).map_err(said)?;
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
#[utoipa::path(post, path = "/api/studies/{id}/tell", tag = "actions", params(("id" = String, Path)), request_body = Sent<TellBody>, responses(
    (status = 200, description = "It is recorded", body = Done),
    (status = 409, description = "It is settled already", body = ErrorAnswer),
))]
async fn tell(Call { caller, body }: Call<TellBody>) -> Answer {
    let TellBody { evaluation, values, missing, cost, design } = body;
    let leads_to = |event: &Event| matches!(event, Event::Measured { .. });
    let missing = optional_reason(missing.as_deref())?;
    if values.is_empty() {
        return Err(Refusal::bad("there are no values; `fail` records that there is none"));
    }
    let given = Given { values, missing, cost, design, keeps_others: false };
    caller
        .act(leads_to, move |acting| {
            let outcome = acting.outcome(evaluation, given)?;
            acting.record(evaluation, Entry::Result(outcome))
        })
        .await
}

/// Records that an evaluation gave no value. It counts as spent.
#[utoipa::path(post, path = "/api/studies/{id}/fail", tag = "actions", params(("id" = String, Path)), request_body = Sent<FailBody>, responses(
    (status = 200, description = "It is recorded", body = Done),
    (status = 409, description = "It is settled already", body = ErrorAnswer),
))]
async fn fail(Call { caller, body }: Call<FailBody>) -> Answer {
    let FailBody { evaluation, reason: why, cost } = body;
    let leads_to = |event: &Event| matches!(event, Event::Failed { .. });
    let mut outcome = Outcome::default().missing(reason(&why)?);
    if let Some(cost) = cost {
        outcome = outcome.cost(cost);
    }
    let entry = Entry::Result(outcome);
    caller.act(leads_to, move |acting| acting.record(evaluation, entry)).await
}

/// Takes an evaluation back: it will not be made, and nothing is spent.
#[utoipa::path(post, path = "/api/studies/{id}/withdraw", tag = "actions", params(("id" = String, Path)), request_body = Sent<EvaluationBody>, responses(
    (status = 200, description = "It is withdrawn", body = Done),
    (status = 409, description = "It is settled already", body = ErrorAnswer),
))]
async fn withdraw(Call { caller, body }: Call<EvaluationBody>) -> Answer {
    let EvaluationBody { evaluation } = body;
    let leads_to = |event: &Event| matches!(event, Event::Withdrawn { .. });
    caller.act(leads_to, move |acting| acting.record(evaluation, Entry::Withdrawal)).await
}

/// Takes an evaluation back, and does not suggest it again right away.
#[utoipa::path(post, path = "/api/studies/{id}/skip", tag = "actions", params(("id" = String, Path)), request_body = Sent<EvaluationBody>, responses(
    (status = 200, description = "It is skipped", body = Done),
    (status = 409, description = "It is settled already", body = ErrorAnswer),
))]
async fn skip(Call { caller, body }: Call<EvaluationBody>) -> Answer {
    let EvaluationBody { evaluation } = body;
    let leads_to = |event: &Event| matches!(event, Event::Skipped { .. });
    caller.act(leads_to, move |acting| acting.record(evaluation, Entry::Skip)).await
}

/// Says that something else came out than was recorded. What was recorded before is kept and shown.
#[utoipa::path(post, path = "/api/studies/{id}/correct", tag = "actions", params(("id" = String, Path)), request_body = Sent<CorrectBody>, responses(
    (status = 200, description = "It is corrected", body = Done),
    (status = 409, description = "It has no result yet", body = ErrorAnswer),
))]
async fn correct(Call { caller, body }: Call<CorrectBody>) -> Answer {
    let CorrectBody { evaluation, values, failed, missing, cost, design } = body;
    let leads_to = |event: &Event| matches!(event, Event::Corrected { .. });
    let (failed, missing) =
        (optional_reason(failed.as_deref())?, optional_reason(missing.as_deref())?);
    if failed.is_some() && !values.is_empty() {
        return Err(Refusal::bad("it has either values or a reason why it failed"));
    }
    caller
        .act(leads_to, move |acting| {
            let is_completed =
                matches!(acting.evaluation(evaluation)?.status, Status::Completed(_));
            let keeps_others = is_completed || failed.is_some() || values.is_empty();
            let given = Given { values, missing: failed.or(missing), cost, design, keeps_others };
            let outcome = acting.outcome(evaluation, given)?;
            acting.record(evaluation, Entry::Correction(outcome))
        })
        .await
}

/// Says that what was recorded does not count. Its cost stays spent.
#[utoipa::path(post, path = "/api/studies/{id}/retract", tag = "actions", params(("id" = String, Path)), request_body = Sent<RetractBody>, responses(
    (status = 200, description = "It is retracted", body = Done),
    (status = 409, description = "It has no result", body = ErrorAnswer),
))]
async fn retract(Call { caller, body }: Call<RetractBody>) -> Answer {
    let RetractBody { evaluation, reason } = body;
    let leads_to = |event: &Event| matches!(event, Event::Retracted { .. });
    let entry = Entry::Retraction(optional_reason(reason.as_deref())?);
    caller.act(leads_to, move |acting| acting.record(evaluation, entry)).await
}

/// Makes a failed evaluation pending again.
#[utoipa::path(post, path = "/api/studies/{id}/retry", tag = "actions", params(("id" = String, Path)), request_body = Sent<EvaluationBody>, responses(
    (status = 200, description = "It is pending", body = Done),
    (status = 422, description = "It has not failed", body = ErrorAnswer),
))]
async fn retry(Call { caller, body }: Call<EvaluationBody>) -> Answer {
    let EvaluationBody { evaluation } = body;
    let leads_to = |event: &Event| matches!(event, Event::Retried { .. });
    caller.act(leads_to, move |acting| acting.record(evaluation, Entry::Retry)).await
}

/// Stops an evaluation that a program runs: it is withdrawn, and whoever runs its command ends that.
#[utoipa::path(post, path = "/api/studies/{id}/stop", tag = "actions", params(("id" = String, Path)), request_body = Sent<EvaluationBody>, responses(
    (status = 200, description = "It is withdrawn; its command ends", body = Done),
    (status = 409, description = "It is settled already", body = ErrorAnswer),
    (status = 422, description = "No program runs it", body = ErrorAnswer),
))]
async fn stop(Call { caller, body }: Call<EvaluationBody>) -> Answer {
    let EvaluationBody { evaluation } = body;
    let leads_to = |event: &Event| matches!(event, Event::Withdrawn { .. });
    caller
        .act(leads_to, move |acting| {
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

/// Puts a design of one's own into the queue: it is measured before anything is searched for.
#[utoipa::path(post, path = "/api/studies/{id}/queue", tag = "actions", params(("id" = String, Path)), request_body = Sent<QueueBody>, responses(
    (status = 200, description = "It is queued", body = Done),
    (status = 422, description = "The design is not possible, or lacks nothing", body = ErrorAnswer),
))]
async fn queue(Call { caller, body }: Call<QueueBody>) -> Answer {
    let QueueBody { design, measurement } = body;
    let leads_to = |event: &Event| matches!(event, Event::Queued { .. });
    caller
        .beginning()
        .act(leads_to, move |acting| {
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
#[utoipa::path(post, path = "/api/studies/{id}/unqueue", tag = "actions", params(("id" = String, Path)), request_body = Sent<UnqueueBody>, responses(
    (status = 200, description = "It is not queued any more", body = Done),
))]
async fn unqueue(Call { caller, body }: Call<UnqueueBody>) -> Answer {
    let UnqueueBody { entry } = body;
    let leads_to = |event: &Event| matches!(event, Event::Unqueued { .. });
    caller
        .act(leads_to, move |acting| {
            acting.study.unqueue(entry).map_err(says)?;
            Ok(Done { entry: Some(entry), ..acting.done() })
        })
        .await
}

/// Leaves out a measurement for a while.
#[utoipa::path(post, path = "/api/studies/{id}/pause", tag = "actions", params(("id" = String, Path)), request_body = Sent<PauseBody>, responses(
    (status = 200, description = "It is paused", body = Done),
))]
async fn pause(Call { caller, body }: Call<PauseBody>) -> Answer {
    let PauseBody { measurement, until, reason } = body;
    let leads_to = |event: &Event| matches!(event, Event::Paused { .. });
    let reason = optional_reason(reason.as_deref())?;
    if until.is_some_and(|until| until <= now()) {
        return Err(Refusal::bad("until is in the past"));
    }
    caller
        .beginning()
        .act(leads_to, move |acting| {
            acting.study.pause(&measurement, Pause { until, reason }).map_err(says)?;
            Ok(acting.done())
        })
        .await
}

/// Makes a paused measurement again.
#[utoipa::path(post, path = "/api/studies/{id}/resume", tag = "actions", params(("id" = String, Path)), request_body = Sent<ResumeBody>, responses(
    (status = 200, description = "It is not paused any more", body = Done),
))]
async fn resume(Call { caller, body }: Call<ResumeBody>) -> Answer {
    let ResumeBody { measurement } = body;
    let leads_to = |event: &Event| matches!(event, Event::Resumed { .. });
    caller
        .act(leads_to, move |acting| {
            let was_paused = acting.study.resume(&measurement).map_err(says)?;
            let note = (!was_paused).then(|| format!("{measurement} was not paused"));
            Ok(Done { notes: note.into_iter().collect(), ..acting.done() })
        })
        .await
}

/// Changes what evaluations of a measurement cost from now on, in the study and in its file.
#[utoipa::path(post, path = "/api/studies/{id}/price", tag = "actions", params(("id" = String, Path)), request_body = Sent<PriceBody>, responses(
    (status = 200, description = "It has another price", body = Done),
    (status = 422, description = "The study file cannot be changed from here", body = ErrorAnswer),
))]
async fn price(Call { caller, body }: Call<PriceBody>) -> Answer {
    let PriceBody { measurement, cost } = body;
    let leads_to = |event: &Event| matches!(event, Event::CostChanged { .. });
    caller
        .act(leads_to, move |acting| {
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
#[utoipa::path(post, path = "/api/studies/{id}/budget", tag = "actions", params(("id" = String, Path)), request_body = Sent<BudgetBody>, responses(
    (status = 200, description = "The budget is another", body = Done),
    (status = 422, description = "The study file cannot be changed from here", body = ErrorAnswer),
))]
async fn budget(Call { caller, body }: Call<BudgetBody>) -> Answer {
    let BudgetBody { cost } = body;
    let leads_to = |event: &Event| matches!(event, Event::BudgetChanged { .. });
    caller
        .act(leads_to, move |acting| {
            if cost.is_some_and(|cost| !(cost.is_finite() && cost > 0.0)) {
                return Err(Refusal::bad(
                    "the budget must be a positive number, or null for no limit",
                ));
            }
            acting.file()?.change_budget(cost).map_err(said)?;
            acting.study.set_budget(cost).map_err(says)?;
            Ok(acting.done())
        })
        .await
}
