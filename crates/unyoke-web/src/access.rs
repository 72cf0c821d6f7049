//! Who may do what: tokens, roles, and whether a request was meant for this server.
//!
//! A browser shows its token once, in the address that the server has printed, and gets a cookie for it. Programs
//! send the token with each request. Pages of other servers can neither read nor write here: their requests have
//! another `Origin`, and a name of theirs that leads here (DNS rebinding) is none of ours.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::net::IpAddr;
use std::path::Path;
use subtle::ConstantTimeEq;

use crate::error::{Error, Result};

/// Random bytes in a token.
const BYTES: usize = 24;

/// The shortest token that is accepted from a file.
const SHORTEST: usize = 16;

/// The secrets that let people in: one to read, one to write as well.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// Lets its bearer read.
    pub read: String,
    /// Lets its bearer read and, if the server allows it, write.
    pub write: String,
}

/// Secrets are not for logs.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Tokens {
    /// New ones, which nobody can guess.
    pub fn random() -> Result<Self> {
        Ok(Self { read: random()?, write: random()? })
    }

    /// Those of a file, which is made if need be and which only its owner can read: the server then knows its
    /// visitors again when it is restarted.
    pub fn of_file(path: &Path) -> Result<Self> {
        let file = |source| Error::File { path: path.to_owned(), source };
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::create(path),
            text => text.map_err(file)?,
        };
        let bad = |reason: String| Error::BadFile { path: path.to_owned(), reason };
        let tokens: Self = serde_json::from_str(&text)
            .map_err(|error| bad(format!("is no file of tokens: {error}")))?;
        for token in [&tokens.read, &tokens.write] {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if token.len() < SHORTEST || !token.chars().all(is_plain) {
                let reason = format!("tokens must have {SHORTEST} letters and digits or more");
                return Err(bad(reason));
            }
        }
        if tokens.read == tokens.write {
            return Err(bad("the tokens to read and to write are the same".to_owned()));
        }
        Ok(tokens)
    }

    fn create(path: &Path) -> Result<Self> {
        let tokens = Self::random()?;
        let file = |source| Error::File { path: path.to_owned(), source };
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let text = serde_json::to_string_pretty(&tokens).unwrap_or_default();
        let written = options.open(path).and_then(|mut file| writeln!(file, "{text}"));
        match written {
            // Somebody else was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Self::of_file(path),
            written => written.map(|()| tokens).map_err(file),
        }
    }
}

fn random() -> Result<String> {
    let mut bytes = [0; BYTES];
    let none = |error: getrandom::Error| Error::NoRandomness { reason: error.to_string() };
    getrandom::fill(&mut bytes).map_err(none)?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What a visitor may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Read.
    Reader,
    /// Read and write.
    Writer,
}

/// The rules by which requests are let in.
#[derive(Debug)]
pub(crate) struct Access {
    tokens: Tokens,
    /// Whether anybody may write.
    write: bool,
    /// Names of this server, beside addresses and `localhost`.
    hosts: Vec<String>,
    /// The name of the cookie.
    cookie: String,
    /// Whether requests come over TLS.
    secure: bool,
}

impl Access {
    /// `port` tells the cookies of several servers on one machine apart.
    pub(crate) fn new(tokens: Tokens, write: bool, hosts: &[String], port: u16) -> Self {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { tokens, write, hosts, cookie: format!("unyoke-{port}"), secure: false }
    }

    /// The same over TLS.
    pub(crate) fn secure(self) -> Self {
        Self { secure: true, ..self }
    }

    /// Whether anybody may write.
    pub(crate) fn allows_writing(&self) -> bool {
        self.write
    }

    /// What the bearer of a token may do; `None` if it is no token of ours.
    pub(crate) fn role_of_token(&self, token: &str) -> Option<Role> {
        self.role(token, |token| token.to_owned())
    }

    /// What the bearer of our cookie may do.
    pub(crate) fn role_of_cookies(&self, header: &str) -> Option<Role> {
        let pairs = header.split(';').filter_map(|pair| pair.trim().split_once('='));
        let mut own = pairs.filter(|(name, _)| *name == self.cookie);
        own.find_map(|(_, value)| self.role(value, cookie_value))
    }

    /// Compares with both tokens, in a time that says nothing of either.
    fn role(&self, shown: &str, form: impl Fn(&str) -> String) -> Option<Role> {
        let is = |token: &str| {
            let digest = |text: &str| Sha256::digest(text.as_bytes());
            bool::from(digest(shown).as_slice().ct_eq(digest(&form(token)).as_slice()))
        };
        let (reads, writes) = (is(&self.tokens.read), is(&self.tokens.write));
        match (writes, reads) {
            (true, _) if self.write => Some(Role::Writer),
            (true, _) | (_, true) => Some(Role::Reader),
            _ => None,
        }
    }

    /// The cookie that stands for a token.
    pub(crate) fn cookie_for(&self, token: &str) -> String {
        self.cookie_with(&cookie_value(token), "")
    }

