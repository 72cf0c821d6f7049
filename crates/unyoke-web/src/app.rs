//! All routes, and the guard at the door: every request passes it before anything else looks at it.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::access::{Role, is_own_origin};
use crate::actions;
use crate::answer::{Kind, Refusal};
use crate::api;
use crate::hall::Hall;
use crate::handbook::{Handbook, Head};
use crate::pages::{self, NoPage};
use crate::rates;
use crate::shown::Login;

/// The longest request, in bytes.
const LONGEST_BODY: usize = 64 << 10;

/// The longest that an answer takes to begin; a request that arrives more slowly is given up.
const LONGEST_ANSWER: Duration = Duration::from_secs(90);

/// The longest address, in bytes.
const LONGEST_ADDRESS: usize = 8 << 10;

/// What pages may do: load files of this server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// Sent with every answer.
const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// The application: what answers requests.
pub(crate) fn app(hall: Arc<Hall>) -> Router {
    let (api, description) = OpenApiRouter::with_openapi(Head::openapi())
        .merge(api::router())
        .merge(actions::router())
        .split_for_parts();
    let handbook = Arc::new(Handbook::new(&description));
    let (as_json, as_page) = (Arc::clone(&handbook), handbook);
    Router::new()
        .merge(api)
        .route("/api/openapi.json", get(move || async move { as_json.json() }))
        .route("/api/docs", get(move || async move { as_page.page() }))
        .route("/", get(pages::studies))
        .route("/studies/{id}", get(pages::study))
        .route("/studies/{id}/{view}", get(pages::view))
        .route("/studies/{id}/figures/{name}", get(api::figure))
        .route("/assets/{*path}", get(pages::asset))
        .route("/login", post(login))
        .route("/logout", post(logout))
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_this_way)
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&hall), guard))
        .with_state(hall)
}

/// Where in a request people are told from programs.
fn is_for_people(uri: &Uri) -> bool {
    !uri.path().starts_with("/api/") && !uri.path().starts_with("/assets/")
}

/// Why a request is refused, in the form that whoever sent it can read.
fn refused(uri: &Uri, refusal: Refusal) -> Response {
    if is_for_people(uri) { NoPage(refusal).into_response() } else { refusal.into_response() }
}

fn too_slow() -> Refusal {
    let message = "this takes long; send the same request again to see what came of it";
    Refusal::new(Kind::Unavailable, message)
}

async fn nothing_here(uri: Uri) -> Response {
    refused(&uri, Refusal::new(Kind::NotFound, "there is nothing at this address"))
}

async fn not_this_way(uri: Uri) -> Response {
    refused(&uri, Refusal::new(Kind::Method, "this address does not take such requests"))
}

