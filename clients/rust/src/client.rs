use std::io::Write;
use std::pin::pin;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use env_logger::Env;
use tokio::runtime::Builder;
use tokio::signal::ctrl_c;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::bot::Bot;
use crate::error::{Error, probe};
use crate::player::Player;
use crate::session::{Progress, Stop, play_stream};
use crate::settings::{Settings, Setup};
use crate::v1::{GameStarted, Hello};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

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
    let setup = settings.setup()?;
    let mut player = Player::new(Box::new(move |start| Box::new(factory(start))), setup.thinkers);
    let result = play_streams(&setup, &mut player, pin!(stop)).await;
    player.close().await;
    result
}

/// Plays on one stream after the other, until one of them ends for good or the bot has to stop.
async fn play_streams(setup: &Setup, player: &mut Player, mut stop: Stop<'_>) -> Result<(), Error> {
    let mut token: Option<String> = None; // to resume with, from the last welcome
    let (mut lost, mut patience) = (Instant::now(), setup.wait);
    let (mut searching, mut shutdown) = (false, false);
    let mut bound = FIRST_PAUSE;
    loop {
        let resume_token = token.clone().filter(|token| !token.is_empty());
        let hello = Hello { resume_token, ..setup.hello.clone() };
        let mut progress = Progress::default();
        let ended = play_stream(setup, player, hello, &mut progress, stop.as_mut()).await;
        let Err(mut error) = ended else { return Ok(()) };
        if progress.token.is_some() {
            token = progress.token;
            (lost, patience) = (Instant::now(), setup.reconnect);
            (searching, shutdown) = (false, false);
        } else if token.is_none() && error.is_vague {
            error = probe(&setup.server, setup.tls).await.unwrap_or(error);
        }
        let Some(least) = error.retry_after else { return Err(error) };
        shutdown |= progress.shutdown || error.reason == "SHUTTING_DOWN";
        let left = patience.saturating_sub(lost.elapsed());
        if left.is_zero() || least > left {
            return match token {
                None => Err(error),
                Some(_) if shutdown => Ok(()),
                Some(_) => Err(error.after(&setup.server, lost.elapsed())),
            };
        }
        if !searching {
            log::warn!("{error}; trying again");
            searching = true;
        }
        if progress.beyond_welcome {
            bound = FIRST_PAUSE;
        }
        // Random, to spread the bots of a server that was restarted; the last attempt is when the time is over.
        let pause = bound.mul_f64(fastrand::f64()).max(least).min(left);
        bound = LONGEST_PAUSE.min(2 * bound);
        tokio::select! {
            () = sleep(pause) => {}
            () = &mut stop => return Ok(()),
        }
    }
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
    {
        let mut terminate = signal(SignalKind::terminate()).expect("the runtime listens for signals");
        tokio::select! {
            _ = ctrl_c() => {}
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = ctrl_c().await;
}
