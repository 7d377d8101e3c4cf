//! Messages and services, from the files of the contract.

use std::{error::Error, fs, path::Path};

const HEADER: &str = "// Made by `make proto` from proto/happycity/v1. Don't edit it.\n\n";

pub fn write(protos: &Path, file: &Path) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(protos.join("happycity/v1"))? {
        files.push(entry?.path());
    }
    files.sort();
    let folder = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .out_dir(folder.path())
        .btree_map(".") // in the order of the keys, and nothing to make where there are none
        .server_mod_attribute(".", "#[cfg(test)]") // bots are clients; the tests have a server
        .compile_fds(protox::compile(files, [protos])?)?;
    let stubs = fs::read_to_string(folder.path().join("happycity.v1.rs"))?;
    fs::write(file, HEADER.to_owned() + &stubs)?;
    Ok(())
}
