use std::fs;
use std::path::PathBuf;

use happycity::{Error, Settings};
use rcgen::generate_simple_self_signed;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

use super::bots::first;
use super::peer::{Peer, settings};

/// A certificate for loopback, which is its own CA, and its key.
struct Files {
    folder: tempfile::TempDir,
    cert: String,
    key: String,
}

impl Files {
    fn new() -> Self {
        let made = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let files =
            Self { folder: tempfile::tempdir().unwrap(), cert: made.cert.pem(), key: made.signing_key.serialize_pem() };
        fs::write(files.path("cert.pem"), &files.cert).unwrap();
        fs::write(files.path("key.pem"), &files.key).unwrap();
        fs::write(files.path("text.pem"), "no certificate").unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new().identity(Identity::from_pem(&self.cert, &self.key))
    }
}

fn encrypted(ca: Option<PathBuf>, cert: Option<PathBuf>, key: Option<PathBuf>, token: Option<String>) -> Settings {
    settings(|s| (s.ca, s.cert, s.key, s.token) = (ca, cert, key, token))
}

/// A bot plays by TLS, with a CA of its own, a certificate of its own, and a token.
#[tokio::test]
async fn both_sides_trust() {
    let files = Files::new();
    let config = files.server().client_ca_root(Certificate::from_pem(&files.cert));
    let mut peer = Peer::with(Server::builder().tls_config(config).unwrap()).await;
    let [ca, cert, key] = ["cert.pem", "cert.pem", "key.pem"].map(|name| Some(files.path(name)));
    let _bot = peer.play(|_| first, encrypted(ca, cert, key, Some("secret".into())));
    let (dialogue, _) = peer.accept().await;
    assert_eq!(dialogue.authorization(), Some("Bearer secret"));
}

/// A server whose certificate is not of a trusted CA is not played on.
#[tokio::test]
async fn untrusted_server() {
    let (files, others) = (Files::new(), Files::new());
    let peer = Peer::with(Server::builder().tls_config(files.server()).unwrap()).await;
    let bot = peer.play(|_| first, encrypted(Some(others.path("cert.pem")), None, None, None));
    let text = bot.end().await.unwrap_err().to_string();
    assert!(text.contains("certificate") && text.contains("of that CA"), "{text}");
}

/// Files that are missing or hold something else are errors that name the setting.
#[tokio::test]
async fn wrong_files() {
    let files = Files::new();
    let [text, missing, cert, key] =
        ["text.pem", "missing.pem", "cert.pem", "key.pem"].map(|name| Some(files.path(name)));
    for (wrong, [ca, cert, key]) in [
        ("ca", [&text, &None, &None]),
        ("ca", [&missing, &None, &None]),
        ("cert", [&cert, &text, &text]),
        ("cert", [&cert, &cert, &cert]),
        ("cert", [&None, &missing, &key]),
        ("key", [&None, &cert, &missing]),
        ("key", [&None, &cert, &None]),
        ("cert", [&None, &None, &key]),
    ] {
        match encrypted(ca.clone(), cert.clone(), key.clone(), None).channel() {
            Err(Error::Setting { setting, text, .. }) => assert_eq!(setting, wrong, "{text}"),
            other => panic!("for {wrong}: {:?}", other.err()),
        }
    }
}
