//! The files of the pages, which are part of the program.

use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::RustEmbed;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::LazyLock;

#[derive(RustEmbed)]
#[folder = "assets/"]
struct Files;

/// A file, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Asset {
    /// Its content.
    pub(crate) bytes: Cow<'static, [u8]>,
    /// The same, compressed; `None` if that is not shorter.
    pub(crate) gzip: Option<Vec<u8>>,
    /// Changes with the content.
    pub(crate) version: String,
    /// What it is.
    pub(crate) kind: &'static str,
}

/// All of them by path, compressed once.
static ASSETS: LazyLock<BTreeMap<String, Asset>> = LazyLock::new(|| {
    let all = Files::iter().filter_map(|path| Some((path.to_string(), read(&path)?)));
    all.collect()
});

fn read(path: &str) -> Option<Asset> {
    let file = Files::get(path)?;
    let hash = file.metadata.sha256_hash();
    let version = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let gzip = gzip(&file.data).filter(|short| short.len() < file.data.len());
    Some(Asset { gzip, version, kind: kind(path), bytes: file.data })
}

/// The bytes, compressed; `None` if that fails, which memory never does.
pub(crate) fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(vec![], Compression::new(6));
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        _ => "text/plain; charset=utf-8",
    }
}

/// The file at a path below `assets/`.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.get(path)
}

/// The address of a file, which changes with its content: browsers may keep it for a year.
pub(crate) fn url(path: &str) -> String {
    let version = find(path).map_or("", |asset| &asset.version);
    format!("/assets/{path}?v={version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_changes_with_the_content_and_what_is_not_there_has_none() {
        let asset = find("page.css").unwrap();
        assert_eq!(url("page.css"), format!("/assets/page.css?v={}", asset.version));
        assert_eq!(asset.version.len(), 16);
        assert!(find("../Cargo.toml").is_none() && find("").is_none());
    }
}
