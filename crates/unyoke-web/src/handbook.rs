//! The documentation of the API: as OpenAPI for programs, and as a page for people, made from the same.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;
use utoipa::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};

use crate::assets;

/// What stands at the head of the description.
#[derive(OpenApi)]
#[openapi(info(
    title = "Unyoke",
    description = "Studies over HTTP: their views as JSON, what happens as it happens, and what can be done to them. \
        Views are those of docs/views.md, the same that the command line prints with --json. Reading needs a token; \
        actions need the token to write and a server that was started with --write."
), modifiers(&Tokens))]
pub(crate) struct Head;

struct Tokens;

impl utoipa::Modify for Tokens {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
        let cookie = ApiKey::Cookie(ApiKeyValue::new("unyoke-PORT"));
        components.add_security_scheme("cookie", SecurityScheme::ApiKey(cookie));
    }
}

/// The description, in both forms.
#[derive(Debug)]
pub(crate) struct Handbook {
    json: String,
    page: String,
}

impl Handbook {
    pub(crate) fn new(api: &utoipa::openapi::OpenApi) -> Self {
        let value = serde_json::to_value(api).unwrap_or_default();
        Self { json: value.to_string(), page: page(&value).into_string() }
    }

    pub(crate) fn json(&self) -> Response {
        ([(header::CONTENT_TYPE, "application/json")], self.json.clone()).into_response()
    }

    pub(crate) fn page(&self) -> Response {
        let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
        (kind, self.page.clone()).into_response()
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn page(api: &Value) -> Markup {
    let paths = api["paths"].as_object();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Unyoke: the API" }
                link rel="stylesheet" href=(assets::url("page.css"));
            }
            body {
                main {
                    h1 { "The API" }
                    p { (text(&api["info"], "description")) }
                    p { "For programs: " a href="/api/openapi.json" { "OpenAPI" } }
                    @for (path, operations) in paths.into_iter().flatten() {
                        @for (method, operation) in operations.as_object().into_iter().flatten() {
                            (entry(api, path, method, operation))
                        }
                    }
                }
            }
        }
    }
}

fn entry(api: &Value, path: &str, method: &str, operation: &Value) -> Markup {
    let parameters = operation["parameters"].as_array();
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let says = [text(operation, "summary"), text(operation, "description")].join(" ");
    html! {
        section {
            h2 { code { (method.to_uppercase()) " " (path) } }
            p { (says) }
            @if let Some(parameters) = parameters.filter(|all| !all.is_empty()) {
                table {
                    thead { tr { th { "parameter" } th { "in" } th { "means" } } }
                    tbody {
                        @for parameter in parameters {
                            tr {
                                td { code { (text(parameter, "name")) } }
                                td { (text(parameter, "in")) }
                                td { (text(parameter, "description")) }
                            }
                        }
                    }
                }
            }
            (body(api, schema))
            ul {
                @for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
                    li { code { (status) } " " (text(answer, "description")) }
                }
            }
        }
    }
}

/// The fields of a request.
fn body(api: &Value, schema: &Value) -> Markup {
    let fields = fields(api, schema);
    html! {
        @if !fields.is_empty() {
            table {
                thead { tr { th { "field" } th { "required" } th { "means" } } }
                tbody {
                    @for Field { name, is_required, means } in fields {
                        tr {
                            td { code { (name) } }
                            td { @if is_required { "yes" } }
                            td { (means) }
                        }
                    }
                }
            }
        }
    }
}

/// A field of a request.
struct Field<'a> {
    name: &'a str,
    is_required: bool,
    means: &'a str,
}

/// The fields that a schema has, with those of all that it is made of.
fn fields<'a>(api: &'a Value, schema: &'a Value) -> Vec<Field<'a>> {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return fields(api, &api["components"]["schemas"][name]);
    }
    let parts = schema["allOf"].as_array().into_iter().flatten();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let own = schema["properties"].as_object().into_iter().flatten().map(|(name, schema)| Field {
        name,
        is_required: required.contains(&name.as_str()),
        means: text(schema, "description"),
    });
    own.chain(parts.flat_map(|part| fields(api, part))).collect()
}
