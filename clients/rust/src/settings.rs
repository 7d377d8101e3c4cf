use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, thread};

use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::error::{Error, cause};
use crate::v1::{BotInfo, Hello};

const SERVER: &str = "grpc://127.0.0.1:50051";
/// Few, so that a bot that takes a second for a move answers all of them in time.
const GAMES: u32 = 8;
/// The version of the contract from which the stubs are generated.
const PROTOCOL_VERSION: u32 = 1;

/// Where and as whom a bot plays. What is left out comes from the environment, or has a default. The file
/// `happycity.env`, or that of `HAPPYCITY_ENV`, has what the environment lacks.
#[derive(Clone, Default)]
pub struct Settings {
    /// The server's address, `grpc://host:port`, or `grpcs://host:port` with TLS; `HAPPYCITY_SERVER`, or
    /// `grpc://127.0.0.1:50051`.
    pub server: Option<String>,
    /// The bot's name, 1 to 64 letters, digits or any of `._-+`; `HAPPYCITY_NAME`. By default the name that the token
    /// is for, or without a token the program's.
    pub name: Option<String>,
    /// The bot's token, for a server that asks for one; `HAPPYCITY_TOKEN`, or that of the name in `HAPPYCITY_TOKENS`.
    pub token: Option<String>,
    /// Maximum number of games at once, 0 for any number; `HAPPYCITY_GAMES`, or 8.
    pub games: Option<u32>,
    /// What the bot says of itself, for lists, standings and reports; its language is Rust by default, its
    /// version `HAPPYCITY_VERSION`.
    pub info: BotInfo,
    /// Number of bots that think at once, each on a thread; by default the number of cores.
    pub thinkers: Option<usize>,
    /// How long to look for a server that was lost; a minute by default.
    pub reconnect: Option<Duration>,
}

/// What the settings say, with nothing left out.
pub(crate) struct Setup {
    /// The address as it is given.
    pub(crate) url: String,
    /// The address without its scheme.
    pub(crate) server: String,
    pub(crate) endpoint: Endpoint,
    pub(crate) authorization: Option<MetadataValue<Ascii>>,
    pub(crate) hello: Hello,
    pub(crate) thinkers: usize,
    pub(crate) reconnect: Duration,
}

impl Settings {
    /// Fills in what is left out, from the environment or by default, and reads the files of TLS.
    pub(crate) fn setup(self, environment: &dyn Fn(&str) -> Option<String>) -> Result<Setup, Error> {
        let file = settings_file(environment)?;
        let variable =
            |name: &str| environment(name).or_else(|| file.get(name).cloned()).filter(|value| !value.is_empty());
        let address = self.server.or_else(|| variable("HAPPYCITY_SERVER")).unwrap_or_else(|| SERVER.into());
        let (server, endpoint) = endpoint(&address).ok_or_else(|| {
            let examples = "grpc://127.0.0.1:50051 or grpcs://arena.example:443";
            Error::new(format!("HAPPYCITY_SERVER: '{address}' is not an address such as {examples}"))
        })?;
        let name = self.name.or_else(|| variable("HAPPYCITY_NAME"));
        let token = match self.token {
            Some(token) => Some(token),
            None => token_of(name.as_deref(), &variable("HAPPYCITY_TOKENS").unwrap_or_default())?
                .or_else(|| variable("HAPPYCITY_TOKEN")),
        };
        let name = name.or_else(|| token.is_none().then(program));
        let games = match variable("HAPPYCITY_GAMES").filter(|_| self.games.is_none()) {
            Some(text) if is_number(&text, 9) => text.parse().expect("a number of nine digits"),
            Some(text) => {
                let text = format!("HAPPYCITY_GAMES: '{text}' is not a number of games; 0 is any number");
                return Err(Error::new(text));
            }
            None => self.games.unwrap_or(GAMES),
        };
        if token.as_ref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(Error::new("HAPPYCITY_TOKEN: it has a character that no token has"));
        }
        let mut authorization: Option<MetadataValue<_>> =
            token.map(|token| format!("Bearer {token}").parse().expect("a token fits into a header"));
        authorization.iter_mut().for_each(|value| value.set_sensitive(true));
        let info = BotInfo {
            version: self.info.version.or_else(|| variable("HAPPYCITY_VERSION")),
            language: self.info.language.or_else(|| Some("Rust".into())),
            ..self.info
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Ok(Setup {
            url: address,
            server,
            endpoint: encrypted(endpoint, &variable)?,
            authorization,
            hello: Hello {
                protocol_version: PROTOCOL_VERSION,
                name,
                max_games: Some(games).filter(|games| *games > 0),
                software: Some(concat!("happycity-rust/", env!("CARGO_PKG_VERSION")).into()),
                resume_token: None,
                info: Some(info),
            },
            thinkers: self.thinkers.unwrap_or(cores).max(1),
            reconnect: self.reconnect.unwrap_or(Duration::from_secs(60)),
        })
    }
}

