//! What the crate's own modules do, besides what its users can see.

mod player;
mod settings;
