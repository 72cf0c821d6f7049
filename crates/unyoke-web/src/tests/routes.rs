//! Every route with every method for every role.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};

use super::setting::{Answer, BEAM, READ, Setting, WRITE, request, serving};

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Caller {
    Nobody,
    WrongToken,
    Reader,
    Writer,
    ReaderByCookie,
    WriterByCookie,
    ForeignOrigin,
    ForeignHost,
    NullOrigin,
    /// A writer's cookie without an origin, as no browser sends it with what changes something.
    CookieWithoutOrigin,
}

const CALLERS: [Caller; 10] = [
    Caller::Nobody,
    Caller::WrongToken,
    Caller::Reader,
    Caller::Writer,
    Caller::ReaderByCookie,
    Caller::WriterByCookie,
    Caller::ForeignOrigin,
    Caller::ForeignHost,
    Caller::NullOrigin,
    Caller::CookieWithoutOrigin,
];

const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

fn cookie(setting: &Setting, token: &str) -> String {
    let entered = setting.send(
        Request::get(format!("/?token={token}"))
            .header(header::HOST, "127.0.0.1:8700")
            .body(Body::empty())
            .unwrap(),
    );
    assert_eq!(entered.status, StatusCode::SEE_OTHER);
    assert_eq!(entered.headers[header::LOCATION], "/");
    let cookie = entered.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

fn call(
    setting: &Setting,
    cookies: [&str; 2],
    caller: Caller,
    method: &Method,
    path: &str,
) -> Answer {
    let own = "http://127.0.0.1:8700";
    let with = |token: Option<&str>, more: &[(&str, &str)]| {
        let mut request = request(method.clone(), path, token, Body::from("{}"));
        for (name, value) in more {
            let name = axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        setting.send(request)
    };
    match caller {
        Caller::Nobody => with(None, &[("origin", own)]),
        Caller::WrongToken => with(Some("wrong"), &[]),
        Caller::Reader => with(Some(READ), &[]),
        Caller::Writer => with(Some(WRITE), &[]),
        Caller::ReaderByCookie => with(None, &[("cookie", cookies[0]), ("origin", own)]),
        Caller::WriterByCookie => with(None, &[("cookie", cookies[1]), ("origin", own)]),
        Caller::ForeignOrigin => with(Some(WRITE), &[("origin", "http://evil.example")]),
        Caller::ForeignHost => with(Some(WRITE), &[("host", "evil.example:8700")]),
        Caller::NullOrigin => with(None, &[("cookie", cookies[1]), ("origin", "null")]),
        Caller::CookieWithoutOrigin => with(None, &[("cookie", cookies[1])]),
    }
}

/// What a path takes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Takes {
    Reading,
    Action,
    Public,
    Login,
}

/// All routes, those of the API from its own description.
fn routes(setting: &Setting) -> Vec<(String, Takes)> {
    let api = setting.get("/api/openapi.json").json();
    let mut routes: Vec<(String, Takes)> = vec![];
    for (path, operations) in api["paths"].as_object().unwrap() {
        let path = path.replace("{id}", "beam").replace("{evaluation}", "0");
        let path = path.replace("{name}", "spending.svg");
        let path = match path.rsplit('/').next() {
            Some("best") => format!("{path}?weights=1,2"),
            Some("design") => format!("{path}?length=0.5&material=oak"),
            _ => path,
        };
        let takes = if operations.get("post").is_some() { Takes::Action } else { Takes::Reading };
        routes.push((path, takes));
    }
    let pages = ["next", "front", "designs", "spending", "live", "bench", "models"];
    routes.extend(pages.map(|page| (format!("/studies/beam/{page}"), Takes::Reading)));
    for path in [
        "/",
        "/studies/beam",
        "/studies/beam/figures/spending.svg",
        "/api/openapi.json",
        "/api/docs",
    ] {
        routes.push((path.to_owned(), Takes::Reading));
    }
    routes.push(("/assets/page.css".to_owned(), Takes::Public));
    routes.extend(["/login", "/logout"].map(|path| (path.to_owned(), Takes::Login)));
    assert_eq!(routes.iter().filter(|(_, takes)| *takes == Takes::Action).count(), 15);
    assert!(routes.len() > 45, "{}", routes.len());
    routes
}

/// What must be answered; `None` if anything but a refusal of access may be.
fn expected(caller: Caller, takes: Takes, method: &Method) -> Option<StatusCode> {
    let is_reading = matches!(*method, Method::GET | Method::HEAD);
    match caller {
        Caller::ForeignHost => return Some(StatusCode::MISDIRECTED_REQUEST),
        Caller::ForeignOrigin | Caller::NullOrigin => return Some(StatusCode::FORBIDDEN),
        Caller::CookieWithoutOrigin if !is_reading => return Some(StatusCode::FORBIDDEN),
        _ => {}
    }
    match takes {
        Takes::Public if is_reading => return Some(StatusCode::OK),
        Takes::Public => return Some(StatusCode::METHOD_NOT_ALLOWED),
        // Whoever logs in has no token yet.
        Takes::Login if *method == Method::POST => return None,
        Takes::Login => return Some(StatusCode::METHOD_NOT_ALLOWED),
        Takes::Reading | Takes::Action => {}
    }
    match caller {
        Caller::Nobody | Caller::WrongToken => Some(StatusCode::UNAUTHORIZED),
        Caller::Reader | Caller::ReaderByCookie if !is_reading => Some(StatusCode::FORBIDDEN),
        _ => match (takes, method) {
            (Takes::Action, &Method::POST) => Some(StatusCode::BAD_REQUEST),
            (Takes::Reading, _) if is_reading => None,
            _ => Some(StatusCode::METHOD_NOT_ALLOWED),
        },
    }
}

#[test]
fn every_route_answers_every_method_of_every_caller_as_it_should() {
    let setting = Setting::new();
    setting.play(2);
    let cookies = [READ, WRITE].map(|token| cookie(&setting, token));
    let before = setting.records().len();
    let mut asked = 0;
    for (path, takes) in routes(&setting) {
        for method in &METHODS {
            for caller in CALLERS {
                let answer = call(&setting, [&cookies[0], &cookies[1]], caller, method, &path);
                let what = format!("{caller:?} {method} {path}: {}", answer.status);
                match expected(caller, takes, method) {
                    Some(status) => assert_eq!(answer.status, status, "{what}"),
                    None => {
                        let status = answer.status.as_u16();
                        let is_fine = [200, 202, 303, 401, 404].contains(&status);
                        assert!(is_fine && (status != 401 || takes == Takes::Login), "{what}");
                    }
                }
                check_headers(&answer, &what);
                asked += 1;
            }
        }
    }
    assert!(asked > 3000, "{asked}");
    assert_eq!(setting.records().len(), before, "none of these was to change anything");
}

fn check_headers(answer: &Answer, what: &str) {
    let policy = answer.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{what}");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{what}");
    assert_eq!(answer.headers["referrer-policy"], "same-origin", "{what}");
    assert!(answer.headers.contains_key("cache-control"), "{what}");
    assert!(!answer.headers.contains_key("access-control-allow-origin"), "{what}");
}

