use happycity::{Card, CardKind, Choice, Decision, Move, MoveKind, View};

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
    let (moves, view) = (&decision.moves, &decision.view);
    let own = view.seats.get(view.seat as usize).ok_or("the view doesn't have the own seat")?;
    Ok(match moves[0].kind() {
        MoveKind::Keep => 0,
        MoveKind::Draw => richest_draw(moves, own.coins),
        MoveKind::Market => first_best(moves, |option| wanted(option, view)),
        _ => {
            let city = City::new(own, view.config.unwrap_or_default().scoring());
            first_best(moves, |option| gained(option, view).map_or(0, |card| city.score(card.info())))
        }
    })
}

fn richest_draw(moves: &[Move], coins: u32) -> usize {
    moves.iter().rposition(|option| DECK_PURSE[option.deck as usize - 1] <= coins).unwrap_or(0)
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
    let colour = option.card().info().colour();
    let asks = |special: &Card| special.info().condition.iter().any(|needed| needed.colour() == colour);
    view.specials().filter(asks).count() as i32
}

/// Returns the card whose values a move brings to the own city, if it brings any.
fn gained(option: &Move, view: &View) -> Option<Card> {
    match option.kind() {
        MoveKind::Build | MoveKind::Dwell | MoveKind::Take => Some(option.card()),
        MoveKind::Copy => copied(option.seat?, view), // without a seat, from the box
        _ => None,
    }
}

/// Returns the special that the Sphinx would copy from a city.
fn copied(seat: u32, view: &View) -> Option<Card> {
    view.seats.get(seat as usize)?.city().find(|card| card.info().kind() == CardKind::Special)
}
