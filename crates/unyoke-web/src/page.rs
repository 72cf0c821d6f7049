//! Pages as HTML, made from [`Shown`](crate::shown::Shown) alone: readable without a script.

use maud::{DOCTYPE, Markup, html};

use crate::assets;
use crate::shown::{FailurePage, Login, Ready, Shown, StudyList, View};

/// The list of all studies.
pub(crate) fn studies(list: &StudyList) -> Markup {
    let rows = html! {
        ul {
            @for study in &list.studies {
                li {
                    a href={ "/studies/" (study.id) "/next" } { (study.name) }
                    " " (study.store)
                    @if let Some(trouble) = &study.trouble { p { (trouble) } }
                }
            }
        }
    };
    document("Studies", &rows)
}

/// Asks for a token.
pub(crate) fn login(login: &Login) -> Markup {
    let form = html! {
        @if login.failed { p role="alert" { "That is not a token of this server." } }
        form method="post" action="/login" {
            input type="hidden" name="to" value=(login.to);
            label for="token" { "Token, as `unyoke serve` has printed it" }
            input id="token" name="token" type="password" required autocomplete="current-password";
            button { "Open" }
        }
    };
    document("Who are you?", &form)
}

/// Says why there is no other page.
pub(crate) fn failure(failure: &FailurePage) -> Markup {
    document(&failure.title, &html! { p { (failure.message) } p { a href="/" { "All studies" } } })
}

/// A page of a study.
pub(crate) fn study(view: View, shown: &Shown) -> Markup {
    let content = html! {
        nav {
            @for other in View::ALL {
                a href={ "/studies/" (shown.id) "/" (other.slug()) } { (other.title()) } " "
            }
        }
        p { "spent " (shown.status.spent) }
        @match &shown.next {
            Ready::Done { value, .. } => p { (value.next.measurement) " at " (value.next.design.to_string()) },
            Ready::Computing => p { "being computed" },
            Ready::Nothing(why) | Ready::Failed(why) => p { (why) },
        }
    };
    document(view.title(), &content)
}

fn document(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                link rel="stylesheet" href=(assets::url("page.css"));
            }
            body { main { h1 { (title) } (content) } }
        }
    }
}
