//! TLS of connections: what this end trusts and shows, from the files that OpenTelemetry's variables name or from the
//! system; and what a failed handshake means in words. When a connection is made is `connection`'s business.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::progress::Counted;
use crate::config::otlp::{Named, TlsFiles};

/// What connections to one endpoint need. Files are read again for each of them: certificates are renewed while runs
/// go on.
#[derive(Debug)]
pub(crate) struct Tls {
    /// With absolute paths: the program may change its working directory.
    files: TlsFiles,
    /// What is spoken inside, as ALPN names it.
    protocol: &'static [u8],
    /// Read once; `None` where a file is trusted instead.
    system: Option<Arc<RootCertStore>>,
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        (&self.files, self.protocol) == (&other.files, other.protocol)
    }
}

impl Eq for Tls {}

impl Tls {
    /// Reads everything once; the error says what cannot be used.
    pub(crate) fn new(files: &TlsFiles, is_grpc: bool) -> Result<Self, String> {
        let absolute = |named: &Option<Named>| {
            let named = named.clone()?;
            let path = std::path::absolute(&named.value).unwrap_or(PathBuf::from(&named.value));
            Some(Named { value: path.to_string_lossy().into_owned(), ..named })
        };
        let files = TlsFiles {
            certificate: absolute(&files.certificate),
            client_certificate: absolute(&files.client_certificate),
            client_key: absolute(&files.client_key),
        };
        let system = if files.certificate.is_none() { Some(Arc::new(system_roots()?)) } else { None };
        let protocol: &[u8] = if is_grpc { b"h2" } else { b"http/1.1" };
        let tls = Self { files, protocol, system };
        tls.client().map(|_| tls)
    }

    fn client(&self) -> Result<ClientConfig, String> {
        let roots = match (&self.system, &self.files.certificate) {
            (Some(system), _) => Arc::clone(system),
            (None, Some(named)) => Arc::new(roots(named)?),
            (None, None) => Arc::new(RootCertStore::empty()),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots);
        let mut client = match (&self.files.client_certificate, &self.files.client_key) {
            (Some(certificate), Some(key)) => {
                let (chain, private) = (certificates(certificate)?, private_key(key)?);
                client.with_client_auth_cert(chain, private).map_err(|error| {
                    let (certificate, key) = (certificate.to_string(), key.to_string());
                    format!("{certificate} and {key} cannot be shown to a receiver: {error}")
                })?
            }
            (None, None) => client.with_no_client_auth(),
            (Some(half), None) => return Err(format!("{half} is of no use without {}", other(half, "KEY"))),
            (None, Some(half)) => {
                return Err(format!("{half} is of no use without {}", other(half, "CERTIFICATE")));
            }
        };
        client.alpn_protocols = vec![self.protocol.to_vec()];
        Ok(client)
    }

    /// Makes the connection one with TLS; the error says why it is none. What the receiver thinks of it later is told
    /// in `refusal`.
    pub(super) async fn greet(
        &self,
        host: &str,
        stream: Counted,
        refusal: Arc<OnceLock<String>>,
    ) -> Result<Watched, String> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("{host} is no name that a certificate can have"))?;
        let connector = TlsConnector::from(Arc::new(self.client()?));
        let shows_certificate = self.files.client_certificate.is_some();
        match connector.connect(name, stream).await {
            Ok(stream) => Ok(Watched { stream, refusal, shows_certificate, ahead: VecDeque::new() }),
            Err(error) => Err(match of_tls(&error) {
                Some(cause) => explain(cause, host, shows_certificate),
                None => format!("the TLS handshake broke off: {error}"),
            }),
        }
    }
}

/// The variable of the other half of a client's identity.
fn other(half: &Named, ending: &str) -> String {
    let stem = half.name.trim_end_matches("KEY").trim_end_matches("CERTIFICATE");
    format!("{stem}{ending}")
}

fn system_roots() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(format!(
            "this system trusts no authority{why}: install its package ca-certificates, or name a file in \
             OTEL_EXPORTER_OTLP_CERTIFICATE"
        ));
    }
    Ok(roots)
}

fn roots(named: &Named) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(named)? {
        roots.add(certificate).map_err(|error| format!("{named} cannot be trusted: {error}"))?;
    }
    Ok(roots)
}

