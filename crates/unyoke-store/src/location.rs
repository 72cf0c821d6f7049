//! Where a study is kept: a file of either kind, or a name in a database. Nothing is opened here.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, Result};

/// Where a study is kept.
///
/// ```
/// use unyoke_store::Location;
///
/// assert!(matches!(Location::parse("blade.db")?, Location::File(_)));
/// assert!(matches!(Location::parse("file:/home/ann/blade.journal")?, Location::Journal(_)));
/// let team = Location::parse("postgres://ann:secret@db.example/lab?study=blade")?;
/// assert_eq!(team.to_string(), "postgres://ann@db.example/lab?study=blade");
/// # Ok::<(), unyoke_store::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A file of its own, on a disk of this machine, which many programs may use at once.
    File(PathBuf),
    /// A journal file, which may be on a network file system, and to which one program writes.
    Journal(PathBuf),
    /// A name in a PostgreSQL database, which many machines may share.
    Postgres(PostgresUrl),
}

/// A database and the name of a study in it. Whatever shows it leaves out the password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    url: String,
    study: String,
}

/// What the text of a journal file begins with, before a colon.
const FILE: &str = "file";

impl Location {
    /// Understands the path of a file, `file:PATH` of a journal file, and
    /// `postgres://user@host/database?study=NAME`.
    ///
    /// Special characters of password and name are written as in any URL: `%40` for `@`.
    pub fn parse(text: &str) -> Result<Self> {
        if text.trim().is_empty() {
            return Err(bad(text, "it is empty"));
        }
        if text.contains('\0') {
            return Err(bad(text, "it contains a NUL character"));
        }
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => PostgresUrl::parse(text).map(Self::Postgres),
            Some((FILE, _)) => Err(bad(text, "write file:PATH, without the slashes of a URL")),
            Some((scheme, _)) => {
                let reason = "only postgres:// is known, and paths of files without a scheme";
                Err(bad(&format!("{scheme}://…"), reason))
            }
            None => match text.split_once(':') {
                Some((FILE, path)) if path.trim().is_empty() => {
                    Err(bad(text, "it does not name the file: write file:PATH"))
                }
                Some((FILE, path)) => Ok(Self::Journal(PathBuf::from(path))),
                _ => Ok(Self::File(PathBuf::from(text))),
            },
        }
    }
}

impl Location {
    /// The text it was parsed from, or one that means the same, with the password. Not to be shown
    /// or written where others can read it.
    pub fn with_password(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Journal(path) => format!("{FILE}:{}", path.display()),
            Self::Postgres(PostgresUrl { url, study }) => {
                let separator = if url.contains('?') { '&' } else { '?' };
                let study = utf8_percent_encode(study, NON_ALPHANUMERIC);
                format!("{url}{separator}study={study}")
            }
        }
    }
}

impl FromStr for Location {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self::File(path.to_path_buf())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Journal(path) => write!(f, "{FILE}:{}", path.display()),
            Self::Postgres(url) => url.fmt(f),
        }
    }
}

impl PostgresUrl {
    fn parse(text: &str) -> Result<Self> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        if !has_plain_ports(base) {
            let reason = "the port is no number, or the password has special characters, which \
                          must be written as in %40 for @";
            return Err(bad("postgres://…", reason));
        }
        let (mut study, mut others) = (None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("study", name)) => study = Some(decode(name)?),
                _ => others.push(pair),
            }
        }
        let study = study.filter(|name| !name.is_empty() && !name.contains('\0'));
        let study = study.ok_or_else(|| {
            bad(&without_password(base), "it does not name the study: add ?study=NAME")
        })?;
        let separator = if others.is_empty() { "" } else { "?" };
        Ok(Self { url: format!("{base}{separator}{}", others.join("&")), study })
    }

    /// A database by its URL, whatever study that names.
    pub(crate) fn database(text: &str) -> Result<Self> {
        let separator = if text.contains('?') { '&' } else { '?' };
        Self::parse(&format!("{text}{separator}study=any"))
    }

    /// Another study in the same database.
    pub(crate) fn with_study(&self, study: String) -> Self {
        Self { url: self.url.clone(), study }
    }

    /// The name of the study.
    pub fn study(&self) -> &str {
        &self.study
    }

    /// The URL as PostgreSQL knows it, with the password and without the study.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Parameters are left out: one of them might be a password.
        let base = self.url.split('?').next().unwrap_or_default();
        let study = utf8_percent_encode(&self.study, NON_ALPHANUMERIC);
        write!(f, "{}?study={study}", without_password(base))
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}

