//! Certificates made on the spot, and an end of TLS in front of a collector: what comes through it goes on to the
//! collector as it is, so that each of its moods is had with TLS, too.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use super::collector::bind;

/// When a certificate is valid.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Valid {
    Now,
    /// Until the year 2001.
    Before,
    /// From the year 3001 on.
    Later,
}

/// A certificate with its key, in PEM.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Pair {
    /// Writes both; the paths of certificate and key.
    pub(crate) fn write(&self, folder: &Path) -> [String; 2] {
        [("client.pem", &self.certificate), ("client.key", &self.key)]
            .map(|(name, text)| write(folder, name, text))
    }
}

/// Writes a file; its path.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> String {
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.into_os_string().into_string().unwrap()
}

/// Who signs certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut parameters = CertificateParams::new([]).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// The authority's own certificate, as a server's.
    pub(crate) fn itself(&self) -> Pair {
        Pair { certificate: self.0.pem(), key: self.0.key().serialize_pem() }
    }

    /// A certificate for a server or client of these names.
    pub(crate) fn sign(&self, names: &[&str], valid: Valid) -> Pair {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        match valid {
            Valid::Now => {}
            Valid::Before => parameters.not_after = date_time_ymd(2001, 1, 1),
            Valid::Later => parameters.not_before = date_time_ymd(3001, 1, 1),
        }
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.0).unwrap().pem();
        Pair { certificate, key: key.serialize_pem() }
    }
}

/// How an end of TLS behaves.
pub(crate) struct Manner<'a> {
    pub(crate) shows: Pair,
    /// Whose certificates clients must show.
    pub(crate) wants: Option<&'a Authority>,
    pub(crate) versions: Vec<&'static SupportedProtocolVersion>,
    /// What is spoken inside, as ALPN names it.
    pub(crate) protocol: &'static str,
}

impl Manner<'_> {
    fn config(&self) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_protocol_versions(&self.versions).unwrap();
        let builder = match self.wants {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let chain = CertificateDer::from_pem_slice(self.shows.certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(self.shows.key.as_bytes()).unwrap();
        let mut config = builder.with_single_cert(vec![chain], key).unwrap();
        config.alpn_protocols = vec![self.protocol.as_bytes().to_vec()];
        config
    }
}

/// An end of TLS in front of a collector on `to`.
pub(crate) struct End {
    pub(crate) port: u16,
    up: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl End {
    pub(crate) fn start(to: u16, manner: &Manner<'_>) -> Self {
        Self::start_at(0, to, manner)
    }

    /// As [`Self::start`] on a port, with which another one has ended.
    pub(crate) fn start_at(port: u16, to: u16, manner: &Manner<'_>) -> Self {
        let listener = bind(port);
        let port = listener.local_addr().unwrap().port();
        let acceptor = TlsAcceptor::from(Arc::new(manner.config()));
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.spawn(async move {
                listener.set_nonblocking(true).unwrap();
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let acceptor = acceptor.clone();
                    tokio::spawn(async move {
                        // A client that gives up is the client's business.
                        let Ok(mut inside) = acceptor.accept(stream).await else { return };
                        let mut collector = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                        let _ = copy_bidirectional(&mut inside, &mut collector).await;
                    });
                }
            });
            // Ends with the test, or when it is killed; what is open breaks with the runtime.
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new().name("tls".into()).spawn(serve).unwrap();
        Self { port, up: Mutex::new(Some((stop, thread))) }
    }

    /// Listens no more, and breaks what is open. The port is free when this returns.
    pub(crate) fn kill(&self) {
        if let Some((stop, thread)) = self.up.lock().unwrap().take() {
            let _ = stop.send(());
            thread.join().unwrap();
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.kill();
    }
}
