//! The server: listens, encrypts where there is a certificate, and bounds what a visitor can take.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use crate::access::{Access, Tokens};
use crate::app::app;
use crate::error::{Error, Result};
use crate::hall::Hall;
use crate::rates::Rates;
use crate::shelf::Shelf;

/// Connections at once, at most.
const MOST_CONNECTIONS: usize = 512;

/// Of these, visitors who watch.
const MOST_LISTENERS: usize = 400;

/// For a request to arrive, once its connection is there.
const ARRIVAL: Duration = Duration::from_secs(30);

/// For a connection to be encrypted.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Headers of a request, at most.
const MOST_HEADERS: usize = 64;

/// Bytes of a request before its body, at most.
const LONGEST_HEAD: usize = 32 << 10;

/// Threads for what blocks, at most, and how long an idle one stays.
const MOST_THREADS: usize = 32;
const THREAD_STAYS: Duration = Duration::from_secs(5);

/// After which a study that nobody looks at is closed, and what was computed of it forgotten.
const UNUSED: Duration = Duration::from_secs(5 * 60);

/// Before another connection is accepted, when that has failed.
const PAUSE: Duration = Duration::from_millis(50);

/// What is served to whom, and where.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Study files, folders of study files, files of studies, or databases.
    pub studies: Vec<String>,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whether those with the token to write may change studies.
    pub write: bool,
    /// Names of this server beside its addresses.
    pub hosts: Vec<String>,
    /// The secrets that let people in.
    pub tokens: Tokens,
    /// Certificate and key, as PEM files.
    pub tls: Option<TlsFiles>,
    /// How often a visitor may ask.
    pub rates: Rates,
}

/// The files that make connections private.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those of the authorities above it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Where a server listens, and what lets people in.
#[derive(Clone, PartialEq, Eq)]
pub struct Listening {
    /// The address, with the port that was found.
    pub address: SocketAddr,
    /// Opens the pages to read.
    pub read_url: String,
    /// Opens the pages to write, if that is allowed.
    pub write_url: Option<String>,
}

/// Secrets are not for logs.
impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listening").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Serves studies until the program ends. Where, is told to `ready` once visitors can come.
pub fn serve(settings: Settings, ready: impl FnOnce(&Listening)) -> Result<()> {
    let shelf = Shelf::new(&settings.studies)?;
    let encryption = settings.tls.as_ref().map(encryption).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MOST_THREADS)
        .thread_keep_alive(THREAD_STAYS)
        .build();
    let address = settings.listen.to_string();
    let listen = |source| Error::Listen { address: address.clone(), source };
    runtime.map_err(listen)?.block_on(async {
        let listener = TcpListener::bind(settings.listen).await.map_err(listen)?;
        let listening = listening(&settings, listener.local_addr().map_err(listen)?);
        let Settings { tokens, write, hosts, rates, .. } = settings;
        let access = Access::new(tokens, write, &hosts, listening.address.port());
        let access = if encryption.is_some() { access.secure() } else { access };
        let hall = Arc::new(Hall::new(shelf, access, rates, MOST_LISTENERS));
        tokio::spawn(tidy(Arc::clone(&hall)));
        ready(&listening);
        accept(&listener, encryption, &app(hall)).await;
        Ok(())
    })
}

fn listening(settings: &Settings, address: SocketAddr) -> Listening {
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let here = match (settings.hosts.first(), address.ip()) {
        (Some(host), _) => format!("{host}:{}", address.port()),
        // It listens everywhere: also here.
        (None, ip) if ip.is_unspecified() => format!("localhost:{}", address.port()),
        (None, _) => address.to_string(),
    };
    let url = |token: &str| format!("{scheme}://{here}/?token={token}");
    Listening {
        address,
        read_url: url(&settings.tokens.read),
        write_url: settings.write.then(|| url(&settings.tokens.write)),
    }
}

/// Closes what nobody looks at any more, again and again.
async fn tidy(hall: Arc<Hall>) {
    loop {
        tokio::time::sleep(UNUSED / 5).await;
        let hall = Arc::clone(&hall);
        // Waits for locks, and gives much back at once.
        let _ = tokio::task::spawn_blocking(move || hall.close_unused(UNUSED)).await;
    }
}

/// Accepts connections until the server is stopped.
async fn accept(listener: &TcpListener, encryption: Option<TlsAcceptor>, app: &Router) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                // Too many open files, most likely, which passes.
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (encryption, app) = (encryption.clone(), app.clone());
        tokio::spawn(async move {
            let _place = place;
            connect(stream, peer, encryption, app).await;
        });
    }
}

/// Serves one connection until it ends. That somebody hangs up is nobody's fault.
async fn connect(
    stream: TcpStream,
    peer: SocketAddr,
    encryption: Option<TlsAcceptor>,
    app: Router,
) {
    let _ = stream.set_nodelay(true);
    match encryption {
        None => converse(stream, peer, app).await,
        Some(encryption) => {
            let handshake = tokio::time::timeout(HANDSHAKE, encryption.accept(stream)).await;
            if let Ok(Ok(stream)) = handshake {
                converse(stream, peer, app).await;
            }
        }
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    app: Router,
) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let app = app.clone();
        async move {
            Ok::<_, Infallible>(app.oneshot(request).await.unwrap_or_else(|never| match never {}))
        }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(ARRIVAL)
        .max_headers(MOST_HEADERS)
        .max_buf_size(LONGEST_HEAD);
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

/// The encryption of a certificate.
fn encryption(files: &TlsFiles) -> Result<TlsAcceptor> {
    let bad = |path: &Path, reason: String| Error::BadFile { path: path.to_owned(), reason };
    let TlsFiles { certificate, key } = files;
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain: Vec<CertificateDer<'static>> = chain
        .map_err(|error| bad(certificate, format!("is no certificate in PEM form: {error}")))?;
    if chain.is_empty() {
        return Err(bad(certificate, "has no certificate".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| bad(key, format!("is no private key in PEM form: {error}")))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
    let mut config = config.map_err(|error| bad(key, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
