//! The table of all cards, from the catalogue that the server answers.

use std::{error::Error, fmt::Write, fs, path::Path};

use serde_json::Value;

const HEADER: &str = "// Made by `make cards` from clients/testdata/catalogue.json. Don't edit it.

use crate::catalogue::CardInfo;
use crate::v1::{Card, CardKind, Colour, Mode};

/// Every card, at its number; number 0 is no card.
";

pub fn write(catalogue: &Path, file: &Path) -> Result<(), Box<dyn Error>> {
    let catalogue: Value = serde_json::from_str(&fs::read_to_string(catalogue)?)?;
    let cards = catalogue["cards"].as_array().ok_or("the catalogue has no cards")?;
    let mut table = format!("{HEADER}pub(crate) static CARDS: [CardInfo; {}] = [\n", cards.len() + 1);
    for card in [&Value::Null].into_iter().chain(cards) {
        writeln!(table, "    {},", row(card))?;
    }
    fs::write(file, table + "];\n")?;
    Ok(())
}

fn row(card: &Value) -> String {
    let number = |field: &str| card[field].as_i64().unwrap_or(0);
    let text = |field: &str| card[field].as_str().unwrap_or("").to_owned();
    format!(
        "CardInfo {{ card: {}, id: {:?}, name: {:?}, kind: {}, deck: {}, colour: {}, cost: {}, income: {}, \
         inhabitants: {}, hearts: {}, copies: {}, condition: &[{}], special_set: {}, effect: {:?}, uses: {} }}",
        value("Card", &card["card"]),
        text("id"),
        text("name"),
        value("CardKind", &card["kind"]),
        number("deck"),
        value("Colour", &card["colour"]),
        number("cost"),
        number("income"),
        number("inhabitants"),
        number("hearts"),
        number("copies"),
        condition(&card["condition"]),
        value("Mode", &card["specialSet"]),
        text("effect"),
        number("uses"),
    )
}

fn condition(needs: &Value) -> String {
    let needs = needs.as_array().map_or(&[][..], Vec::as_slice);
    let pairs = needs.iter().map(|need| format!("({}, {})", value("Colour", &need["colour"]), need["count"]));
    pairs.collect::<Vec<_>>().join(", ")
}

/// Returns the Rust name of an enum's value: `Card::HouseBoat` for `CARD_HOUSE_BOAT`.
fn value(kind: &str, name: &Value) -> String {
    let prefix = if kind == "CardKind" { "CARD_KIND_" } else { &format!("{}_", kind.to_uppercase()) };
    let name = name.as_str().unwrap_or("").strip_prefix(prefix).unwrap_or("UNSPECIFIED");
    let words = name.split('_').map(|word| {
        let (initial, rest) = word.split_at(1);
        initial.to_owned() + &rest.to_lowercase()
    });
    format!("{kind}::{}", words.collect::<String>())
}