fn certificates(named: &Named) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = read(named)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let certificates = certificates.map_err(|error| format!("{named} is no good PEM: {error}"))?;
    if certificates.is_empty() {
        return Err(format!("{named} holds no certificate in PEM"));
    }
    Ok(certificates)
}

fn private_key(named: &Named) -> Result<PrivateKeyDer<'static>, String> {
    let bytes = read(named)?;
    PrivateKeyDer::from_pem_slice(&bytes)
        .map_err(|_| format!("{named} holds no private key in PEM, or only one under a password"))
}

fn read(named: &Named) -> Result<Vec<u8>, String> {
    std::fs::read(Path::new(&named.value)).map_err(|error| format!("{named} cannot be read: {error}"))
}

/// What TLS says in an error of the stream.
fn of_tls(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// What to think of a failure, and what to do.
fn explain(error: &rustls::Error, host: &str, shows_certificate: bool) -> String {
    use CertificateError as Bad;
    match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::UnknownIssuer | Bad::BadSignature => {
                "its certificate is of no authority that is trusted here; name \
                the authority's file in OTEL_EXPORTER_OTLP_CERTIFICATE"
                    .into()
            }
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                format!(
                    "its certificate is not one for {host} ({bad}); use a name that it has in the endpoint"
                )
            }
            Bad::Expired | Bad::ExpiredContext { .. } => {
                format!("its certificate has expired ({bad}); renew it, or look at this machine's clock")
            }
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
                format!("its certificate is not valid yet ({bad}); look at this machine's clock")
            }
            other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
                "its certificate is an authority's own; give it one with basicConstraints=CA:FALSE".into()
            }
            other => format!("its certificate is not accepted: {other}"),
        },
        rustls::Error::AlertReceived(alert) if is_about_us(*alert) && !shows_certificate => format!(
            "it wants a client certificate ({alert:?}); name one in OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and \
             OTEL_EXPORTER_OTLP_CLIENT_KEY"
        ),
        rustls::Error::AlertReceived(alert) if is_about_us(*alert) => format!(
            "it does not take the client certificate ({alert:?}); look at OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"
        ),
        rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            "it does not speak this protocol inside of TLS; a collector takes gRPC on port 4317, and \
             OTLP/HTTP on 4318"
                .into()
        }
        rustls::Error::InvalidMessage(_) => "it does not speak TLS; is its endpoint one with http://?".into(),
        other => format!("no TLS with it: {other}"),
    }
}

/// Whether an alert is an answer to the certificate that this end has shown, or has not. Whoever sends one has not
/// looked at what came after it.
fn is_about_us(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::DecryptError
            | AlertDescription::HandshakeFailure
    )
}

/// A stream that remembers why the other end has refused it: in TLS 1.3 that comes after the handshake, together with
/// the end of the connection.
#[derive(Debug)]
pub(super) struct Watched {
    stream: TlsStream<Counted>,
    refusal: Arc<OnceLock<String>>,
    shows_certificate: bool,
    /// Read before it was asked for.
    ahead: VecDeque<u8>,
}

/// As much is read ahead at most.
const MAX_AHEAD_BYTES: usize = 64 << 10;

impl Watched {
    fn note(&self, error: &io::Error) {
        if let Some(rustls::Error::AlertReceived(alert)) = of_tls(error)
            && is_about_us(*alert)
        {
            let cause = rustls::Error::AlertReceived(*alert);
            self.refusal.get_or_init(|| explain(&cause, "", self.shows_certificate));
        }
    }

    /// Where nothing can be written any more, the reason may be there to be read, or on its way.
    fn noted<T>(&mut self, task: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let Poll::Ready(Err(error)) = &written else { return written };
        self.note(error);
        let mut bytes = [0; 256];
        while self.refusal.get().is_none() && self.ahead.len() < MAX_AHEAD_BYTES {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(task, &mut buffer) {
                // A stream that is broken becomes readable.
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => break,
                Poll::Ready(Ok(())) => self.ahead.extend(buffer.filled()),
                Poll::Ready(Err(error)) => {
                    self.note(&error);
                    break;
                }
            }
        }
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let count = self.ahead.len().min(into.remaining());
            self.ahead.drain(..count).for_each(|byte| into.put_slice(&[byte]));
            return Poll::Ready(Ok(()));
        }
        let read = Pin::new(&mut self.stream).poll_read(task, into);
        if let Poll::Ready(Err(error)) = &read {
            self.note(error);
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(task, bytes);
        self.noted(task, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(task);
        self.noted(task, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}