fn bad(location: &str, reason: &str) -> Error {
    Error::BadLocation { location: location.to_owned(), reason: reason.to_owned() }
}

fn decode(name: &str) -> Result<String> {
    let decoded = percent_decode_str(name).decode_utf8();
    decoded.map(String::from).map_err(|_| bad(name, "the name of the study is not UTF-8"))
}

/// `postgres://user:password@host/database` without `:password`.
fn without_password(base: &str) -> String {
    let Some((scheme, rest)) = base.split_once("://") else { return base.to_owned() };
    let Some((credentials, host)) = rest.rsplit_once('@') else { return base.to_owned() };
    let user = credentials.split(':').next().unwrap_or_default();
    format!("{scheme}://{user}@{host}")
}

/// Whether what looks like a port is one. A password with `/` or `?` in it would otherwise end
/// the host early, and be shown as its port.
fn has_plain_ports(base: &str) -> bool {
    let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let hosts = rest.split('/').next().unwrap_or_default();
    hosts.split(',').all(|host| {
        let address_ended = host.rsplit_once(']').map_or(host, |(_, port)| port);
        let port = address_ended.split_once(':').map_or("", |(_, port)| port);
        port.chars().all(|c| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn postgres(text: &str) -> PostgresUrl {
        match Location::parse(text).unwrap() {
            Location::Postgres(url) => url,
            other => panic!("{other:?}"),
        }
    }

    fn refusal(text: &str) -> String {
        Location::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_path_is_a_file() {
        for path in ["blade.db", "/data/blade.db", "../a b/ü.db", ":memory:", "./file:blade.db"] {
            assert_eq!(Location::parse(path).unwrap(), Location::File(path.into()));
        }
    }

    #[test]
    fn a_journal_file_is_named_by_its_path() {
        for path in ["blade.journal", "/data/blade.journal", "../a b/ü: 1"] {
            let location = Location::parse(&format!("file:{path}")).unwrap();
            assert_eq!(location, Location::Journal(path.into()));
            assert_eq!(location.to_string(), format!("file:{path}"));
        }
    }

    #[test]
    fn the_study_is_taken_out_of_the_url() {
        let url = postgres("postgresql://h:5433/lab?connect_timeout=3&study=wing%20%231&user=ann");
        assert_eq!(url.study(), "wing #1");
        assert_eq!(url.url(), "postgresql://h:5433/lab?connect_timeout=3&user=ann");
        let url = postgres("postgres://ann@%2Frun%2Fpg/lab?study=ü🦀");
        assert_eq!((url.study(), url.url()), ("ü🦀", "postgres://ann@%2Frun%2Fpg/lab"));
    }

    #[test]
    fn what_is_shown_can_be_parsed_again() {
        let url = postgres("postgres://ann@[::1]:5432/lab?study=a%26b%3D1%40");
        assert_eq!(postgres(&url.to_string()), url);
    }

    #[test]
    fn what_has_the_password_can_be_parsed_again() {
        for text in [
            "postgres://ann:hunter2@h/lab?study=s",
            "postgres://h/lab?study=a%26b%20\u{fc}&password=hunter2&connect_timeout=3",
            "blade.db",
            "file:blade.journal",
        ] {
            let location = Location::parse(text).unwrap();
            assert_eq!(Location::parse(&location.with_password()).unwrap(), location);
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for text in [
            "postgres://ann:hunter2@h/lab?study=s",
            "postgres://ann:hunter2@x@h/lab?study=s",
            "postgres://ann:/hunter2@h/lab?study=s",
            "postgres://h/lab?study=s&password=hunter2",
        ] {
            let location = Location::parse(text).unwrap();
            assert!(!format!("{location} {location:?}").contains("hunter2"), "{location}");
        }
        for text in ["postgres://ann:hunter2@h/lab", "postgres://ann:hunter2?x@h/lab?study=s"] {
            assert!(!refusal(text).contains("hunter2"), "{}", refusal(text));
        }
    }

    #[test]
    fn what_cannot_be_a_place_is_refused_with_a_hint() {
        assert!(refusal("postgres://h/lab").contains("add ?study=NAME"));
        assert!(refusal("postgres://h/lab?study=").contains("add ?study=NAME"));
        assert!(refusal("mysql://h/lab").contains("only postgres:// is known"));
        assert!(refusal("file:").contains("does not name the file"));
        assert!(refusal("file:///data/blade").contains("write file:PATH"));
        assert!(refusal(" ").contains("empty"));
        assert!(refusal("a\0b").contains("NUL"));
        assert!(refusal("postgres://h/lab?study=%ff").contains("UTF-8"));
    }
}
