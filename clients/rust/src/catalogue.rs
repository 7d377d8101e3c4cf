use std::sync::LazyLock;

use prost::Message;

use crate::Card;
use crate::v1::{CardInfo, Catalogue};

/// The catalogue that this version knows.
pub(crate) static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| Catalogue::decode(&include_bytes!("catalogue.binpb")[..]).expect("the generator wrote it"));

/// Returns the printed values of all cards, in the order of their numbers, which begin with 1.
pub fn cards() -> &'static [CardInfo] {
    &CATALOGUE.cards
}

impl Card {
    /// Returns the card's printed values. All are 0 or empty for [`Card::Unspecified`], which stands for no card and
    /// for one that this version doesn't know.
    pub fn info(self) -> &'static CardInfo {
        static NONE: LazyLock<CardInfo> = LazyLock::new(CardInfo::default);
        (self as usize).checked_sub(1).map_or(&NONE, |index| &cards()[index])
    }
}
