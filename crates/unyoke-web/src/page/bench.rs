//! The form of whoever measures by hand, made for a phone: ask, a card with the design, a number.

use maud::{Markup, html};
use unyoke_view::words::{one_line, short};
use unyoke_view::{EvaluationStatus, EvaluationView};

use super::entries::{self, Wanted};
use super::parts::{
    asked_for, deed, design_line, design_list, is_signed, last_deed, measured, outcome,
};
use crate::shown::Shown;

/// Entries that can be corrected here, the latest first.
const LISTED: usize = 12;

pub(super) fn content(shown: &Shown) -> Markup {
    let by_hand = shown.live.iter().filter(|live| live.by_hand);
    let cards: Vec<EvaluationView> =
        by_hand.filter_map(|live| shown.evaluations.one(live.pending.evaluation)).collect();
    html! {
        section data-part="ask" { (ask(shown, cards.len())) }
        section.bench data-part="cards" data-parts id="cards" {
            @for evaluation in &cards { (card(shown, evaluation)) }
        }
        section data-part="entries" data-parts id="latest" { (latest(shown)) }
        section data-part="queue" id="queue" { (queue(shown)) }
    }
}

fn ask(shown: &Shown, waiting: usize) -> Markup {
    html! {
        @if waiting == 0 { p.state { "Nothing waits to be measured by hand." } }
        @if shown.visitor.may_write {
            noscript { p.notice { "Entering results needs JavaScript. Everything can be read without it." } }
            (entries::form("ask", "Ask for the next measurement", &html! {
                @if shown.problem.measurements.len() > 1 {
                    label for="ask-measurement" { "Which measurement" }
                    (entries::measurement(&shown.problem, "ask-measurement", "measurements", "whatever is worth most per cost"))
                }
            }))
        } @else {
            p.notice { "You may look at this study. To enter results, open the link for writing that " code { "unyoke serve --write" } " prints." }
        }
    }
}

fn card(shown: &Shown, one: &EvaluationView) -> Markup {
    let id = format!("card-{}", one.evaluation);
    let asked = last_deed(shown, one.evaluation, |what| what == "asked");
    html! {
        article.card.measure id=(id) data-part=(id) aria-labelledby={ (id) "-name" } {
            div.row {
                h2 id={ (id) "-name" } { (measured(one)) }
                p.number { "#" (one.evaluation) }
            }
            (design_list(&shown.problem, &one.design))
            p.muted {
                "cost " (short(one.cost))
                @if let Some(asked) = asked { ", " (asked_for(asked)) }
            }
            @if shown.visitor.may_write {
                (entries::form("tell", "Save", &html! {
                    (entries::about(one.evaluation))
                    (entries::values(shown, &one.outputs, &id, one))
                    (entries::rarely(&shown.problem, &one.outputs, &id, one))
                }))
                div.aside {
                    (entries::folded(&format!("{id}-failed"), "Failed…", &failed(&id, one.evaluation)))
                    (entries::folded(&format!("{id}-withdraw"), "Withdraw…",
                        &entries::simple("withdraw", "Withdraw it", one.evaluation, "It will not be measured, and costs nothing.")))
                }
            }
        }
    }
}

fn failed(id: &str, evaluation: u64) -> Markup {
    entries::form(
        "fail",
        "Record the failure",
        &html! {
            (entries::about(evaluation))
            p { "This design cannot be made or measured. Such designs are avoided from then on." }
            label for={ (id) "-reason" } { "Why" }
            input id={ (id) "-reason" } name="reason" type="text" required maxlength="500" data-kind="text";
        },
    )
}

/// What was entered last, which can be corrected.
fn latest(shown: &Shown) -> Markup {
    let is_entry = |one: &EvaluationView| {
        let ended = matches!(one.status, EvaluationStatus::Completed | EvaluationStatus::Failed);
        ended && one.measurement.is_some()
    };
    let all: Vec<EvaluationView> =
        shown.evaluations.latest().filter(is_entry).take(LISTED).collect();
    html! {
        @if !all.is_empty() { h2 data-part="head" { "Latest entries" } }
        @for one in &all {
            @let id = format!("entry-{}", one.evaluation);
            article.card data-part=(id) aria-labelledby={ (id) "-name" } {
                div.row {
                    h3 id={ (id) "-name" } { (measured(one)) " " span.number { "#" (one.evaluation) } }
                    p.result { (outcome(one)) }
                }
                p.muted {
                    (design_line(&shown.problem, &one.design))
                    @if let Some(done) = last_deed(shown, one.evaluation, |what| what != "asked") {
                        @if is_signed(done) { " · " (deed(done)) }
                    }
                }
                @if let Some(changes) = one.changes() { p.note { (one_line(&changes)) } }
                @if shown.visitor.may_write { (correct(shown, one, &id)) }
            }
        }
    }
}

fn correct(shown: &Shown, one: &EvaluationView, id: &str) -> Markup {
    html! {
        div.aside {
            (entries::folded(&format!("{id}-correct"), "Correct…", &entries::form("correct", "Save the correction", &html! {
                (entries::about(one.evaluation))
                (entries::values(shown, &one.outputs, id, one))
                (entries::rarely(&shown.problem, &one.outputs, id, one))
            })))
            (entries::folded(&format!("{id}-retract"), "Retract…", &entries::form("retract", "Retract it", &html! {
                (entries::about(one.evaluation))
                p { "The result does not count any more; what it cost does." }
                label for={ (id) "-why" } { "Why (may be empty)" }
                input id={ (id) "-why" } name="reason" type="text" maxlength="500" data-kind="text";
            })))
        }
    }
}

/// A design of one's own.
fn queue(shown: &Shown) -> Markup {
    html! {
        h2 { "A design of your own" }
        @if !shown.status.queue.is_empty() {
            ul.rows {
                @for queued in &shown.status.queue {
                    li { div.grow { b { (queued.measurements.join(", ")) } " at " (design_line(&shown.problem, &queued.design)) } }
                }
            }
        }
        @if shown.visitor.may_write {
            (entries::folded("queue-form", "Queue a design…", &entries::form("queue", "Queue it", &html! {
                p { "It is asked for before anything else." }
                (entries::design(&shown.problem, "queue-design", "design", Wanted::All))
                label for="queue-measurement" { "Measure" }
                (entries::measurement(&shown.problem, "queue-measurement", "measurement", "whatever it lacks"))
            })))
        } @else if shown.status.queue.is_empty() { p.muted { "None waits." } }
    }
}
