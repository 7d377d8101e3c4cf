use happycity::v1::Copy;
use happycity::{Card, CardKind, Choice, CopySource, Decision, Move, MoveKind, View};

use crate::city::City;

/// The purse from which decks 1, 2 and 3 are drawn: the cheapest card of the deck.
const DECK_PURSE: [u32; 3] = [1, 4, 6];

/// Takes the best immediate gain: income early, points late. All is in integers, and "first" always means in the order
/// of the moves.
///
/// - Market: for the colour of each market offered, count the specials on the table whose condition asks for that
///   colour; the first market with the highest count.
/// - Discard: nothing.
/// - Draw: the highest deck whose cheapest card the own purse can pay; if there is none, the first move.
/// - Buy, special and Sphinx: the first move with the highest score, see [`City::score`]; a move about no card scores
///   0.
///
/// It never looks at what effects do, at other cities (but to see which special the Sphinx would copy), at the price of
/// a card it can pay, or at randomness.
pub fn choose(decision: &Decision) -> Choice {
    let (moves, view) = (&decision.moves, decision.view());
    let own = view.seats.get(decision.seat as usize).ok_or("the view doesn't have the own seat")?;
    Ok(match moves.first().and_then(|first| first.kind) {
        Some(MoveKind::Keep(_)) => 0,
        Some(MoveKind::Draw(_)) => richest_draw(moves, own.coins),
        Some(MoveKind::Market(_)) => first_best(moves, |option| wanted(option, view)),
        _ => {
            let city = City::new(own, view.config.unwrap_or_default().scoring());
            first_best(moves, |option| gained(option, view).map_or(0, |card| city.score(card.info())))
        }
    })
}

fn richest_draw(moves: &[Move], coins: u32) -> usize {
    let payable = |option: &Move| match option.kind {
        Some(MoveKind::Draw(draw)) => DECK_PURSE[draw.deck as usize - 1] <= coins,
        _ => false,
    };
    moves.iter().rposition(payable).unwrap_or(0)
}

/// Returns the position of the first move with the highest score.
fn first_best(moves: &[Move], score: impl Fn(&Move) -> i32) -> usize {
    let mut best = (0, i32::MIN);
    for (position, option) in moves.iter().enumerate() {
        let score = score(option);
        if score > best.1 {
            best = (position, score);
        }
    }
    best.0
}

/// Returns how many specials on the table ask for the colour of a market.
fn wanted(option: &Move, view: &View) -> i32 {
    let Some(MoveKind::Market(market)) = option.kind else { return 0 };
    let colour = market.card().info().colour;
    let asks = |special: &Card| special.info().condition.iter().any(|(needed, _)| *needed == colour);
    view.specials().filter(asks).count() as i32
}

/// Returns the card whose values a move brings to the own city, if it brings any.
fn gained(option: &Move, view: &View) -> Option<Card> {
    match option.kind? {
        MoveKind::Build(build) => Some(build.card()),
        MoveKind::Dwell(dwell) => Some(dwell.card()),
        MoveKind::Take(take) => Some(take.card()),
        MoveKind::Copy(copy) => copied(copy, view),
        _ => None,
    }
}

/// Returns the special that the Sphinx would copy from another city; none for the one from the box.
fn copied(copy: Copy, view: &View) -> Option<Card> {
    match copy.source? {
        CopySource::Seat(seat) => {
            view.seats.get(seat as usize)?.city().find(|card| card.info().kind == CardKind::Special)
        }
        CopySource::Box(_) => None,
    }
}
