//! `unyoke serve`: studies in a browser.

use clap::Args;
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use unyoke_web::{Listening, Rates, Settings, TlsFiles, Tokens};

use crate::failure::Failure;
use crate::output::{Form, complain, say, say_json};

/// Arguments of `unyoke serve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke serve                         shows study.toml; open the address that is printed
  unyoke serve beam.toml wing.toml     several studies
  unyoke serve studies/                all study files in a folder, and study.toml in the folders below
  unyoke serve postgres://ann@db/lab   all studies in a database
  unyoke serve --write                 results can be entered in the browser, prices changed, runs stopped
  unyoke serve --write --listen 0.0.0.0:8700 --certificate lab.pem --key lab.key --host lab.example
                                       for others in the network, encrypted

Whoever has the printed address can read; with --write there is a second one that can write as well. Scripts
send the token as `Authorization: Bearer TOKEN`; the API is described at /api/docs. The server takes no lock on a
study: `unyoke run` and others go on beside it.")]
pub(crate) struct Arguments {
    /// Study files, folders, stores or databases.
    #[arg(value_name = "STUDY", default_value = "study.toml")]
    studies: Vec<String>,
    /// Let those with the token to write change studies.
    #[arg(long)]
    write: bool,
    /// The address to listen on: a port, or an address and a port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8700", value_parser = parse_address)]
    listen: SocketAddr,
    /// A name of this server by which browsers reach it, beside its addresses; may be repeated.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Keep the tokens in this file, so that visitors stay known when the server is restarted. It is made if
    /// need be.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Encrypt, with this certificate in PEM form.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The private key of the certificate.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let here = |port: u16| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let port = text.parse::<u16>().ok().map(here);
    let address = text.replacen("localhost:", "127.0.0.1:", 1).parse::<SocketAddr>().ok();
    port.or(address).ok_or_else(|| "write a port, as in 8700, or 127.0.0.1:8700".to_owned())
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let tokens = match &arguments.tokens {
        Some(path) => Tokens::of_file(path)?,
        None => Tokens::random()?,
    };
    let files = arguments.certificate.clone().zip(arguments.key.clone());
    let settings = Settings {
        studies: arguments.studies.clone(),
        listen: arguments.listen,
        write: arguments.write,
        hosts: arguments.host.clone(),
        tokens,
        tls: files.map(|(certificate, key)| TlsFiles { certificate, key }),
        rates: Rates::default(),
    };
    if settings.tls.is_none() && !settings.listen.ip().is_loopback() {
        complain(
            "unyoke: others in the network can read along, tokens included; --certificate and --key encrypt",
        );
    }
    unyoke_web::serve(settings, |listening| {
        // Nobody may be there to read it.
        let _ = announce(listening, form);
    })?;
    Ok(ExitCode::SUCCESS)
}

fn announce(listening: &Listening, form: Form) -> std::io::Result<()> {
    let Listening { address, read_url, write_url } = listening;
    if form == Form::Json {
        return say_json(&json!({
            "address": address.to_string(), "read_url": read_url, "write_url": write_url,
        }));
    }
    match write_url {
        Some(write_url) => say(&format!("to write: {write_url}\nto read:  {read_url}")),
        None => say(read_url),
    }
}