/// Lets in who may come in, and adds to each answer what keeps browsers safe.
async fn guard(State(hall): State<Arc<Hall>>, request: Request, next: Next) -> Response {
    let uri = request.uri().clone();
    let mut response = match admit(&hall, request) {
        Admitted::In(request) => {
            let answered = tokio::time::timeout(LONGEST_ANSWER, next.run(request)).await;
            answered.unwrap_or_else(|_| refused(&uri, too_slow()))
        }
        Admitted::Out(refusal) => refused(&uri, refusal),
        Admitted::Elsewhere(response) => response,
    };
    if response.status() == StatusCode::PAYLOAD_TOO_LARGE && !is_json(&response) {
        response = refused(&uri, Refusal::new(Kind::TooLarge, "the request is too long"));
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let keep = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(keep);
    response
}

fn is_json(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}

/// What the guard decides.
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and it is moved once")]
enum Admitted {
    In(Request),
    Out(Refusal),
    Elsewhere(Response),
}

fn admit(hall: &Hall, mut request: Request) -> Admitted {
    let out = |kind: Kind, message: &str| Admitted::Out(Refusal::new(kind, message));
    let (from, now) = (peer(&request), Instant::now());
    if request.uri().path_and_query().map_or(0, |path| path.as_str().len()) > LONGEST_ADDRESS {
        return out(Kind::BadRequest, "the address is too long");
    }
    if hall.buckets.take(from, rates::Kind::Request, now).is_err() {
        return out(Kind::TooMany, "too many requests; wait a little");
    }
    let Some(host) = host_of(&request).filter(|host| hall.access.knows_host(host)) else {
        return out(
            Kind::WrongHost,
            "this server has another name; start it with --host NAME if this one is right",
        );
    };
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    if let Some(refusal) = foreign(&request, &host, is_reading) {
        return Admitted::Out(refusal);
    }
    let path = request.uri().path();
    if path.starts_with("/assets/") || path == "/login" || path == "/logout" {
        return Admitted::In(request);
    }
    let role = match role_of(hall, &request) {
        Ok(Some(role)) => role,
        shown => return stranger(hall, &request, (from, now), shown.is_err()),
    };
    if let Some(response) = tidied(hall, &request) {
        return Admitted::Elsewhere(response);
    }
    if !is_reading {
        if !hall.access.allows_writing() {
            return out(
                Kind::Forbidden,
                "this server only shows studies; `unyoke serve --write` takes actions",
            );
        }
        if role < Role::Writer {
            return out(Kind::Forbidden, "your token only lets you read");
        }
        if hall.buckets.take(from, rates::Kind::Action, now).is_err() {
            return out(Kind::TooMany, "too many actions; wait a little");
        }
    }
    request.extensions_mut().insert(role);
    Admitted::In(request)
}

/// Whoever has no token, or a wrong one.
fn stranger(
    hall: &Hall,
    request: &Request,
    (from, now): (IpAddr, Instant),
    is_wrong: bool,
) -> Admitted {
    if let Some(token) = token_in_address(request)
        && !hall.buckets.is_empty(from, rates::Kind::WrongToken, now)
        && hall.access.role_of_token(&token).is_some()
    {
        return Admitted::Elsewhere(enter(hall, &without_token(request.uri()), &token));
    }
    let shows_token = is_wrong || token_in_address(request).is_some();
    if shows_token && hall.buckets.take(from, rates::Kind::WrongToken, now).is_err() {
        let message = "too many wrong tokens; wait a little";
        return Admitted::Out(Refusal::new(Kind::TooMany, message));
    }
    if is_for_people(request.uri()) && *request.method() == Method::GET {
        let to = without_token(request.uri());
        return Admitted::Elsewhere(pages::login(&Login { failed: shows_token, to }));
    }
    let message = match shows_token {
        true => "this is no token of this server",
        false => {
            "a token is needed: `Authorization: Bearer TOKEN`, as `unyoke serve` has printed it"
        }
    };
    Admitted::Out(Refusal::new(Kind::Unauthorized, message))
}

/// Where a visitor with a token in the address is sent: the token does not belong into histories.
fn tidied(hall: &Hall, request: &Request) -> Option<Response> {
    let is_page = *request.method() == Method::GET && is_for_people(request.uri());
    let token = token_in_address(request).filter(|_| is_page)?;
    let to = without_token(request.uri());
    Some(match hall.access.role_of_token(&token) {
        Some(_) => enter(hall, &to, &token),
        None => Redirect::to(&to).into_response(),
    })
}

/// Sets the cookie that stands for a token.
fn enter(hall: &Hall, to: &str, token: &str) -> Response {
    let cookie = [(header::SET_COOKIE, hall.access.cookie_for(token))];
    (cookie, Redirect::to(to)).into_response()
}

/// What the bearer of a request may do: `None` without a token, `Err` with a wrong one.
fn role_of(hall: &Hall, request: &Request) -> Result<Option<Role>, ()> {
    if let Some(value) = request.headers().get(header::AUTHORIZATION) {
        let text = value.to_str().map_err(|_| ())?;
        let (scheme, token) = text.split_once(' ').ok_or(())?;
        let role = hall.access.role_of_token(token.trim());
        return role.filter(|_| scheme.eq_ignore_ascii_case("bearer")).map(Some).ok_or(());
    }
    let cookies = request.headers().get_all(header::COOKIE).iter();
    let mut cookies = cookies.filter_map(|value| value.to_str().ok());
    Ok(cookies.find_map(|cookies| hall.access.role_of_cookies(cookies)))
}

/// Why a request that a page of another server has caused is refused.
fn foreign(request: &Request, host: &str, is_reading: bool) -> Option<Refusal> {
    let refusal =
        || Refusal::new(Kind::Forbidden, "a page of another server has asked; that is not allowed");
    let headers = request.headers();
    let word = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(origin) = word("origin") {
        return (!is_own_origin(origin, host)).then(refusal);
    }
    match word("sec-fetch-site") {
        None | Some("same-origin" | "none") => {}
        // A link may lead here. What it finds is a page, with a cookie or without.
        Some(_) if is_reading && word("sec-fetch-mode") == Some("navigate") => {}
        Some(_) => return Some(refusal()),
    }
    // Browsers say where a request that changes something comes from; programs have a token, which no
    // page can add.
    let has_origin = word("sec-fetch-site") == Some("same-origin");
    let is_safe = is_reading || has_origin || headers.contains_key(header::AUTHORIZATION);
    (!is_safe).then(refusal)
}

fn host_of(request: &Request) -> Option<String> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let named = match (named.next(), named.next()) {
        (Some(host), None) => Some(host.to_str().ok()?.to_owned()),
        (Some(_), Some(_)) => return None,
        (None, _) => None,
    };
    let of_address = request.uri().authority().map(|authority| authority.as_str().to_owned());
    match (named, of_address) {
        (Some(named), Some(of_address)) if named != of_address => None,
        (named, of_address) => named.or(of_address),
    }
}

