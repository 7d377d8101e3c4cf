use std::path::Path;
use std::time::Duration;
use std::{env, thread};

use tonic::codegen::http::uri::Authority;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Endpoint;

use crate::error::Error;
use crate::v1::{BotInfo, Hello};

/// As [`Settings::games`]: the server decides how many games are played at once.
pub const UNLIMITED: u32 = 0;

const SERVER: &str = "grpc://127.0.0.1:50051";
/// Few, so that a bot that takes a second for a move answers all of them in time.
const GAMES: u32 = 8;
const RECONNECT: Duration = Duration::from_secs(60);

/// Where and as whom a bot plays. What is left out comes from the environment, or has a default.
///
/// ```
/// use happycity::{Settings, UNLIMITED};
///
/// let settings = Settings { games: Some(UNLIMITED), ..Settings::default() };
/// ```
#[derive(Clone, Default)]
pub struct Settings {
    /// The server's address, `grpc://host:port`, or `grpcs://host:port` with TLS; `HAPPYCITY_SERVER`, or
    /// `grpc://127.0.0.1:50051`.
    pub server: Option<String>,
    /// The bot's name, 1 to 64 letters, digits or any of `._-+`; `HAPPYCITY_NAME`. By default the name that the token
    /// is for, or without a token the program's.
    pub name: Option<String>,
    /// The bot's token, for a server that asks for one; `HAPPYCITY_TOKEN`.
    pub token: Option<String>,
    /// Maximum number of games at once, or [`UNLIMITED`]; `HAPPYCITY_GAMES`, or 8.
    pub games: Option<u32>,
    /// What the bot says of itself, for lists, standings and reports; its language is Rust by default.
    pub info: BotInfo,
    /// Number of bots that think at once, each on a thread; by default the number of cores.
    pub thinkers: Option<u32>,
    /// How long to wait for a server that isn't there yet; not at all by default.
    pub wait: Duration,
    /// How long to look for a server that was lost; a minute by default.
    pub reconnect: Option<Duration>,
}

/// What the settings say, with nothing left out.
pub(crate) struct Setup {
    /// The address without its scheme, for messages.
    pub(crate) server: String,
    pub(crate) tls: bool,
    pub(crate) endpoint: Endpoint,
    pub(crate) authorization: Option<MetadataValue<Ascii>>,
    pub(crate) hello: Hello,
    pub(crate) thinkers: u32,
    pub(crate) wait: Duration,
    pub(crate) reconnect: Duration,
}

impl Settings {
    /// Fills in what is left out, from the environment or by default, and reads the files of TLS.
    pub(crate) fn setup(self) -> Result<Setup, Error> {
        self.setup_in(&|variable| env::var_os(variable).map(|value| value.to_string_lossy().into_owned()))
    }

    fn setup_in(self, environment: &dyn Fn(&str) -> Option<String>) -> Result<Setup, Error> {
        let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
        let address = self.server.or_else(|| variable("HAPPYCITY_SERVER")).unwrap_or_else(|| SERVER.into());
        let token = self.token.or_else(|| variable("HAPPYCITY_TOKEN"));
        let name = self.name.or_else(|| variable("HAPPYCITY_NAME")).or_else(|| token.is_none().then(program));
        let games = match (self.games, variable("HAPPYCITY_GAMES")) {
            (Some(games), _) => games,
            (None, Some(text)) => text.parse().map_err(|_| {
                Error::new(format!("HAPPYCITY_GAMES: '{text}' is not a number of games; 0 is any number"))
            })?,
            (None, None) => GAMES,
        };
        let (server, tls, endpoint) = endpoint(&address).ok_or_else(|| {
            let examples = "grpc://127.0.0.1:50051 or grpcs://arena.example:443";
            Error::new(format!("HAPPYCITY_SERVER: '{address}' is not an address such as {examples}"))
        })?;
        let authorization = token.map(|token| format!("Bearer {token}").parse()).transpose();
        let mut authorization: Option<MetadataValue<_>> =
            authorization.map_err(|_| Error::new("HAPPYCITY_TOKEN: it has characters that no token has"))?;
        authorization.iter_mut().for_each(|value| value.set_sensitive(true));
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        Ok(Setup {
            server,
            tls,
            endpoint: if tls { encrypted(endpoint, &variable)? } else { endpoint },
            authorization,
            hello: Hello {
                name,
                max_games: Some(games).filter(|games| *games != UNLIMITED),
                software: Some(concat!("happycity-rust/", env!("CARGO_PKG_VERSION")).into()),
                resume_token: None,
                info: Some(BotInfo { language: self.info.language.or_else(|| Some("Rust".into())), ..self.info }),
            },
            thinkers: self.thinkers.unwrap_or(cores).max(1),
            wait: self.wait,
            reconnect: self.reconnect.unwrap_or(RECONNECT),
        })
    }
}

