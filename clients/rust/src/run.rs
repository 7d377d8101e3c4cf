use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::{future, mem};

use tokio::runtime::Builder;

use crate::bot::{Factory, any_bot};
use crate::play::play_any;
use crate::{Bot, GameStarted, Settings, logger};

/// Is a bot's whole program: plays until the server ends the session for good, or until SIGINT or SIGTERM, with a bot
/// that the factory makes for each game. If there is no server to play on, or it refuses the bot, one line says so and
/// the exit code is 2.
///
/// It logs with the crate `log`: to the program's own logger, or else to stderr.
pub fn run<F, B>(factory: F, settings: Settings) -> ExitCode
where
    F: Fn(&GameStarted) -> B + Send + Sync + 'static,
    B: Bot + 'static,
{
    run_any(any_bot(factory), settings)
}

fn run_any(factory: Arc<Factory>, settings: Settings) -> ExitCode {
    logger::install();
    let runtime = Builder::new_current_thread().enable_all().build().expect("the system has room for a runtime");
    let ended = runtime.block_on(play_any(factory, settings, pin!(stopped())));
    mem::forget(runtime); // without it, a bot that still waits for a call would panic
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Waits until the program has to end.
#[cfg(unix)]
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};

    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        _ => future::pending().await,
    }
}

/// Waits until the program has to end.
#[cfg(not(unix))]
async fn stopped() {
    if tokio::signal::ctrl_c().await.is_err() {
        future::pending().await
    }
}
