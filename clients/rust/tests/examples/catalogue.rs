use std::fs;

use happycity::{Card, CardInfo, CardKind, Colour, Mode, cards};
use serde_json::Value;

/// The catalogue is that of the server, every card at its number.
#[test]
fn like_the_servers() {
    let text = fs::read_to_string("../conformance/catalogue.json").unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let expected = expected["cards"].as_array().unwrap();
    assert_eq!(cards().len(), expected.len());
    for (number, (info, expected)) in (1..).zip(cards().iter().zip(expected)) {
        assert_eq!(info.card as i32, number);
        assert_eq!(info.card.info(), info);
        assert!(is_same(info, expected), "{info:?} is not {expected}");
    }
}

fn is_same(info: &CardInfo, expected: &Value) -> bool {
    let text = |field: &str| expected[field].as_str().unwrap_or("");
    let number = |field: &str| expected[field].as_i64().unwrap_or(0);
    let needs = expected["condition"].as_array().map_or(&[][..], Vec::as_slice);
    let condition = needs.iter().map(|need| (need["colour"].as_str().unwrap(), need["count"].as_u64().unwrap()));
    info.card.as_str_name() == text("card")
        && info.id == text("id")
        && info.name == text("name")
        && info.kind.as_str_name() == text("kind")
        && i64::from(info.deck) == number("deck")
        && info.colour == Colour::from_str_name(text("colour")).unwrap_or_default()
        && i64::from(info.cost) == number("cost")
        && i64::from(info.income) == number("income")
        && i64::from(info.inhabitants) == number("inhabitants")
        && i64::from(info.hearts) == number("hearts")
        && i64::from(info.copies) == number("copies")
        && info.condition.iter().map(|(colour, count)| (colour.as_str_name(), u64::from(*count))).eq(condition)
        && info.special_set == Mode::from_str_name(text("specialSet")).unwrap_or_default()
        && info.effect == text("effect")
        && i64::from(info.uses) == number("uses")
}

/// No card is worth nothing.
#[test]
fn no_card() {
    let info = Card::Unspecified.info();
    assert_eq!((info.card, info.kind, info.cost), (Card::Unspecified, CardKind::Unspecified, 0));
    assert_eq!((info.income, info.inhabitants, info.hearts), (0, 0, 0));
}
