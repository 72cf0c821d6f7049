//! Who measured what: a row for each design, a column for each output, with when and by whom.

use maud::{Markup, html};
use std::collections::HashMap;
use unyoke::Output;
use unyoke_view::words::reading;
use unyoke_view::{EvaluationStatus, EvaluationView, design_key};

use super::parts::{deed, is_signed, last_deed, parameters, values_of};
use crate::shown::{Evaluations, Shown};

/// Designs on a page.
const ROWS: usize = 100;

pub(super) fn content(shown: &Shown) -> Markup {
    let rows = rows(&*shown.evaluations);
    let pages = rows.len().div_ceil(ROWS).max(1);
    let asked = shown.query.get("page").and_then(|page| page.parse().ok()).unwrap_or(1);
    let page = usize::clamp(asked, 1, pages);
    // Formulas are known everywhere, and never measured.
    let outputs: Vec<&Output> =
        shown.problem.outputs.iter().filter(|o| o.formula.is_none()).collect();
    html! {
        section data-part="designs" {
            p {
                "A row for each design, the latest first; a column for each output, with its value, the evaluation that gave it, \
                 by whom and when."
            }
            @if rows.is_empty() {
                p.state { "Nothing has been asked for yet." }
            } @else {
                div.scroll.matrix tabindex="0" role="region" aria-label="Designs and outputs" {
                    table {
                        thead { tr {
                            th scope="col" { "design" }
                            @for output in &outputs { th.text scope="col" { (output.name) } }
                            @for name in parameters(&shown.problem) { th scope="col" { (name) } }
                        } }
                        tbody {
                            @for (i, row) in rows.iter().enumerate().rev().skip((page - 1) * ROWS).take(ROWS) {
                                (design_row(shown, &outputs, (i, row)))
                            }
                        }
                    }
                }
                (pager(shown, page, pages))
            }
        }
    }
}

/// The evaluations of each design, in the order in which designs were first asked for or imported.
fn rows(evaluations: &dyn Evaluations) -> Vec<Vec<u64>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut rows: Vec<Vec<u64>> = vec![];
    for number in 0..evaluations.count() {
        let Some(design) = evaluations.design(number) else { continue };
        let at = *places.entry(design_key(design)).or_insert(rows.len());
        if at == rows.len() {
            rows.push(vec![]);
        }
        rows[at].push(number);
    }
    rows
}

fn design_row(shown: &Shown, outputs: &[&Output], (place, row): (usize, &[u64])) -> Markup {
    let row: Vec<EvaluationView> =
        row.iter().filter_map(|number| shown.evaluations.one(*number)).collect();
    let Some(first) = row.first() else { return html! {} };
    html! {
        tr data-key=(design_key(&first.design)) {
            th scope="row" { (place + 1) }
            @for output in outputs { (cell(shown, output, &row)) }
            (values_of(&shown.problem, &first.design))
        }
    }
}

/// All that was tried of an output at a design. What was withdrawn leaves no trace.
fn cell(shown: &Shown, output: &Output, row: &[EvaluationView]) -> Markup {
    let is_own = |one: &&EvaluationView| {
        one.outputs.contains(&output.name) && one.status != EvaluationStatus::Withdrawn
    };
    let own: Vec<&EvaluationView> = row.iter().filter(is_own).collect();
    html! {
        td.text {
            @if own.is_empty() { span.muted { "–" span.unseen { "not measured" } } }
            @for one in own { (attempt(shown, output, one)) }
        }
    }
}

fn attempt(shown: &Shown, output: &Output, one: &EvaluationView) -> Markup {
    let done = last_deed(shown, one.evaluation, |what| what != "asked");
    let done = done.or_else(|| last_deed(shown, one.evaluation, |_| true));
    let owner = shown.live.iter().find(|live| live.pending.evaluation == one.evaluation);
    let owner = owner.and_then(|live| live.pending.owner.as_deref());
    html! {
        div class={ "attempt " (one.status.word()) } {
            @match one.values.get(&output.name) {
                Some(found) => b { (reading(found.value, found.sd)) },
                None if one.status == EvaluationStatus::Completed => span { "no value" },
                None => span { (one.status.word()) },
            }
            " " span.source {
                "#" (one.evaluation)
                @if one.measurement.is_none() { ", imported" }
                @if let Some(owner) = owner { ", " (owner) }
                @if let Some(done) = done {
                    @if is_signed(done) { ", " (deed(done)) }
                }
            }
            @if let Some(reason) = one.reason.as_ref().filter(|_| !one.values.contains_key(&output.name)) {
                " " span.reason { (unyoke_view::words::one_line(reason)) }
            }
        }
    }
}

fn pager(shown: &Shown, page: usize, pages: usize) -> Markup {
    let to = |page: usize| format!("/studies/{}/designs?page={page}", shown.id);
    html! {
        @if pages > 1 {
            nav.pager aria-label="Pages" {
                @if page > 1 { a href=(to(page - 1)) { "Later" } }
                span { "Page " (page) " of " (pages) }
                @if page < pages { a href=(to(page + 1)) { "Earlier" } }
            }
        }
    }
}
