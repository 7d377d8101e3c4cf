//! Writes what the SDK has from elsewhere into a folder that is laid out as the SDK's own: the stubs of the contract
//! and the table of all cards. It is run in `clients/rust`, by `make proto` and `make check-generated`.

mod cards;
mod stubs;

use std::{env, error::Error, fs, path::Path};

const PROTOS: &str = "../../proto";
const CATALOGUE: &str = "../conformance/catalogue.json";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("name the folder to write to")?;
    let (sources, tests) = (Path::new(&folder).join("src"), Path::new(&folder).join("tests/sessions"));
    fs::create_dir_all(&sources)?;
    fs::create_dir_all(&tests)?;
    stubs::write_client(Path::new(PROTOS), &sources.join("v1.rs"))?;
    stubs::write_server(Path::new(PROTOS), &tests.join("server.rs"))?;
    cards::write(Path::new(CATALOGUE), &sources.join("cards.rs"))
}
