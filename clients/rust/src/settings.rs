use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fmt, thread};

use tonic::transport::Endpoint;

use crate::channel::Bearer;
use crate::error::Error;
use crate::transport::{self, Tls};
use crate::v1::BotInfo;

const SERVER: &str = "127.0.0.1:50051";
/// Few, so that a bot that takes a second for a move answers all of them in time.
const GAMES: u32 = 8;
const RECONNECT: Duration = Duration::from_secs(60);
/// As good as for ever, and it can be added to an instant.
pub(crate) const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// As [`Settings::games`]: the server decides how many games are played at once.
pub const UNLIMITED: u32 = 0;

/// Where and as whom a bot plays. What is left out comes from the environment, or has a default.
///
/// ```
/// let mut settings = happycity::Settings::default();
/// settings.games = Some(happycity::UNLIMITED);
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// The bot's name, 1 to 64 letters, digits or any of `._-+`; `HAPPYCITY_NAME`, or the program's.
    pub name: Option<String>,
    /// What the bot says of itself, for lists, standings and reports; its language is Rust by default.
    pub info: BotInfo,
    /// The server's address, host:port or unix:path; `HAPPYCITY_SERVER`, or 127.0.0.1:50051.
    pub server: Option<String>,
    /// The bot's token, for a server that asks for one; `HAPPYCITY_TOKEN`.
    pub token: Option<String>,
    /// Games at once at most, or [`UNLIMITED`]; `HAPPYCITY_GAMES`, or 8.
    pub games: Option<u32>,
    /// Threads on which bots choose, each one move at a time; by default as many as there are cores.
    pub thinkers: Option<usize>,

    /// Whether to encrypt the connection; `HAPPYCITY_TLS` (0 or 1). A CA or a certificate implies it.
    pub tls: Option<bool>,
    /// A file of the certificates to trust, in PEM; `HAPPYCITY_CA`, or those of the system.
    pub ca: Option<PathBuf>,
    /// A file of the bot's own certificate, in PEM, for servers that ask for one; `HAPPYCITY_CERT`.
    pub cert: Option<PathBuf>,
    /// A file of the certificate's key, in PEM; `HAPPYCITY_KEY`.
    pub key: Option<PathBuf>,
    /// Whether a token may travel unencrypted to another machine; `HAPPYCITY_INSECURE` (0 or 1).
    pub insecure: Option<bool>,

    /// How long to wait for a server that isn't there yet; by default it has to be there.
    pub wait: Duration,
    /// How long to try after a connection was lost; by default a minute.
    pub reconnect: Option<Duration>,
}

/// Shows no token.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("name", &self.name)
            .field("server", &self.server)
            .field("games", &self.games)
            .finish_non_exhaustive()
    }
}

/// Settings with nothing left out, which can be used.
pub(crate) struct Setup {
    pub(crate) name: String,
    pub(crate) info: BotInfo,
    pub(crate) server: String,
    pub(crate) games: u32,
    pub(crate) thinkers: usize,
    pub(crate) wait: Duration,
    pub(crate) reconnect: Duration,
    pub(crate) encrypted: bool,
    pub(crate) endpoint: Endpoint,
    pub(crate) bearer: Bearer,
}

impl Settings {
    /// Fills in what is left out, from the environment or by default, and reads the files of TLS.
    pub(crate) fn setup(self) -> Result<Setup, Error> {
        self.setup_in(|variable| env::var_os(variable).map(|value| value.to_string_lossy().into_owned()))
    }

