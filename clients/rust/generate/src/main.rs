//! Writes what the SDK has from elsewhere into a folder: `v1.rs`, the stubs of the protocol, and `cards.rs`, the
//! table of all cards. It is run in `clients/rust`, by `make proto` and `make cards`.

mod cards;
mod stubs;

use std::{env, error::Error, fs, path::Path};

const PROTOS: &str = "../../proto";
const CATALOGUE: &str = "../testdata/catalogue.json";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, folder] = &arguments[..] else {
        return Err("say what to write, proto or cards, and into which folder".into());
    };
    let folder = Path::new(folder);
    fs::create_dir_all(folder)?;
    match what.as_str() {
        "proto" => stubs::write(Path::new(PROTOS), &folder.join("v1.rs")),
        "cards" => cards::write(Path::new(CATALOGUE), &folder.join("cards.rs")),
        _ => Err(format!("{what:?} is neither proto nor cards").into()),
    }
}
