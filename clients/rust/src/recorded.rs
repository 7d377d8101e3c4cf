use std::error::Error as StdError;
use std::fs;
use std::path::Path;

use prost::Message;

use crate::v1::PlayResponse;
use crate::{Bot, Decision, Error, GameStarted, Move};

/// Reads a decision of a recorded game, for the tests of a bot, with the start of its game and all that happened before.
///
/// `happycity ask GAME@DECISION --out FILE` writes the file: the message with which a server would send this decision to
/// a bot that begins there.
///
/// # Errors
///
/// If the file can't be read, or has something else.
pub fn read_decision(path: impl AsRef<Path>) -> Result<(GameStarted, Decision), Error> {
    let path = path.as_ref();
    let content = fs::read(path).map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
    let PlayResponse { games_started, decisions, .. } = PlayResponse::decode(&*content).unwrap_or_default();
    match (<[_; 1]>::try_from(games_started), <[_; 1]>::try_from(decisions)) {
        (Ok([start]), Ok([decision])) => Ok((start, decision.into())),
        _ => {
            let advice = "happycity ask GAME@DECISION --out FILE";
            Err(Error::new(format!("{} is not a decision as this writes it: {advice}", path.display())))
        }
    }
}

/// Makes a bot for the game of such a file, and returns the move that it chooses there.
///
/// # Errors
///
/// As [`read_decision`] and the bot have them, and if the choice is not a move.
pub fn ask<F, B>(factory: F, path: impl AsRef<Path>) -> Result<Move, Box<dyn StdError + Send + Sync>>
where
    F: Fn(&GameStarted) -> B,
    B: Bot,
{
    let (start, decision) = read_decision(path)?;
    let answer = decision.answer(factory(&start).choose(&decision))?;
    Ok(decision.moves[answer.r#move as usize])
}
