//! Inputs that would like to be something else: scripts, paths, headers. Five hundred of them.

use axum::body::Body;
use axum::http::{Method, StatusCode, header};
use serde_json::json;
use std::fs;

use super::setting::{Answer, Setting, WRITE, request};

/// A file beside the study, which nobody may read.
const SECRET: &str = "TOP-SECRET-4711";

/// What is tried, in many places.
fn inputs() -> Vec<String> {
    let mut inputs: Vec<String> = [
        "<script>alert(1)</script>",
        "</title><script>alert(1)</script>",
        "</textarea><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "\" autofocus onfocus=\"alert(1)",
        "<svg/onload=alert(1)>",
        "<svg><style>*{background:url(//evil.example)}</style>",
        "<iframe srcdoc='<script>alert(1)</script>'>",
        "javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "]]><script>alert(1)</script>",
        "--><script>alert(1)</script>",
        "{{constructor.constructor('alert(1)')()}}",
        "${alert(1)}",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "<base href=//evil.example>",
        "<meta http-equiv=refresh content=0;url=//evil.example>",
        "../../secret.txt",
        "..%2f..%2fsecret.txt",
        "..\\..\\secret.txt",
        "/etc/passwd",
        "file:///etc/passwd",
        "%2e%2e%2f%2e%2e%2fsecret.txt",
        "....//....//secret.txt",
        "secret.txt\0.svg",
        "beam\0",
        "beam/../../secret.txt",
        "'; DROP TABLE journal; --",
        "1 OR 1=1",
        "$(cat /etc/passwd)",
        "`id`",
        "|| true",
        "%s%s%s%n",
        "{0}",
        "\u{202e}gnp.exe",
        "\u{feff}",
        "\u{0}",
        "\u{1b}[2J",
        "a\r\nSet-Cookie: x=y",
        "a\nb",
        "\t",
        " ",
        "",
        "NaN",
        "Infinity",
        "-1",
        "1e999",
        "99999999999999999999999",
        "0x10",
        "null",
        "true",
        "[]",
        "{}",
        "[[[[[[[[[[[[[[[[",
        "ﷺ",
        "🦀🦀🦀",
        "İ",
        "ß",
        "__proto__",
        "constructor",
    ]
    .map(str::to_owned)
    .to_vec();
    inputs.push("x".repeat(5000));
    inputs.push("<".repeat(3000));
    inputs.push("é".repeat(1000));
    inputs
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Text in a segment of a path.
fn segment(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn check(answer: &Answer, what: &str) {
    assert!(answer.status.as_u16() < 500, "{what}: {} {}", answer.status, answer.text());
    let text = answer.text();
    assert!(!text.contains(SECRET) && !text.contains("root:x:0"), "{what}");
    assert!(
        !answer.headers.contains_key("x-evil") && !answer.headers.contains_key("set-cookie"),
        "{what}"
    );
    let kind = answer.headers.get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap());
    if kind.is_some_and(|kind| kind.starts_with("text/html")) {
        check_page(&text, what);
    }
}

/// No markup but the page's own: whatever begins with `<` in an input is escaped.
fn check_page(text: &str, what: &str) {
    for raw in
        ["<script>alert", "<img src=x", "<svg/onload", "<iframe", "<base ", "onerror=alert(1)>"]
    {
        assert!(!text.contains(raw), "{what}: {raw} is in the page");
    }
    // Attributes stand in double quotes.
    assert!(!text.contains("\" autofocus onfocus=\""), "{what}: an attribute was ended");
}