/// Reads what the environment may lack from the file of `happycity join`. The file's tokens are for one server: where the
/// environment has an address, also an empty one, the file's CA alone counts, and that only where the environment has no
/// access of its own. Paths in the file are relative to it.
fn settings_file(environment: &dyn Fn(&str) -> Option<String>) -> Result<HashMap<String, String>, Error> {
    let mut found = HashMap::new();
    let given = |name: &str| environment(name).filter(|value| !value.is_empty());
    let is_other_server = environment("HAPPYCITY_SERVER").is_some();
    if is_other_server
        && ["HAPPYCITY_CA", "HAPPYCITY_TOKEN", "HAPPYCITY_TOKENS"].into_iter().any(|name| given(name).is_some())
    {
        return Ok(found);
    }
    let named = given("HAPPYCITY_ENV");
    let path = named.as_deref().unwrap_or("happycity.env");
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(Error::new(format!("{path} can't be read as text in UTF-8")));
        }
        Err(_) if named.is_some() && !is_other_server => {
            return Err(Error::new(format!("HAPPYCITY_ENV: there is no file {path}")));
        }
        Err(_) => return Ok(found),
    };
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let (name, value) = (line.trim().split_once('='))
            .filter(|(name, _)| name.strip_prefix("HAPPYCITY_").is_some_and(|rest| !rest.is_empty() && is_name(rest)))
            .ok_or_else(|| Error::new(format!("{path}:{}: it is not HAPPYCITY_NAME=VALUE", index + 1)))?;
        if is_other_server && name != "HAPPYCITY_CA" {
            continue;
        }
        let is_path = ["HAPPYCITY_CA", "HAPPYCITY_CERT", "HAPPYCITY_KEY"].contains(&name) && !value.is_empty();
        let value = if is_path { Path::new(path).with_file_name(value) } else { value.into() };
        found.entry(name.to_owned()).or_insert(value.to_string_lossy().into_owned());
    }
    Ok(found)
}

/// Returns the token for a name in a text such as `ann=hc_1_x,bob=hc_2_y`.
fn token_of(name: Option<&str>, tokens: &str) -> Result<Option<String>, Error> {
    let mut own = None;
    for (index, entry) in tokens.split(',').filter(|entry| !entry.is_empty()).enumerate() {
        let (bot, token) =
            (entry.trim().split_once('='))
                .filter(|(bot, token)| !bot.is_empty() && !token.is_empty())
                .ok_or_else(|| Error::new(format!("HAPPYCITY_TOKENS: entry {} is not NAME=TOKEN", index + 1)))?;
        own = if name == Some(bot) { Some(token.to_owned()) } else { own };
    }
    Ok(own)
}

/// Returns the address without its scheme, and its endpoint.
fn endpoint(address: &str) -> Option<(String, Endpoint)> {
    let (scheme, server) = match (address.strip_prefix("grpc://"), address.strip_prefix("grpcs://")) {
        (_, Some(server)) => ("https", server),
        (Some(server), _) => ("http", server),
        _ => ("http", address),
    };
    let uri = match address.strip_prefix("unix:") {
        Some(path) if !path.is_empty() => address.to_owned(),
        None if is_host_and_port(server) => format!("{scheme}://{server}"),
        _ => return None,
    };
    let endpoint = Endpoint::from_shared(uri).ok()?.http2_keep_alive_interval(Duration::from_secs(30));
    Some((server.to_owned(), endpoint.keep_alive_timeout(Duration::from_secs(10))))
}

fn is_host_and_port(server: &str) -> bool {
    let Some((host, port)) = server.rsplit_once(':') else { return false };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(ip) => ip.split('%').next().is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()),
        None => !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)),
    };
    is_host && is_number(port, 5) && port.parse::<u16>().is_ok()
}

fn is_number(text: &str, digits: usize) -> bool {
    (1..=digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn program() -> String {
    let path = PathBuf::from(env::args_os().next().unwrap_or_default());
    path.file_name().unwrap_or_default().to_string_lossy().trim_end_matches(".exe").to_owned()
}

/// Adds TLS to an endpoint that needs it, with the certificates that the variables name.
fn encrypted(endpoint: Endpoint, variable: &dyn Fn(&str) -> Option<String>) -> Result<Endpoint, Error> {
    if endpoint.uri().scheme_str() != Some("https") {
        return Ok(endpoint);
    }
    let read = |name: &str| match variable(name) {
        None => Ok(None),
        Some(path) => match fs::read_to_string(&path) {
            Ok(pem) => Ok(Some((path, pem))),
            Err(error) => Err(Error::new(format!("{name}: {path} can't be read: {error}"))),
        },
    };
    let (config, endpoint) = match read("HAPPYCITY_CA")? {
        Some((path, pem)) => {
            let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&pem));
            let trusting = endpoint.tls_config(config.clone()).ok().filter(|_| pem.contains("BEGIN CERTIFICATE"));
            let wrong = || Error::new(format!("HAPPYCITY_CA: {path} holds no certificates in PEM"));
            (config, trusting.ok_or_else(wrong)?)
        }
        None => (ClientTlsConfig::new().with_native_roots(), endpoint),
    };
    match (read("HAPPYCITY_CERT")?, read("HAPPYCITY_KEY")?) {
        (None, None) => endpoint.tls_config(config).map_err(|error| Error::new(cause(&error))),
        (Some((cert, pem)), Some((key, key_pem))) => {
            endpoint.tls_config(config.identity(Identity::from_pem(pem, key_pem))).map_err(|error| {
                let files = format!("{cert} and {key} are not a certificate and its key in PEM");
                Error::new(format!("HAPPYCITY_CERT, HAPPYCITY_KEY: {files}: {}", cause(&error)))
            })
        }
        (Some(_), None) => Err(Error::new("HAPPYCITY_CERT: HAPPYCITY_KEY is needed too")),
        (None, Some(_)) => Err(Error::new("HAPPYCITY_KEY: HAPPYCITY_CERT is needed too")),
    }
}
