use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::{future, mem};

use tokio::runtime::Builder;

use crate::bot::{Factory, any_bot};
use crate::play::play_any;
use crate::{Bot, GameStarted, Settings, logger};

/// Is all of a bot's program: it plays until the server parts for good, or until SIGINT or SIGTERM, with a bot of the
/// factory's for each game. If there is no server to play on, or it refuses the bot, one line says so and the exit
/// code is 2.
///
/// What its author will want to know is logged with the crate `log`: to stderr, or wherever the program's own logger
/// writes.
pub fn run<F, B>(factory: F, settings: Settings) -> ExitCode
where
    F: Fn(&GameStarted) -> B + Send + Sync + 'static,
    B: Bot + 'static,
{
    run_any(any_bot(factory), settings)
}

fn run_any(factory: Arc<Factory>, settings: Settings) -> ExitCode {
    logger::install();
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime needs nothing but the system");
    let ended = runtime.block_on(play_any(factory, settings, pin!(stopped())));
    mem::forget(runtime); // a bot that still waits for a call would panic without it
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Waits until the program is to end.
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

/// Waits until the program is to end.
#[cfg(not(unix))]
async fn stopped() {
    if tokio::signal::ctrl_c().await.is_err() {
        future::pending().await
    }
}