    fn setup_in(self, environment: impl Fn(&str) -> Option<String>) -> Result<Setup, Error> {
        let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
        let text = |set: Option<String>, name| set.filter(|value| !value.is_empty()).or_else(|| variable(name));
        let file = |set: Option<PathBuf>, name| set.or_else(|| variable(name).map(PathBuf::from));
        let server = text(self.server, "HAPPYCITY_SERVER").unwrap_or_else(|| SERVER.into());
        let token = text(self.token, "HAPPYCITY_TOKEN");
        let tls = Tls {
            wanted: switch(self.tls, "HAPPYCITY_TLS", variable)?,
            ca: file(self.ca, "HAPPYCITY_CA"),
            cert: file(self.cert, "HAPPYCITY_CERT"),
            key: file(self.key, "HAPPYCITY_KEY"),
        };
        let insecure = switch(self.insecure, "HAPPYCITY_INSECURE", variable)?;
        if token.is_some() && !tls.encrypts() && !insecure && !transport::is_loopback(&server) {
            return Err(Error::Setting {
                setting: "token",
                text: format!(
                    "it would travel unencrypted to {server}; use TLS (HAPPYCITY_TLS=1 or HAPPYCITY_CA=FILE), \
                     or allow it with HAPPYCITY_INSECURE=1"
                ),
            });
        }
        Ok(Setup {
            name: text(self.name, "HAPPYCITY_NAME").unwrap_or_else(program),
            info: BotInfo {
                language: Some(self.info.language).filter(|said| !said.is_empty()).unwrap_or_else(|| "Rust".into()),
                ..self.info
            },
            games: match self.games {
                Some(games) => games,
                None => games("HAPPYCITY_GAMES", variable)?,
            },
            thinkers: self.thinkers.unwrap_or_else(cores).max(1),
            wait: self.wait.min(LONGEST),
            reconnect: self.reconnect.unwrap_or(RECONNECT).min(LONGEST),
            encrypted: tls.encrypts(),
            endpoint: transport::endpoint(&server, &tls)?,
            bearer: Bearer::new(token.as_deref())?,
            server,
        })
    }
}

fn program() -> String {
    let path = env::args_os().next().unwrap_or_default();
    let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".exe").unwrap_or(&name).to_owned()
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn games(name: &'static str, variable: impl Fn(&str) -> Option<String>) -> Result<u32, Error> {
    let Some(text) = variable(name) else { return Ok(GAMES) };
    text.parse().map_err(|_| Error::Setting { setting: name, text: format!("{text:?} is not a number of games") })
}

