use std::time::Duration;
use std::{env, fs};

use serde_json::{Value, json};

use crate::error::Error;
use crate::settings::{Settings, Setup};
use crate::v1::BotInfo;

/// Settings come from code, environment and file as in all SDKs.
#[test]
fn settings() {
    let folder = env::temp_dir().join(format!("happycity-{}", std::process::id()));
    let path = folder.to_str().unwrap();
    for case in super::cases("settings.jsonl") {
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in case["files"].as_object().into_iter().flatten() {
            let bytes: Vec<_> = text.as_str().unwrap().chars().map(|byte| byte as u8).collect();
            fs::write(folder.join(name), bytes).unwrap();
        }
        let given = |name: &str| case["given"][name].as_str().map(str::to_owned);
        let games = case["given"]["games"].as_u64().map(|games| games as u32);
        let (server, name, token) = (given("server"), given("name"), given("token"));
        let info = BotInfo { version: given("version"), ..BotInfo::default() };
        let code = Settings { server, name, token, games, info, ..Settings::default() };
        let variable = |name: &str| case["environment"][name].as_str().map(|value| value.replace("{folder}", path));
        match (code.setup(&variable), case["error"].as_str()) {
            (Ok(setup), None) => check(&case, &setup),
            (Err(error), Some(text)) => {
                assert!(error.text.starts_with(&text.replace("{folder}", path)), "{case}: {error}");
                assert_eq!(error.exit_status, 2);
            }
            (found, _) => panic!("{case}: {:?}", found.map(|setup| setup.url)),
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// Compares what a case says of the settings. Proxies are left out: tonic uses none.
fn check(case: &Value, setup: &Setup) {
    let name = setup.hello.name.as_deref().unwrap_or_default();
    let authorization = setup.authorization.as_ref().map(|value| value.to_str().unwrap());
    assert!(setup.authorization.iter().all(|value| value.is_sensitive()));
    let found = json!({
        "server": setup.server,
        "tls": setup.endpoint.uri().scheme_str() == Some("https"),
        "name": if case["settings"]["name"] == "*" && name.starts_with("happycity-") { "*" } else { name },
        "token": authorization.map_or("", |value| value.strip_prefix("Bearer ").unwrap()),
        "version": setup.hello.info.as_ref().unwrap().version(),
        "games": setup.hello.max_games.unwrap_or(0),
    });
    for (key, expected) in case["settings"].as_object().unwrap().iter().filter(|(key, _)| *key != "proxy") {
        assert_eq!(&found[key], expected, "{case}");
    }
}

/// What the bot says of itself is sent, with the language; what no variable says has a default.
#[test]
fn code() -> Result<(), Error> {
    let info = BotInfo { author: Some("Ann".into()), ..BotInfo::default() };
    let setup = Settings { info, ..Settings::default() }.setup(&|_| None)?;
    let sent = setup.hello.info.unwrap();
    assert_eq!((sent.author.as_deref(), sent.language.as_deref()), (Some("Ann"), Some("Rust")));
    assert!(setup.hello.software.unwrap().starts_with("happycity-rust/"));
    assert!(setup.thinkers > 0);
    assert_eq!(setup.reconnect, Duration::from_secs(60));
    Ok(())
}
