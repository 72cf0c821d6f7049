//! What runs now, with its log; what waits for somebody; what failed, and why.

use maud::{Markup, html};
use unyoke_view::words::one_line;
use unyoke_view::{EvaluationStatus, EvaluationView};

use super::entries;
use super::parts::{asked_for, deed, design_line, duration, last_deed, measured, outcome};
use crate::shown::{LiveView, Shown};

/// Failures and results that are listed, the latest first.
const LISTED: usize = 20;

pub(super) fn content(shown: &Shown) -> Markup {
    let (by_hand, running): (Vec<&LiveView>, Vec<&LiveView>) =
        shown.live.iter().partition(|live| live.by_hand);
    let ended = |status: EvaluationStatus| -> Vec<EvaluationView> {
        shown.evaluations.latest().filter(|one| one.status == status).take(LISTED).collect()
    };
    let (failed, completed) = (ended(EvaluationStatus::Failed), ended(EvaluationStatus::Completed));
    html! {
        section data-part="running" data-parts id="running" {
            h2 data-part="head" { "Running " span.tally { (running.len()) } }
            @if running.is_empty() { p.state data-part="none" { "Nothing is running." } }
            @for one in running { (run(shown, one)) }
        }
        section data-part="hands" { (waiting(shown, &by_hand)) }
        section data-part="failures" data-parts id="failures" {
            h2 data-part="head" { "Failures" }
            @if failed.is_empty() { p.state data-part="none" { "Nothing has failed." } }
            @for one in &failed { (failure(shown, one)) }
        }
        section data-part="results" { (results(shown, &completed)) }
    }
}

fn run(shown: &Shown, one: &LiveView) -> Markup {
    let pending = &one.pending;
    let id = format!("run-{}", pending.evaluation);
    let since =
        pending.since.or_else(|| one.elapsed.map(|elapsed| shown.now.saturating_sub(elapsed)));
    html! {
        article.card.run data-part=(id) aria-labelledby={ (id) "-name" } {
            div.row {
                h3 id={ (id) "-name" } { (pending.measurement) " " span.number { "#" (pending.evaluation) } }
                @match (since, &pending.owner) {
                    (Some(since), Some(_)) => p.elapsed data-since=(since) { (duration(shown.now.saturating_sub(since))) },
                    (None, Some(_)) => p.elapsed { "running" },
                    (_, None) => p.elapsed.warning { "orphaned; will be resumed" },
                }
            }
            p { (design_line(&shown.problem, &pending.design)) }
            p.muted {
                @if let Some(owner) = &pending.owner { "run by " (one_line(owner)) }
                @if pending.attempt > 1 { ", attempt " (pending.attempt) }
                @if let Some(job) = &one.job { ", job " (one_line(job)) }
            }
            @if one.has_log { (log(shown, pending.evaluation)) }
            @if shown.visitor.may_write && one.can_stop {
                (entries::folded(&format!("{id}-stop"), "Stop…",
                    &entries::simple("stop", "Stop it", pending.evaluation, "Its command is ended, and the evaluation is withdrawn.")))
            }
        }
    }
}

/// The end of what a command has written, which the script follows while it is open.
fn log(shown: &Shown, evaluation: u64) -> Markup {
    let address = |stream: &str| {
        format!("/api/studies/{}/evaluations/{evaluation}/log?stream={stream}", shown.id)
    };
    html! {
        details.log id={ "log-" (evaluation) } {
            summary { "Log" }
            @for stream in ["stdout", "stderr"] {
                div.stream data-log=(address(stream)) hidden {
                    p.muted { (stream) }
                    pre tabindex="0" role="region" aria-label={ (stream) " of evaluation " (evaluation) } {}
                }
            }
            noscript { p { a href=(address("stdout")) { "stdout" } ", " a href=(address("stderr")) { "stderr" } } }
        }
    }
}

/// Evaluations that people make.
fn waiting(shown: &Shown, all: &[&LiveView]) -> Markup {
    html! {
        @if !all.is_empty() {
            h2 { "Waiting for somebody " span.tally { (all.len()) } }
            ul.rows {
                @for one in all {
                    li {
                        div.grow {
                            b { (one.pending.measurement) } " at " (design_line(&shown.problem, &one.pending.design))
                            @if let Some(asked) = last_deed(shown, one.pending.evaluation, |what| what == "asked") {
                                " " span.muted { (asked_for(asked)) }
                            }
                        }
                        a.button href={ "/studies/" (shown.id) "/bench#card-" (one.pending.evaluation) } { "Enter the result" }
                    }
                }
            }
        }
    }
}

fn failure(shown: &Shown, one: &EvaluationView) -> Markup {
    let id = format!("failure-{}", one.evaluation);
    html! {
        article.card data-part=(id) aria-labelledby={ (id) "-name" } {
            div.row {
                h3 id={ (id) "-name" } { (measured(one)) " " span.number { "#" (one.evaluation) } }
                @if let Some(done) = last_deed(shown, one.evaluation, |what| what == "failed") { p.muted { (deed(done)) } }
            }
            p.reason { (one.reason.as_deref().map_or_else(|| "no reason was given".to_owned(), one_line)) }
            p.muted { (design_line(&shown.problem, &one.design)) }
            (log(shown, one.evaluation))
            @if shown.visitor.may_write { (entries::simple("retry", "Make it again", one.evaluation, "")) }
        }
    }
}

fn results(shown: &Shown, all: &[EvaluationView]) -> Markup {
    html! {
        h2 { "Latest results" }
        @if all.is_empty() { p.state { "There are no results yet." } } @else {
            div.scroll tabindex="0" role="region" aria-label="Latest results" {
                table {
                    thead { tr {
                        th scope="col" { "evaluation" } th.text scope="col" { "measured" } th.text scope="col" { "result" }
                        th.text scope="col" { "recorded" } th.text scope="col" { "design" }
                    } }
                    tbody {
                        @for one in all {
                            tr {
                                th scope="row" { (one.evaluation) }
                                td.text { (measured(one)) }
                                td.text { (outcome(one)) }
                                td.text { @if let Some(done) = last_deed(shown, one.evaluation, |what| what != "asked") { (deed(done)) } }
                                td.text { (design_line(&shown.problem, &one.design)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