fn switch(set: Option<bool>, name: &'static str, variable: impl Fn(&str) -> Option<String>) -> Result<bool, Error> {
    match variable(name).as_deref() {
        _ if set.is_some() => Ok(set == Some(true)),
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(text) => Err(Error::Setting { setting: name, text: format!("{text:?} is neither 0 nor 1") }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::time::Instant;

    use super::*;

    fn setup(settings: Settings, variables: &[(&str, &str)]) -> Result<Setup, Error> {
        let environment: HashMap<_, _> = variables.iter().copied().collect();
        settings.setup_in(|variable| environment.get(variable).map(|value| (*value).to_owned()))
    }

    fn wrong(settings: Settings, variables: &[(&str, &str)]) -> (&'static str, String) {
        match setup(settings, variables) {
            Err(Error::Setting { setting, text }) => (setting, text),
            other => panic!("no wrong setting: {:?}", other.err()),
        }
    }

    /// What is left out comes from the environment.
    #[test]
    fn environment() {
        let variables = [
            ("HAPPYCITY_NAME", "env"),
            ("HAPPYCITY_SERVER", "host:1"),
            ("HAPPYCITY_TOKEN", "secret"),
            ("HAPPYCITY_GAMES", "5"),
            ("HAPPYCITY_INSECURE", "1"),
        ];
        let setup = setup(Settings::default(), &variables).unwrap();
        assert_eq!((setup.name.as_str(), setup.server.as_str(), setup.games), ("env", "host:1", 5));
        assert_eq!(setup.endpoint.uri().to_string(), "http://host:1/");
        assert!(!setup.encrypted);
    }

    /// A setting in code beats the environment, also one that switches something off.
    #[test]
    fn code_beats_environment() {
        let code = Settings {
            name: Some("code".into()),
            server: Some("localhost:2".into()),
            token: Some("code".into()),
            games: Some(UNLIMITED),
            tls: Some(false),
            insecure: Some(false),
            ..Settings::default()
        };
        let variables = ["NAME", "SERVER", "TOKEN", "GAMES", "TLS", "INSECURE"].map(|name| format!("HAPPYCITY_{name}"));
        let variables: Vec<_> = variables.iter().map(|name| (name.as_str(), "1")).collect();
        let setup = setup(code.clone(), &variables).unwrap();
        assert_eq!((setup.name.as_str(), setup.server.as_str(), setup.games), ("code", "localhost:2", 0));
        assert!(!setup.encrypted);
        assert_eq!(wrong(Settings { server: Some("example.org:1".into()), ..code }, &variables).0, "token");
    }

    /// Without an environment, or with empty variables, there are defaults.
    #[test]
    fn defaults() {
        for variables in [&[][..], &[("HAPPYCITY_SERVER", ""), ("HAPPYCITY_GAMES", ""), ("HAPPYCITY_TLS", "")]] {
            let setup = setup(Settings::default(), variables).unwrap();
            assert_eq!((setup.server.as_str(), setup.games, setup.encrypted), ("127.0.0.1:50051", 8, false));
            assert_eq!((setup.wait, setup.reconnect), (Duration::ZERO, Duration::from_secs(60)));
            assert!(setup.name.starts_with("happycity-"), "the name of the test's program, not {}", setup.name);
            assert!(setup.thinkers > 0);
        }
    }

    /// A bot may search for its server for ever.
    #[test]
    fn for_ever() {
        let patient = Settings { wait: Duration::MAX, reconnect: Some(Duration::MAX), ..Settings::default() };
        let setup = setup(patient, &[]).unwrap();
        assert!(Instant::now().checked_add(setup.wait).is_some() && setup.reconnect == setup.wait);
    }

    /// A variable whose value can't be used is an error that names it.
    #[test]
    fn strange_environment() {
        for variable in ["HAPPYCITY_GAMES", "HAPPYCITY_TLS", "HAPPYCITY_INSECURE"] {
            assert_eq!(wrong(Settings::default(), &[(variable, "many")]).0, variable);
            let setup = setup(Settings::default(), &[(variable, "0")]).unwrap();
            assert!(!setup.encrypted && (setup.games == 0) == (variable == "HAPPYCITY_GAMES"));
        }
    }

    /// Each variable of TLS encrypts the connection.
    #[test]
    fn encryption() {
        assert!(setup(Settings::default(), &[("HAPPYCITY_TLS", "1")]).unwrap().encrypted);
        for (variable, setting) in [("HAPPYCITY_CA", "ca"), ("HAPPYCITY_CERT", "key"), ("HAPPYCITY_KEY", "cert")] {
            assert_eq!(wrong(Settings::default(), &[(variable, "missing.pem")]).0, setting);
        }
    }

    /// A token doesn't travel unencrypted to another machine unless that is allowed.
    #[test]
    fn token_in_the_clear() {
        let to = |server: &str| Settings {
            server: Some(server.into()),
            token: Some("secret".into()),
            ..Settings::default()
        };
        let (setting, text) = wrong(to("example.org:1"), &[]);
        assert_eq!(setting, "token");
        assert!(text.contains("HAPPYCITY_INSECURE=1"), "{text}");
        for allowed in [
            Settings { insecure: Some(true), ..to("example.org:1") },
            Settings { tls: Some(true), ..to("example.org:1") },
            Settings { token: None, ..to("example.org:1") },
            to("127.0.0.1:1"),
            to("unix:/tmp/socket"),
        ] {
            setup(allowed, &[]).unwrap();
        }
    }

    /// A token that no header can hold is refused, and none is ever shown.
    #[test]
    fn strange_token() {
        let settings = Settings { token: Some("two\nlines".into()), ..Settings::default() };
        assert!(!format!("{settings:?}").contains("lines"));
        assert_eq!(wrong(settings, &[]).0, "token");
    }
}
