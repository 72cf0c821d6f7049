//! Encryption of connections, and whose certificates are believed. The words are those of libpq.

use std::path::PathBuf;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What a URL says about encryption.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tls {
    trust: Trust,
    /// `None` for the certificates of the system.
    roots: Option<PathBuf>,
}

/// Which certificates are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// All: nobody can listen, but somebody could pretend to be the server.
    Any,
    /// Those of a known authority, whatever name they are for.
    Authority,
    /// Those of a known authority for the name in the URL.
    Full,
}

impl Tls {
    /// Takes out of a URL what only we understand. The rest is for the client.
    pub(super) fn take(url: &str) -> (String, Self) {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut trust, mut roots, mut has_roots) = (Trust::Any, None, false);
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", "verify-full")) => trust = Trust::Full,
                Some(("sslmode", "verify-ca")) => trust = Trust::Authority,
                Some(("sslrootcert", path)) => {
                    let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
                    has_roots = true;
                    roots = Some(path).filter(|path| path != "system").map(PathBuf::from);
                }
                _ => others.push(pair),
            }
        }
        if trust != Trust::Any {
            others.push("sslmode=require");
        } else if has_roots {
            // Whoever names an authority means it.
            trust = Trust::Authority;
        }
        let separator = if others.is_empty() { "" } else { "?" };
        (format!("{base}{separator}{}", others.join("&")), Self { trust, roots })
    }

    /// How to encrypt, or why that is not possible.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Arc::new(self.verifier(&provider)?);
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Verifier, String> {
        let (trust, provider) = (self.trust, provider.clone());
        if trust == Trust::Any {
            return Ok(Verifier { trust, provider, known: Vec::new(), authorities: None });
        }
        let known = match &self.roots {
            Some(path) => read(path)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(known.iter().cloned());
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone());
        let authorities = builder.build().map_err(|error| error.to_string())?;
        // Of those of the system none is a server's own.
        let known = if self.roots.is_some() { known } else { Vec::new() };
        Ok(Verifier { trust, provider, known, authorities: Some(authorities) })
    }
}

/// The certificates in a file.
fn read(path: &PathBuf) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error| format!("sslrootcert {}: {error}", path.display());
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(failed)?.collect();
    let found = found.map_err(failed)?;
    if found.is_empty() {
        return Err(format!("sslrootcert {}: there is no certificate in it", path.display()));
    }
    Ok(found)
}

/// Decides whether a server is whom it says.
#[derive(Debug)]
struct Verifier {
    trust: Trust,
    provider: Arc<CryptoProvider>,
    /// Certificates that are believed as they are: a server may have signed its own.
    known: Vec<CertificateDer<'static>>,
    authorities: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        if self.known.iter().any(|known| known == certificate) {
            if self.trust == Trust::Full {
                let parsed = ParsedCertificate::try_from(certificate)?;
                rustls::client::verify_server_name(&parsed, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        match authorities.verify_server_cert(certificate, chain, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.trust == Trust::Authority => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_we_understand_is_taken_out_of_the_url() {
        let take = |query: &str| {
            let (url, tls) = Tls::take(&format!("postgres://h/lab{query}"));
            (url, tls.trust, tls.roots)
        };
        let same = |query: &str| (format!("postgres://h/lab{query}"), Trust::Any, None);
        for query in ["", "?sslmode=disable", "?user=ann&sslmode=require", "?sslmode=perhaps"] {
            assert_eq!(take(query), same(query));
        }
        let url = "postgres://h/lab?user=ann&sslmode=require".to_owned();
        let roots = Some(PathBuf::from("/a b/root.pem"));
        let full = take("?sslmode=verify-full&sslrootcert=%2Fa%20b/root.pem&user=ann");
        assert_eq!(full, (url.clone(), Trust::Full, roots.clone()));
        let authority = take("?sslmode=require&sslrootcert=/a%20b/root.pem");
        let url = "postgres://h/lab?sslmode=require".to_owned();
        assert_eq!(authority, (url.clone(), Trust::Authority, roots));
        assert_eq!(take("?sslmode=verify-full"), (url.clone(), Trust::Full, None));
        assert_eq!(take("?sslmode=verify-ca&sslrootcert=system"), (url, Trust::Authority, None));
    }

    #[test]
    fn a_file_without_certificates_is_named() {
        for path in ["/there/is/no/such.pem", "/dev/null"] {
            let (_, tls) = Tls::take(&format!("postgres://h/lab?sslrootcert={path}"));
            let Err(reason) = tls.connector() else { panic!("{path}") };
            assert!(reason.contains(path), "{reason}");
        }
    }
}
