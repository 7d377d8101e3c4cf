use std::collections::HashMap;
use std::time::Duration;
use std::{env, fs};

use crate::error::Error;
use crate::settings::{Settings, Setup};
use crate::v1::BotInfo;

fn setup(settings: Settings, variables: &[(&str, &str)]) -> Result<Setup, Error> {
    let environment: HashMap<_, _> = variables.iter().copied().collect();
    settings.setup(&|variable| environment.get(variable).map(|value| (*value).to_owned()))
}

fn of(variables: &[(&str, &str)]) -> Setup {
    setup(Settings::default(), variables).unwrap()
}

fn error(variables: &[(&str, &str)]) -> String {
    setup(Settings::default(), variables).err().unwrap_or_else(|| panic!("no error with {variables:?}")).text
}

/// What is left out comes from the environment.
#[test]
fn environment() {
    let setup = of(&[
        ("HAPPYCITY_NAME", "env"),
        ("HAPPYCITY_SERVER", "grpc://host:1"),
        ("HAPPYCITY_TOKEN", "secret"),
        ("HAPPYCITY_GAMES", "5"),
    ]);
    assert_eq!(setup.server, "host:1");
    assert_eq!(setup.endpoint.uri().to_string(), "http://host:1/");
    assert_eq!((setup.hello.name.as_deref(), setup.hello.max_games), (Some("env"), Some(5)));
    let authorization = setup.authorization.unwrap();
    assert_eq!(authorization.to_str().unwrap(), "Bearer secret");
    assert!(authorization.is_sensitive());
}

/// A setting in code beats the environment.
#[test]
fn code_beats_environment() {
    let code = Settings {
        name: Some("code".into()),
        server: Some("localhost:2".into()),
        token: Some("code".into()),
        games: Some(0),
        thinkers: Some(3),
        reconnect: Some(Duration::MAX),
        ..Settings::default()
    };
    let variables = ["NAME", "SERVER", "TOKEN", "GAMES"].map(|name| format!("HAPPYCITY_{name}"));
    let variables: Vec<_> = variables.iter().map(|name| (name.as_str(), "7")).collect();
    let setup = setup(code, &variables).unwrap();
    assert_eq!((setup.server.as_str(), setup.thinkers, setup.reconnect), ("localhost:2", 3, Duration::MAX));
    assert_eq!((setup.hello.name.as_deref(), setup.hello.max_games), (Some("code"), None));
    assert_eq!(setup.authorization.unwrap().to_str().unwrap(), "Bearer code");
}

/// Without an environment, or with empty variables, there are defaults.
#[test]
fn defaults() {
    for variables in [&[][..], &[("HAPPYCITY_SERVER", ""), ("HAPPYCITY_GAMES", ""), ("HAPPYCITY_TOKEN", "")]] {
        let setup = of(variables);
        assert_eq!((setup.server.as_str(), setup.reconnect), ("127.0.0.1:50051", Duration::from_secs(60)));
        assert!(setup.thinkers > 0 && setup.authorization.is_none());
        assert!(setup.hello.name.unwrap().starts_with("happycity-"), "the name of the test's program");
        assert_eq!(setup.hello.max_games, Some(8));
        assert!(setup.hello.software.unwrap().starts_with("happycity-rust/"));
        assert_eq!(setup.hello.info.unwrap().language.as_deref(), Some("Rust"));
    }
}

/// A token has a name of its own.
#[test]
fn token_without_a_name() {
    assert_eq!(of(&[("HAPPYCITY_TOKEN", "secret")]).hello.name, None);
    assert_eq!(of(&[("HAPPYCITY_TOKEN", "secret"), ("HAPPYCITY_NAME", "me")]).hello.name.as_deref(), Some("me"));
    assert!(!error(&[("HAPPYCITY_TOKEN", "two\nlines")]).contains("lines"));
}

