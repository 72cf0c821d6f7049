//! What was spent on which measurement, how much of the budget is left, and what that would buy.

use maud::{Markup, html};
use unyoke::Cost;
use unyoke_view::words::{count, share, short, spent_of};
use unyoke_view::{MeasurementStatus, OptionView, ProspectView};

use super::entries;
use super::parts::{capitalised, evaluations, figure, state};
use crate::shown::Shown;

/// Evaluations that figures can point at.
const LISTED: usize = 300;

/// The inks of measurements, in order: those of the figures.
const INKS: [&str; 6] = ["blue", "vermillion", "green", "purple", "orange", "sky"];

/// The bar is so many units long.
const LENGTH: f64 = 1000.0;

pub(super) fn content(shown: &Shown) -> Markup {
    html! {
        section data-part="budget" { (budget(shown)) }
        section data-part="measurements" { (measurements(shown)) }
        section data-part="rest" { (rest(shown)) }
        section data-part="figures" {
            (state(&shown.report, shown.position))
            @if let Some(report) = shown.report.value() {
                (figure("What each measurement has cost so far, and when each was made.", &report.spending_pictures()))
                (figure("How much of what today's front offers the evaluated designs had reached, averaged over preferences and judged by \
                         what is known today.", &report.progress_pictures()))
            }
            (evaluations(shown, LISTED))
        }
    }
}

/// The bar of what was spent, what is under way and what is left.
fn budget(shown: &Shown) -> Markup {
    let status = &shown.status;
    let whole = status.plan.budget.unwrap_or(0.0).max(status.committed);
    html! {
        p.large { (capitalised(&spent_of(status.spent, status.plan.budget))) }
        @if whole > 0.0 { (bar(shown, whole)) }
        @if let Some(left) = left(shown) {
            p {
                @if status.committed > status.spent { (short(status.committed - status.spent)) " is under way, " }
                (short(left)) " is left."
            }
        }
        @if shown.visitor.may_write {
            (entries::folded("budget-form", "Change the budget…", &entries::form("budget", "Set the budget", &html! {
                label for="budget-cost" { "Most that may be spent in all (empty: no limit)" }
                input id="budget-cost" name="cost" type="number" step="any" min="0" inputmode="decimal" data-kind="number-or-null"
                    value=[status.plan.budget];
            })))
        }
    }
}

fn bar(shown: &Shown, whole: f64) -> Markup {
    let status = &shown.status;
    let mut at = 0.0;
    let mut piece = |amount: f64| {
        let from = at;
        at += LENGTH * amount / whole;
        (from, LENGTH * amount / whole)
    };
    let spent: Vec<(f64, f64)> = status.measurements.iter().map(|m| piece(m.spent)).collect();
    let (from, width) = piece((status.committed - status.spent).max(0.0));
    let words = spent_of(status.spent, status.plan.budget);
    html! {
        svg.budget viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label=(words) {
            rect.f-grid x="0" y="0" width="1000" height="28" {}
            @for (i, (from, width)) in spent.iter().enumerate() {
                rect class={ "f-" (INKS[i % INKS.len()]) } x=(from) y="0" width=(width) height="28" {}
            }
            rect.f-grey x=(from) y="0" width=(width) height="28" opacity="0.6" {}
        }
    }
}

/// What may still be spent; `None` without a budget.
fn left(shown: &Shown) -> Option<f64> {
    shown.status.plan.budget.map(|budget| (budget - shown.status.committed).max(0.0))
}