#[test]
fn no_input_becomes_markup_or_a_path_or_breaks_the_server() {
    let setting = Setting::new();
    fs::write(setting.folder.path().join("secret.txt"), SECRET).unwrap();
    fs::write(setting.folder.path().join("beam/secret.txt"), SECRET).unwrap();
    setting.play(1);
    let mut tried = 0;
    for input in inputs() {
        let (path, query) = (segment(&input), encoded(&input));
        for address in [
            format!("/studies/{path}/next"),
            format!("/studies/beam/{path}"),
            format!("/api/studies/{path}"),
            format!("/api/studies/beam/figures/{path}"),
            format!("/api/studies/beam/evaluations/{path}/log"),
            format!("/assets/{path}"),
            format!("/{path}"),
            format!("/studies/beam/designs?page={query}&{query}={query}"),
            format!("/studies/beam/next?price.{query}={query}"),
            format!("/api/studies/beam/design?length={query}&material={query}"),
            format!("/api/studies/beam/evaluations?from={query}&count={query}"),
        ] {
            check(&setting.get(&address), &address);
            tried += 1;
        }
        for (action, body) in [
            ("ask", json!({ "by": input, "measurements": ["mass", input] })),
            ("queue", json!({ "by": input, "design": { "length": 0.5, "material": input } })),
            ("queue", json!({ "by": "x", "design": { &input: input } })),
            ("fail", json!({ "by": input, "evaluation": 0, "reason": input })),
            ("retract", json!({ "by": input, "evaluation": 0, "reason": input })),
            ("correct", json!({ "by": input, "evaluation": 0, "failed": input })),
            ("pause", json!({ "by": input, "measurement": input, "reason": input })),
            ("pause", json!({ "by": input, "measurement": "deflection", "reason": input })),
            ("price", json!({ "by": input, "measurement": input, "cost": 1 })),
            (
                "tell",
                json!({ "by": input, "evaluation": 0, "values": { &input: 1 }, "missing": input }),
            ),
            ("unqueue", json!({ "by": input, "entry": input })),
        ] {
            check(&setting.act(action, body), &format!("{action} {input:?}"));
            tried += 1;
        }
        check(&setting.post("ask", &json!({ "key": input })), &format!("key {input:?}"));
        for name in [
            "cookie",
            "origin",
            "host",
            "authorization",
            "last-event-id",
            "sec-fetch-site",
            "if-none-match",
        ] {
            let Ok(value) = axum::http::HeaderValue::from_bytes(input.as_bytes()) else { continue };
            let mut request =
                request(Method::GET, "/studies/beam/bench", Some(WRITE), Body::empty());
            request.headers_mut().insert(name, value);
            check(&setting.send(request), &format!("{name}: {input:?}"));
            tried += 1;
        }
        let raw =
            request(Method::POST, "/api/studies/beam/ask", Some(WRITE), Body::from(input.clone()));
        check(&setting.send(raw), &format!("body {input:?}"));
    }
    assert!(tried > 500, "{tried}");
    // What was recorded is on the pages now, as text.
    let view = setting.get("/api/studies/beam/status").text();
    assert!(view.contains("<script>alert(1)"), "something hostile was recorded");
    for page in ["next", "front", "designs", "spending", "live", "bench", "models"] {
        let answer = setting.get(&format!("/studies/beam/{page}"));
        assert_eq!(answer.status, StatusCode::OK, "{page}");
        check_page(&answer.text(), page);
    }
}

#[test]
fn names_of_a_study_do_not_become_markup() {
    let nasty = "</title><script>alert(1)</script><img src=x onerror=alert(1)>";
    let text = super::setting::BEAM
        .replace("name = \"beam\"", &format!("name = {nasty:?}"))
        .replace("[parameters.length]", &format!("[parameters.{nasty:?}]"))
        .replace("[objectives.mass]", &format!("[objectives.{:?}]", format!("{nasty} mass")))
        .replace("\"oak\"", &format!("{nasty:?}"));
    let setting = Setting::of(&text, true);
    for i in 0..4 {
        let asked = setting.act("ask", json!({ "by": nasty })).json()["suggestion"].clone();
        let name = asked["measurement"].as_str().unwrap();
        let values = json!({ name: f64::from(i) + 0.5 });
        let told = setting.act("tell", json!({ "by": nasty, "evaluation": i, "values": values }));
        assert_eq!(told.status, StatusCode::OK, "{}", told.text());
    }
    assert_eq!(setting.get("/api/studies/beam/report?wait=25").status, StatusCode::OK);
    for page in ["next", "front", "designs", "spending", "live", "bench", "models"] {
        let answer = setting.get(&format!("/studies/beam/{page}"));
        assert_eq!(answer.status, StatusCode::OK, "{page}");
        check_page(&answer.text(), page);
    }
    for figure in ["trade-offs", "designs", "values", "spending", "predictions"] {
        let svg = setting.get(&format!("/api/studies/beam/figures/{figure}.svg?wait=25")).text();
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{figure}");
    }
}