/// A file has what the environment lacks; its paths are relative to it.
#[test]
fn settings_file() {
    let folder = env::temp_dir().join(format!("happycity-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("my.env");
    let path = file.to_str().unwrap();
    let named = ("HAPPYCITY_ENV", path);
    let tokens = "HAPPYCITY_TOKEN=first\nHAPPYCITY_TOKENS=ann=first,bob=second\n";
    fs::write(&file, format!("# text\n\nHAPPYCITY_SERVER=grpcs://a:1\r\nHAPPYCITY_CA=absent.pem\n{tokens}")).unwrap();
    let text = error(&[named]);
    assert!(text.starts_with(&format!("HAPPYCITY_CA: {}/absent.pem can't be read", folder.display())), "{text}");
    for (variables, server, token) in [
        (&[named, ("HAPPYCITY_CA", "")][..], "a:1", Some("Bearer first")),
        (&[named, ("HAPPYCITY_CA", ""), ("HAPPYCITY_NAME", "bob")], "a:1", Some("Bearer second")),
        (
            &[named, ("HAPPYCITY_CA", ""), ("HAPPYCITY_TOKENS", ""), ("HAPPYCITY_TOKEN", "own")],
            "a:1",
            Some("Bearer own"),
        ),
        (&[named, ("HAPPYCITY_SERVER", "")], "127.0.0.1:50051", None),
    ] {
        let setup = of(variables);
        let authorization = setup.authorization.as_ref().map(|value| value.to_str().unwrap());
        assert_eq!((setup.server.as_str(), authorization), (server, token));
    }
    fs::write(&file, "HAPPYCITY_TOKEN=1\nPATH=/tmp\n").unwrap();
    assert_eq!(error(&[named]), format!("{path}:2: it is not HAPPYCITY_NAME=VALUE"));
    fs::write(&file, [0xff]).unwrap();
    assert_eq!(error(&[named]), format!("{path} can't be read as text in UTF-8"));
    assert_eq!(error(&[("HAPPYCITY_ENV", "/absent.env")]), "HAPPYCITY_ENV: there is no file /absent.env");
    assert_eq!(error(&[("HAPPYCITY_TOKENS", "ann")]), "HAPPYCITY_TOKENS: entry 1 is not NAME=TOKEN");
    fs::remove_dir_all(folder).unwrap();
}

/// What the bot says of itself is sent, with the language.
#[test]
fn info() {
    let info = BotInfo { author: Some("Ann".into()), ..BotInfo::default() };
    let sent = setup(Settings { info, ..Settings::default() }, &[]).unwrap().hello.info.unwrap();
    assert_eq!((sent.author.as_deref(), sent.language.as_deref()), (Some("Ann"), Some("Rust")));
}

/// The number of games is read; 0 is any number.
#[test]
fn games() {
    assert_eq!(of(&[("HAPPYCITY_GAMES", "0")]).hello.max_games, None);
    for value in ["many", "-1", "1.5", "4294967296"] {
        let text = format!("HAPPYCITY_GAMES: '{value}' is not a number of games; 0 is any number");
        assert_eq!(error(&[("HAPPYCITY_GAMES", value)]), text);
    }
}

/// Addresses are read with or without a scheme; a part that has no use is an error.
#[test]
fn addresses() {
    for server in ["127.0.0.1:50051", "[::1]:1", "example.org:443", "unix:/tmp/socket"] {
        assert_eq!(of(&[("HAPPYCITY_SERVER", server)]).server, server);
    }
    let wrong = ["localhost", ":1", "localhost:1/path", "localhost:many", "a b:1", "me@host:1", "host:"];
    for server in wrong.iter().chain(&["http://localhost:1", "grpc://", "grpcs://unix:/x"]) {
        let examples = "grpc://127.0.0.1:50051 or grpcs://arena.example:443";
        let text = format!("HAPPYCITY_SERVER: '{server}' is not an address such as {examples}");
        assert_eq!(error(&[("HAPPYCITY_SERVER", server)]), text);
    }
}

/// The files of TLS are read for encrypted connections, and only for those.
#[test]
fn tls() {
    let server = ("HAPPYCITY_SERVER", "grpcs://example.org:443");
    let missing = format!("{}/missing.pem", env::temp_dir().display());
    let text = error(&[server, ("HAPPYCITY_CA", &missing)]);
    assert!(text.starts_with(&format!("HAPPYCITY_CA: {missing} can't be read: ")), "{text}");
    let file = env::temp_dir().join(format!("happycity-{}.pem", std::process::id()));
    fs::write(&file, "nothing").unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(error(&[server, ("HAPPYCITY_CA", path)]), format!("HAPPYCITY_CA: {path} holds no certificates in PEM"));
    let text = error(&[server, ("HAPPYCITY_CERT", path), ("HAPPYCITY_KEY", path)]);
    assert!(text.starts_with("HAPPYCITY_CA, HAPPYCITY_CERT or HAPPYCITY_KEY: "), "{text}");
    assert_eq!(error(&[server, ("HAPPYCITY_CERT", path)]), "HAPPYCITY_CERT: HAPPYCITY_KEY is needed too");
    assert_eq!(error(&[server, ("HAPPYCITY_KEY", path)]), "HAPPYCITY_KEY: HAPPYCITY_CERT is needed too");
    of(&[("HAPPYCITY_CA", &missing)]);
    fs::remove_file(file).unwrap();
}