#[test]
fn a_server_that_only_shows_takes_no_action_even_with_the_token_to_write() {
    let setting = Setting::of(BEAM, false);
    for (path, takes) in routes(&setting) {
        if takes == Takes::Action {
            let answer = setting.send(request(Method::POST, &path, Some(WRITE), Body::from("{}")));
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
            assert!(answer.text().contains("--write"), "{}", answer.text());
        }
    }
    assert_eq!(setting.get("/api/studies/beam").json()["may_write"], false);
}

#[test]
fn a_token_in_an_address_becomes_a_cookie_and_leaves_the_address() {
    let setting = Setting::new();
    let enter = |path: &str| {
        let request = Request::get(path).header(header::HOST, "localhost:8700");
        setting.send(request.body(Body::empty()).unwrap())
    };
    let entered = enter(&format!("/studies/beam/front?a=b%26c&token={WRITE}"));
    assert_eq!(entered.status, StatusCode::SEE_OTHER);
    assert_eq!(entered.headers[header::LOCATION], "/studies/beam/front?a=b%26c");
    let wrong = enter("/?token=wrong");
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert!(!wrong.headers.contains_key(header::SET_COOKIE) && wrong.text().contains("<form"));
    // An address that would lead elsewhere leads to the beginning.
    let evil = enter(&format!("//evil.example/?token={WRITE}"));
    assert_eq!(evil.headers[header::LOCATION], "/");
}