/// Returns the address without its scheme, whether it uses TLS, and the endpoint.
fn endpoint(address: &str) -> Option<(String, bool, Endpoint)> {
    let (scheme, server) = address.split_once("://").unwrap_or(("grpc", address));
    let uri = match scheme {
        "grpc" if server.starts_with("unix:") => server.to_owned(),
        "grpc" | "grpcs" => {
            let authority: Authority = server.parse().ok()?;
            authority.port_u16().filter(|_| !authority.host().is_empty() && !server.contains('@'))?;
            format!("{}://{server}", if scheme == "grpcs" { "https" } else { "http" })
        }
        _ => return None,
    };
    let endpoint = Endpoint::from_shared(uri).ok()?;
    let endpoint = endpoint
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true);
    Some((server.to_owned(), scheme == "grpcs", endpoint))
}

fn program() -> String {
    let path = env::args_os().next().unwrap_or_default();
    let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".exe").unwrap_or(&name).to_owned()
}

#[cfg(not(feature = "tls"))]
fn encrypted(_: Endpoint, _: &dyn Fn(&str) -> Option<String>) -> Result<Endpoint, Error> {
    Err(Error::new("HAPPYCITY_SERVER: this bot was built without TLS, feature tls of the crate happycity"))
}

/// Adds TLS to an endpoint, with the certificates that the variables name.
#[cfg(feature = "tls")]
fn encrypted(endpoint: Endpoint, variable: &dyn Fn(&str) -> Option<String>) -> Result<Endpoint, Error> {
    use tonic::transport::{Certificate, ClientTlsConfig, Identity};

    let read = |name: &str, what: &str, label: &str| {
        let Some(path) = variable(name) else { return Ok(None) };
        match std::fs::read_to_string(&path) {
            Err(error) => Err(Error::new(format!("{name}: {path} can't be read: {error}"))),
            Ok(pem) if pem.contains(label) => Ok(Some(pem)),
            Ok(_) => Err(Error::new(format!("{name}: {path} holds no {what} in PEM"))),
        }
    };
    let config = match read("HAPPYCITY_CA", "certificates", "BEGIN CERTIFICATE")? {
        Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
        None => ClientTlsConfig::new().with_native_roots(),
    };
    let cert = read("HAPPYCITY_CERT", "certificates", "BEGIN CERTIFICATE")?;
    let config = match (cert, read("HAPPYCITY_KEY", "private key", "PRIVATE KEY")?) {
        (None, None) => config,
        (Some(cert), Some(key)) => config.identity(Identity::from_pem(cert, key)),
        (Some(_), None) => return Err(Error::new("HAPPYCITY_CERT: HAPPYCITY_KEY is needed too")),
        (None, Some(_)) => return Err(Error::new("HAPPYCITY_KEY: HAPPYCITY_CERT is needed too")),
    };
    endpoint.tls_config(config).map_err(|error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        Error::new(format!("the files of HAPPYCITY_CA, HAPPYCITY_CERT and HAPPYCITY_KEY can't be used: {cause}"))
    })
}

#[cfg(test)]
#[path = "../tests/unit/settings.rs"]
mod tests;
