//! How tables are laid out, one step a version. What stands here has been carried out somewhere:
//! steps are added, never changed.
//!
//! A list of our own does what is needed: the version is looked at without writing anything, and all
//! missing steps and the new version are one transaction, behind a lock. Both matter because many
//! processes may open a study at once, and because what is newer or foreign must stay as it is.

/// Steps for a file, which holds one study. Its version is SQLite's `user_version`.
///
/// Times are microseconds since the beginning of 1970, and missing once a lease was given back.
pub(crate) const SQLITE: [&str; 3] = [
    "CREATE TABLE journal (
         position INTEGER PRIMARY KEY CHECK (position >= 0),
         record TEXT NOT NULL
     ) STRICT;",
    "CREATE TABLE lease (
         evaluation INTEGER PRIMARY KEY,
         attempt INTEGER NOT NULL,
         owner TEXT NOT NULL,
         expires INTEGER
     ) STRICT;
     CREATE TABLE late (
         number INTEGER PRIMARY KEY,
         evaluation INTEGER NOT NULL,
         attempt INTEGER NOT NULL,
         outcome TEXT NOT NULL
     ) STRICT;",
    "ALTER TABLE journal ADD COLUMN checksum INTEGER;",
];

/// Steps for a database, which holds many studies. Its version is the row of `unyoke.layout`.
///
/// A token says which call wrote a row, for one whose answer was lost.
pub(crate) const POSTGRES: [&str; 3] = [
    "CREATE TABLE unyoke.journal (
         study text NOT NULL,
         position bigint NOT NULL CHECK (position >= 0),
         record text NOT NULL,
         PRIMARY KEY (study, position)
     );",
    "CREATE TABLE unyoke.lease (
         study text NOT NULL,
         evaluation bigint NOT NULL,
         attempt bigint NOT NULL,
         owner text NOT NULL,
         expires timestamptz,
         PRIMARY KEY (study, evaluation)
     );
     CREATE TABLE unyoke.late (
         number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
         study text NOT NULL,
         evaluation bigint NOT NULL,
         attempt bigint NOT NULL,
         outcome text NOT NULL
     );
     CREATE INDEX ON unyoke.late (study);",
    "ALTER TABLE unyoke.journal ADD COLUMN checksum bigint, ADD COLUMN token text;
     ALTER TABLE unyoke.lease ADD COLUMN token text;
     ALTER TABLE unyoke.late ADD COLUMN token text UNIQUE;",
];

/// Where the version of a database stands. Carried out before any step.
pub(crate) const POSTGRES_VERSION_TABLE: &str = "
    CREATE SCHEMA IF NOT EXISTS unyoke;
    CREATE TABLE IF NOT EXISTS unyoke.layout (version bigint NOT NULL);";

/// The layout since which records have checksums.
pub(crate) const CHECKSUMS: i64 = 3;

/// The newest layout known here.
pub(crate) const NEWEST: i64 = SQLITE.len() as i64;

// Both kinds of store can do the same, so they grow together.
const _: () = assert!(SQLITE.len() == POSTGRES.len());

/// The steps that a store of version `found` lacks.
pub(crate) fn missing<'a>(steps: &'a [&'a str], found: i64) -> &'a [&'a str] {
    usize::try_from(found).ok().and_then(|found| steps.get(found..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_missing_steps_are_taken() {
        assert_eq!(missing(&SQLITE, 0), SQLITE);
        assert_eq!(missing(&SQLITE, 1), &SQLITE[1..]);
        assert!(missing(&SQLITE, NEWEST).is_empty());
        assert!(missing(&SQLITE, NEWEST + 1).is_empty());
        assert!(missing(&SQLITE, -1).is_empty());
    }
}