#[test]
fn a_form_lets_people_in_and_out() {
    let setting = Setting::new();
    let post = |path: &str, body: String| {
        let request = Request::post(path)
            .header(header::HOST, "localhost:8700")
            .header(header::ORIGIN, "http://localhost:8700")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        setting.send(request.body(Body::from(body)).unwrap())
    };
    let entered = post("/login", format!("token={READ}&to=%2Fstudies%2Fbeam%2Ffront"));
    assert_eq!(entered.headers[header::LOCATION], "/studies/beam/front");
    assert!(entered.headers.contains_key(header::SET_COOKIE));
    for to in ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
    {
        let to: String = form_urlencoded::byte_serialize(to.as_bytes()).collect();
        let entered = post("/login", format!("token={READ}&to={to}"));
        assert_eq!(entered.headers[header::LOCATION], "/", "{to}");
    }
    assert_eq!(post("/login", "token=wrong".to_owned()).status, StatusCode::UNAUTHORIZED);
    let left = post("/logout", String::new());
    assert!(left.headers[header::SET_COOKIE].to_str().unwrap().contains("Max-Age=0"));
}

#[test]
fn wrong_tokens_and_many_requests_are_slowed_down() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("beam.toml");
    std::fs::write(&path, BEAM).unwrap();
    let tokens = crate::access::Tokens { read: READ.to_owned(), write: WRITE.to_owned() };
    let rate = crate::rates::Rate { burst: 5.0, per_second: 1e-6 };
    let rates =
        crate::rates::Rates { wrong_tokens: rate, actions: rate, ..crate::rates::Rates::default() };
    let hall = crate::hall::Hall::new(
        crate::shelf::Shelf::new(&[path.display().to_string()]).unwrap(),
        crate::access::Access::new(tokens, true, &[], 8700),
        rates,
        4,
    );
    let mut setting = Setting::new();
    setting.app = crate::app::app(std::sync::Arc::new(hall));
    let wrong = || setting.send(request(Method::GET, "/api/studies", Some("wrong"), Body::empty()));
    let act = || setting.post("ask", &serde_json::json!({}));
    for _ in 0..5 {
        assert_eq!(wrong().status, StatusCode::UNAUTHORIZED);
        assert_eq!(act().status, StatusCode::BAD_REQUEST);
    }
    assert_eq!(wrong().status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(act().status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(act().headers[header::RETRY_AFTER], "1");
    assert_eq!(setting.get("/api/studies").status, StatusCode::OK, "others are not held up");
}

#[test]
fn requests_are_bounded() {
    let setting = Setting::new();
    let long = serde_json::json!({ "key": "long-long", "by": "x".repeat(100_000) });
    assert_eq!(setting.post("ask", &long).status, StatusCode::PAYLOAD_TOO_LARGE);
    let address = format!("/api/studies/beam/design?length={}", "1".repeat(10_000));
    assert_eq!(setting.get(&address).status, StatusCode::BAD_REQUEST);
    let mut form = request(Method::POST, "/api/studies/beam/ask", Some(WRITE), Body::from("{}"));
    form.headers_mut().insert(header::CONTENT_TYPE, "text/plain".parse().unwrap());
    assert_eq!(setting.send(form).status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[test]
fn files_of_the_pages_are_kept_by_browsers_as_long_as_they_do_not_change() {
    let setting = Setting::new();
    let url = crate::assets::url("page.css");
    let get = |path: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get(path).header(header::HOST, "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        setting.send(request.body(Body::empty()).unwrap())
    };
    let kept = get(&url, &[("accept-encoding", "gzip, br")]);
    assert!(kept.headers[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
    let plain = get("/assets/page.css", &[]);
    assert_eq!(plain.headers[header::CACHE_CONTROL], "no-cache");
    let tag = plain.headers[header::ETAG].to_str().unwrap();
    let again = get("/assets/page.css", &[("if-none-match", tag)]);
    assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(get("/assets/none.css", &[]).status, StatusCode::NOT_FOUND);
}

#[test]
fn a_folder_of_studies_is_served_and_other_files_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("Wing #1.toml", BEAM);
    write("blade/study.toml", &BEAM.replace("name = \"beam\"", "name = \"blade\""));
    write("Cargo.toml", "[package]\nname = \"x\"\n");
    write("broken.toml", "[parameters.x]\nlow = ");
    let mut setting = Setting::new();
    setting.app = serving(&[folder.path().display().to_string()], false);
    let studies = setting.get("/api/studies").json();
    let ids: Vec<&str> =
        studies.as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["wing-1", "blade", "broken"]);
    assert!(studies[2]["trouble"].as_str().unwrap().contains("broken.toml"), "{studies}");
    assert_eq!(studies[1]["name"], "blade");
    assert_eq!(setting.get("/studies/blade/next").status, StatusCode::OK);
    assert_eq!(setting.get("/studies/broken/next").status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(setting.get("/studies/beam/next").status, StatusCode::NOT_FOUND);
}
