use std::env;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use env_logger::Env;
use tokio::runtime::Builder;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

use crate::decision::Bot;
use crate::error::Error;
use crate::player::Player;
use crate::session::Session;
use crate::settings::Settings;
use crate::v1::GameStarted;

/// Is a bot's whole program: plays until the server ends the session, or until SIGINT or SIGTERM, with a bot that the
/// factory makes for each game.
///
/// If it can't play, one line on stderr says why. The exit code is 1 if the server broke the protocol, and 2 if there
/// is no server, it refused the bot, or a setting can't be used. It logs with the crate `log`: to the program's own
/// logger, or else to stderr.
pub fn run<F, B>(factory: F, settings: Settings) -> ExitCode
where
    F: Fn(&GameStarted) -> B + Send + Sync + 'static,
    B: Bot + 'static,
{
    log_to_stderr();
    let runtime = Builder::new_current_thread().enable_all().build().expect("the system has room for a runtime");
    let ended = runtime.block_on(play(factory, settings, stopped()));
    runtime.shutdown_background(); // bots that still think are left alone
    let Err(error) = ended else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    ExitCode::from(error.exit_status)
}

/// Plays all games that the server offers, each with a bot that the factory makes, until the server ends the session.
/// When `stop` is ready, it says goodbye to the server and returns. A connection that is lost is made again, and the
/// games go on.
///
/// # Errors
///
/// If a setting can't be used, if there is no server, if it refuses the bot or breaks the protocol, and if a server that
/// was lost isn't found again.
///
/// # Panics
///
/// If it is not awaited in a Tokio runtime with I/O and time.
pub async fn play<F, B>(factory: F, settings: Settings, stop: impl Future<Output = ()> + Send) -> Result<(), Error>
where
    F: Fn(&GameStarted) -> B + Send + Sync + 'static,
    B: Bot + 'static,
{
    let setup = settings.setup(&|name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()))?;
    let player = Arc::new(Player::new(Box::new(move |start| Box::new(factory(start))), setup.thinkers));
    let mut session = Session::new(setup, player.clone());
    let result = tokio::select! {
        result = session.run() => result,
        () = stop => Ok(()),
    };
    session.leave().await;
    player.close().await;
    result
}

/// Logs to stderr with the time in UTC, unless the program has chosen a logger of its own.
fn log_to_stderr() {
    let mut logger = env_logger::Builder::from_env(Env::default().default_filter_or("happycity=info"));
    logger.format(|out, record| {
        let now = prost_types::Timestamp { nanos: 0, ..SystemTime::now().into() };
        writeln!(out, "{now} {} {}", record.level(), record.args())
    });
    let _ = logger.try_init();
}

/// Waits until the program has to end.
async fn stopped() {
    #[cfg(unix)]
    let terminated = async { signal(SignalKind::terminate()).expect("the runtime listens for signals").recv().await };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated => {}
    }
}
