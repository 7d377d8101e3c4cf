use happycity::{CardInfo, Mode, Scoring, SeatState};

/// A city with fewer cards than this one (the Happy Market counts) is early: it looks for income.
const EARLY_CARDS: usize = 5;

/// The totals of a city, added up from the printed values.
pub struct City {
    early: bool,
    inhabitants: i32,
    hearts: i32,
    scoring: Scoring,
}

impl City {
    pub fn new(state: &SeatState, scoring: Scoring) -> Self {
        let empty = Self { early: state.city.len() < EARLY_CARDS, inhabitants: 0, hearts: 0, scoring };
        state.city().fold(empty, |city, card| city.with(card.info()))
    }

    /// Returns what a card is worth to the city: early its income and symbols, late the points that it adds, then its
    /// symbols, then its income. A special with an effect is worth one more for each card that its condition asks for.
    pub fn score(&self, card: &CardInfo) -> i32 {
        let symbols = card.inhabitants + card.hearts;
        let score = if self.early {
            4 * card.income + symbols
        } else {
            100 * (self.with(card).points() - self.points()) + 10 * symbols + card.income
        };
        let asked: u32 = card.condition.iter().map(|needed| needed.count).sum();
        // All specials of the expert game have an effect, and no other cards.
        if card.special_set() == Mode::Expert { score + asked as i32 } else { score }
    }

    fn with(&self, card: &CardInfo) -> Self {
        Self { inhabitants: self.inhabitants + card.inhabitants, hearts: self.hearts + card.hearts, ..*self }
    }

    /// Returns what the city's totals make, each counting at least 0.
    fn points(&self) -> i32 {
        let (inhabitants, hearts) = (self.inhabitants.max(0), self.hearts.max(0));
        if self.scoring == Scoring::Sum { inhabitants + hearts } else { inhabitants * hearts }
    }
}