fn peer(request: &Request) -> IpAddr {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |ConnectInfo(address)| address.ip())
}

fn token_in_address(request: &Request) -> Option<String> {
    api::query_of(request.uri().query()).remove("token")
}

/// The address with everything but the token.
fn without_token(uri: &Uri) -> String {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let others = pairs.filter(|(name, _)| name != "token");
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(others).finish();
    let path = own_path(uri.path());
    if query.is_empty() { path } else { format!("{path}?{query}") }
}

/// A path on this server, whatever was asked for: `//evil.example` would lead elsewhere.
fn own_path(path: &str) -> String {
    let is_own = path.starts_with('/')
        && !path.starts_with("//")
        && !path.contains('\\')
        && !path.chars().any(|c| c.is_control() || c.is_whitespace());
    if is_own { path.to_owned() } else { "/".to_owned() }
}

/// A form with a token.
async fn login(
    State(hall): State<Arc<Hall>>,
    address: Option<axum::Extension<ConnectInfo<SocketAddr>>>,
    body: Bytes,
) -> Response {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let from = address.map_or(here, |axum::Extension(ConnectInfo(address))| address.ip());
    let form: std::collections::BTreeMap<String, String> =
        form_urlencoded::parse(&body).into_owned().collect();
    let to = own_path(form.get("to").map_or("/", String::as_str));
    let token = form.get("token").map_or("", |token| token.trim());
    let now = Instant::now();
    if hall.buckets.is_empty(from, rates::Kind::WrongToken, now) {
        let message = "too many wrong tokens; wait a little";
        return NoPage(Refusal::new(Kind::TooMany, message)).into_response();
    }
    if hall.access.role_of_token(token).is_some() {
        return enter(&hall, &to, token);
    }
    let _ = hall.buckets.take(from, rates::Kind::WrongToken, now);
    pages::login(&Login { failed: true, to })
}

/// Makes the browser forget.
async fn logout(State(hall): State<Arc<Hall>>) -> Response {
    ([(header::SET_COOKIE, hall.access.no_cookie())], Redirect::to("/")).into_response()
}