fn measurements(shown: &Shown) -> Markup {
    let spent: f64 = shown.status.measurements.iter().map(|m| m.spent).sum();
    html! {
        h2 { "By measurement" }
        div.scroll tabindex="0" role="region" aria-label="Spending by measurement" {
            table {
                thead { tr {
                    th scope="col" { "measurement" }
                    @for head in ["cost of one", "completed", "failed", "pending", "spent", "share"] { th scope="col" { (head) } }
                } }
                tbody {
                    @for (i, m) in shown.status.measurements.iter().enumerate() {
                        tr {
                            th scope="row" { span.swatch aria-hidden="true" { (swatch(i)) } (m.name) }
                            td { (cost_words(&m.cost)) }
                            td { (m.completed) } td { (m.failed) } td { (m.pending) }
                            td { (short(m.spent)) }
                            td { @if spent > 0.0 { (share(m.spent / spent)) } }
                        }
                    }
                }
            }
        }
        @if shown.visitor.may_write {
            div.aside {
                @for (i, m) in shown.status.measurements.iter().enumerate() { (price_form(m, i)) }
            }
        }
    }
}

fn swatch(place: usize) -> Markup {
    html! { svg width="12" height="12" { rect class={ "f-" (INKS[place % INKS.len()]) } width="12" height="12" rx="2" {} } }
}

fn cost_words(cost: &Cost) -> String {
    match cost {
        Cost::Constant(cost) => short(*cost),
        Cost::Formula(formula) => formula.to_string(),
        Cost::Learned(_) => "learned".to_owned(),
    }
}

fn price_form(m: &MeasurementStatus, place: usize) -> Markup {
    let Cost::Constant(cost) = &m.cost else { return html! {} };
    let id = format!("price-of-{place}");
    entries::folded(
        &id,
        &format!("Change the price of {}…", m.name),
        &entries::form(
            "price",
            "Set the price",
            &html! {
                input type="hidden" name="measurement" data-kind="text" value=(m.name);
                label for={ (id) "-cost" } { "What one evaluation of " (m.name) " costs from now on" }
                input id={ (id) "-cost" } name="cost" type="number" step="any" min="0" inputmode="decimal" data-kind="number" required value=(cost);
            },
        ),
    )
}

/// What the rest of the budget would buy, and what more is expected to bring.
fn rest(shown: &Shown) -> Markup {
    let prospect = shown.next.value().and_then(|next| next.next.prospect.as_ref());
    html! {
        @if let Some(left) = left(shown) {
            h2 { "What the rest would buy" }
            @if left <= 0.0 { p { "Nothing is left." } } @else {
                p { "With " (short(left)) ", if all of it went to one measurement:" }
                ul.rows {
                    @for m in &shown.status.measurements {
                        li { div.grow { b { (m.name) } } div { (affordable(shown, m, left)) } }
                    }
                }
            }
        }
        @if let Some(prospect) = prospect {
            @for sentence in ProspectView::sentences(prospect) { p { (capitalised(&sentence)) } }
        }
    }
}

fn affordable(shown: &Shown, m: &MeasurementStatus, left: f64) -> String {
    let limit = shown.status.plan.evaluations.get(&m.name);
    let done = (m.completed + m.failed + m.pending + m.retracted) as u64;
    let allowed = limit.map(|most| most.saturating_sub(done));
    match price(shown, m) {
        Some(price) if price > 0.0 => {
            // What fits but for the rounding of sums fits.
            let fits = (left / price * (1.0 + 1e-12)).floor() as u64;
            let number = allowed.map_or(fits, |allowed| allowed.min(fits));
            format!("{} at {}", count(number as usize, "evaluation"), short(price))
        }
        _ => "not known: its cost is learned".to_owned(),
    }
}

/// What one evaluation costs: its price, what its best design would cost, or what it has cost on average.
fn price(shown: &Shown, m: &MeasurementStatus) -> Option<f64> {
    let is_own = |option: &&OptionView| option.measurements == [m.name.clone()];
    let options = shown.next.value().map(|next| &next.next.options);
    let paid = m.completed + m.failed;
    match &m.cost {
        Cost::Constant(cost) => Some(*cost),
        _ => {
            let option = options.and_then(|options| options.iter().find(is_own));
            option.map(|option| option.cost).or((paid > 0).then(|| m.spent / paid as f64))
        }
    }
}
