//! Pages for people, gathered from views.

use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::Markup;
use std::sync::Arc;

use unyoke_run::now;

use crate::access::Role;
use crate::answer::{Kind, Refusal};
use crate::api::{prices, query_of};
use crate::assets;
use crate::computing::Question;
use crate::events::off_thread;
use crate::hall::{Hall, Visit};
use crate::page;
use crate::shown::{Evaluations, FailurePage, Login, Shown, StudyList, View, Visitor};
use crate::views;

/// Pages with more bytes are compressed.
const SHORT: usize = 1024;

/// A page that cannot be shown.
#[derive(Debug)]
pub(crate) struct NoPage(pub(crate) Refusal);

impl From<Refusal> for NoPage {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<crate::error::Error> for NoPage {
    fn from(error: crate::error::Error) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for NoPage {
    fn into_response(self) -> Response {
        let Refusal { kind, message } = self.0;
        let (status, title) = (kind.status().as_u16(), kind.title().to_owned());
        let failure = FailurePage { status, title, message };
        html(kind.status(), &HeaderMap::new(), page::failure(&failure))
    }
}

/// A page as it is sent.
fn html(status: StatusCode, headers: &HeaderMap, markup: Markup) -> Response {
    let text = markup.into_string();
    let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    match assets::gzip(text.as_bytes()).filter(|_| accepts_gzip(headers) && text.len() > SHORT) {
        Some(short) => {
            let coding = [(header::CONTENT_ENCODING, "gzip"), (header::VARY, "accept-encoding")];
            (status, kind, coding, short).into_response()
        }
        None => (status, kind, text).into_response(),
    }
}

/// Whether a browser understands what is compressed.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|text| {
        let mut codings = text.split(',').map(str::trim);
        codings.any(|one| one == "gzip" || one.starts_with("gzip;") && !one.ends_with("q=0"))
    })
}

fn visitor(role: Role) -> Visitor {
    Visitor { may_write: role == Role::Writer }
}

/// All studies; the only one at once.
pub(crate) async fn studies(
    State(hall): State<Arc<Hall>>,
    Extension(role): Extension<Role>,
    headers: HeaderMap,
) -> Result<Response, NoPage> {
    let studies = hall.cards().await?;
    if let [only] = &studies[..]
        && only.trouble.is_none()
    {
        return Ok(Redirect::to(&format!("/studies/{}/next", only.id)).into_response());
    }
    let list = StudyList { visitor: visitor(role), studies };
    Ok(html(StatusCode::OK, &headers, page::studies(&list)))
}

/// A study without a view: its first.
pub(crate) async fn study(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
) -> Result<Redirect, NoPage> {
    let served = hall.study(&id).await?;
    Ok(Redirect::to(&format!("/studies/{}/next", served.id)))
}

/// A view of a study.
pub(crate) async fn view(
    State(hall): State<Arc<Hall>>,
    Path((id, view)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    Extension(role): Extension<Role>,
    headers: HeaderMap,
) -> Result<Response, NoPage> {
    let no_view = || Refusal::new(Kind::NotFound, "there is no such page");
    let view = View::of(&view).ok_or_else(no_view)?;
    let query = query_of(query.as_deref());
    let Visit { computer, glance, served } = hall.visit(&id).await?;
    let prices = prices(&query, glance.study.problem())?;
    let question = match prices.is_empty() {
        true => Question::Next,
        false => Question::WhatIf { prices: prices.clone() },
    };
    let next = computer.ask(&question, &glance).next();
    let report = computer.ask(&Question::Report, &glance).report();
    let studies = hall.quick_cards().await?;
    let made = off_thread(move || {
        let status = views::status_of(&glance)?;
        let shown = Shown {
            visitor: visitor(role),
            studies,
            id: served.id.clone(),
            position: glance.position,
            problem: Arc::new(glance.study.problem().clone()),
            live: Arc::new(views::live(&glance, &status)),
            status: Arc::new(status),
            evaluations: Arc::clone(&glance.study) as Arc<dyn Evaluations>,
            deeds: Arc::clone(&glance.deeds),
            next,
            prices,
            report,
            query,
            notes: glance.notes.clone(),
            now: now(),
        };
        Ok(html(StatusCode::OK, &headers, page::study(view, &shown)))
    });
    Ok(made.await?)
}

/// The page that asks for a token.
pub(crate) fn login(login: &Login) -> Response {
    html(StatusCode::UNAUTHORIZED, &HeaderMap::new(), page::login(login))
}

/// A file of the pages.
pub(crate) async fn asset(
    Path(path): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let none = || Refusal::new(Kind::NotFound, "there is no such file");
    let asset = assets::find(&path).ok_or_else(none)?;
    let tag = format!("\"{}\"", asset.version);
    let keep = match query_of(query.as_deref()).get("v") == Some(&asset.version) {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let common = [
        (header::ETAG, tag.clone()),
        (header::CACHE_CONTROL, keep.to_owned()),
        (header::VARY, "accept-encoding".to_owned()),
    ];
    if known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag)) {
        return Ok((StatusCode::NOT_MODIFIED, common).into_response());
    }
    let kind = [(header::CONTENT_TYPE, asset.kind)];
    Ok(match &asset.gzip {
        Some(short) if accepts_gzip(&headers) => {
            let coding = [(header::CONTENT_ENCODING, "gzip")];
            (common, kind, coding, short.clone()).into_response()
        }
        _ => (common, kind, asset.bytes.to_vec()).into_response(),
    })
}