    /// The cookie that makes a browser forget.
    pub(crate) fn no_cookie(&self) -> String {
        self.cookie_with("", "; Max-Age=0")
    }

    fn cookie_with(&self, value: &str, more: &str) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}", self.cookie)
    }

    /// Whether a request was meant for this server: an address cannot be a name of others that leads here.
    pub(crate) fn knows_host(&self, host: &str) -> bool {
        let Some(name) = name_of(host) else { return false };
        let name = name.to_ascii_lowercase();
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        address.unwrap_or(&name).parse::<IpAddr>().is_ok()
            || name == "localhost"
            || self.hosts.contains(&name)
    }
}

/// What stands for a token in a cookie. A cookie that leaks is no token.
fn cookie_value(token: &str) -> String {
    hex(&Sha256::digest(format!("cookie of {token}").as_bytes()))
}

/// The name in `name:port`.
fn name_of(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let is_port = |port: &str| port.chars().all(|c| c.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(name)
}

/// Whether a page with this origin came from the server that is called `host`.
pub(crate) fn is_own_origin(origin: &str, host: &str) -> bool {
    let plain = |authority: &str, port: &str| {
        authority.strip_suffix(port).unwrap_or(authority).to_ascii_lowercase()
    };
    let same = |authority: &str, port| plain(authority, port) == plain(host, port);
    match (origin.strip_prefix("http://"), origin.strip_prefix("https://")) {
        (Some(authority), _) => same(authority, ":80"),
        (_, Some(authority)) => same(authority, ":443"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(write: bool) -> Access {
        let tokens = Tokens { read: "r".repeat(20), write: "w".repeat(20) };
        Access::new(tokens, write, &["lab.example".to_owned()], 8700)
    }

    #[test]
    fn tokens_give_roles_and_writing_needs_a_server_that_allows_it() {
        let (read, write) = ("r".repeat(20), "w".repeat(20));
        assert_eq!(access(true).role_of_token(&write), Some(Role::Writer));
        assert_eq!(access(false).role_of_token(&write), Some(Role::Reader));
        assert_eq!(access(true).role_of_token(&read), Some(Role::Reader));
        for wrong in ["", "r", &"r".repeat(21), &"R".repeat(20)] {
            assert_eq!(access(true).role_of_token(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_cookie_stands_for_a_token_and_is_none() {
        let (access, token) = (access(true), "w".repeat(20));
        let cookie = access.cookie_for(&token);
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        assert!(!cookie.contains(&token) && !cookie.contains("Secure"));
        let pair = cookie.split(';').next().unwrap();
        assert_eq!(access.role_of_cookies(&format!("a=b; {pair}")), Some(Role::Writer));
        let value = pair.split_once('=').unwrap().1;
        assert_eq!(access.role_of_token(value), None);
        assert_eq!(access.role_of_cookies(&format!("unyoke-8701={value}")), None);
        assert_eq!(access.role_of_cookies(&format!("unyoke-8700={token}")), None);
        assert!(access.secure().cookie_for(&token).contains("; Secure"));
    }

    #[test]
    fn only_addresses_and_names_of_this_server_are_hosts() {
        let access = access(false);
        let known = [
            "127.0.0.1:8700",
            "localhost",
            "LocalHost:1",
            "[::1]:8700",
            "10.0.0.7",
            "Lab.Example:8700",
        ];
        for host in known {
            assert!(access.knows_host(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "lab.example.evil",
            "",
            ":80",
            "[::1",
            "[x]:1",
            "127.0.0.1:80@evil",
            "127.0.0.1.evil.example",
            "lab.example:8700/x",
        ] {
            assert!(!access.knows_host(host), "{host}");
        }
    }

    #[test]
    fn a_page_of_another_server_has_another_origin() {
        for (origin, host) in [
            ("http://127.0.0.1:8700", "127.0.0.1:8700"),
            ("http://localhost", "localhost:80"),
            ("https://lab.example", "lab.example"),
            ("https://Lab.example:443", "lab.example"),
            ("http://[::1]:8700", "[::1]:8700"),
        ] {
            assert!(is_own_origin(origin, host), "{origin} {host}");
        }
        for origin in ["null", "", "http://127.0.0.1:8701", "http://evil.example", "file://"] {
            assert!(!is_own_origin(origin, "127.0.0.1:8700"), "{origin}");
        }
    }

    #[test]
    fn tokens_of_a_file_stay_and_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        let made = Tokens::of_file(&path).unwrap();
        assert_eq!(Tokens::of_file(&path).unwrap(), made);
        assert!(made.read != made.write && made.read.len() == 2 * BYTES);
        assert!(!format!("{made:?}").contains(&made.read));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let long = "a".repeat(20);
        for text in [
            "{}".to_owned(),
            "x".to_owned(),
            r#"{"read":"short","write":"short"}"#.to_owned(),
            format!(r#"{{"read":"{long}","write":"{long}"}}"#),
            format!(r#"{{"read":"{long}","write":"{long};\n"}}"#),
        ] {
            fs::write(&path, &text).unwrap();
            assert!(Tokens::of_file(&path).is_err(), "{text}");
        }
    }
}
