//! What stands around every page: its head, the name of the study, how it stands, and the way to other views.

use maud::{DOCTYPE, Markup, html};
use unyoke_view::words::{count, short, spent_of};

use crate::assets;
use crate::shown::{Shown, View};

/// Without a script, a page that waits for results is loaded again after so many seconds.
const AGAIN: &str = "3";

/// A page that belongs to no study.
pub(super) fn plain(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, Waiting::No))
            body {
                header.top { div.masthead { p.study { "Unyoke" } } }
                main id="main" { h1 { (title) } (content) }
            }
        }
    }
}

/// A page of a study.
pub(super) fn of_study(view: View, shown: &Shown, content: &Markup) -> Markup {
    let name = shown.status.plan.name.as_deref().unwrap_or(&shown.id);
    let needs = match view {
        View::Next => !shown.next.is_current(shown.position),
        View::Front | View::Spending | View::Models => !shown.report.is_current(shown.position),
        View::Designs | View::Live | View::Bench => false,
    };
    let waiting = if needs { Waiting::ForResults } else { Waiting::No };
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{}: {name}", view.title()), waiting))
            body data-study=(shown.id) data-view=(view.slug()) data-position=(shown.position) data-now=(shown.now) {
                a.skip href="#main" { "Skip to the content" }
                header.top {
                    div.masthead {
                        @if shown.studies.len() > 1 {
                            a.all href="/" { "All studies" }
                        }
                        p.study { (name) }
                        div.stand id="stand" data-parts { (stand(shown)) }
                        p.connection id="connection" role="status" {}
                        p.person id="person" {}
                    }
                    (views(view, &shown.id))
                }
                main id="main" tabindex="-1" {
                    h1 { (view.title()) }
                    div id="notices" data-parts { (notices(shown)) }
                    div.content id="content" data-parts { (content) }
                }
                p.outbox id="outbox" role="status" hidden {}
            }
        }
    }
}

/// Whether a page lacks something that is being computed.
#[derive(PartialEq)]
enum Waiting {
    No,
    ForResults,
}

fn head(title: &str, waiting: Waiting) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            @if waiting == Waiting::ForResults {
                noscript { meta http-equiv="refresh" content=(AGAIN); }
            }
            title { (title) }
            link rel="icon" href=(assets::url("icon.svg")) type="image/svg+xml";
            link rel="stylesheet" href=(assets::url("report.css"));
            link rel="stylesheet" href=(assets::url("page.css"));
            script src=(assets::url("report.js")) defer {}
            script src=(assets::url("page.js")) type="module" {}
        }
    }
}

fn views(current: View, id: &str) -> Markup {
    html! {
        nav.views aria-label="Views" {
            ul {
                @for view in View::ALL {
                    li {
                        a href={ "/studies/" (id) "/" (view.slug()) }
                            aria-current=[(view == current).then_some("page")] { (view.title()) }
                    }
                }
            }
        }
    }
}

/// How the study stands, in a line.
fn stand(shown: &Shown) -> Markup {
    let status = &shown.status;
    let under_way = status.committed - status.spent;
    let evaluations = usize::try_from(shown.evaluations.count()).unwrap_or(usize::MAX);
    html! {
        p data-part="stand" {
            span.together {
                (spent_of(status.spent, status.plan.budget))
                @if under_way > 1e-9 * status.committed { ", " (short(under_way)) " under way" }
            }
            span.sep { " · " }
            span.together { (count(evaluations, "evaluation")) }
            @if !status.pending.is_empty() {
                span.sep { " · " } span.together { (status.pending.len()) " pending" }
            }
        }
    }
}

fn notices(shown: &Shown) -> Markup {
    html! {
        @for (i, note) in shown.notes.iter().enumerate() {
            p.notice data-part={ "note-" (i) } { (note) }
        }
    }
}
