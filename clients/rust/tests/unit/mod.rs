//! What the crate's own modules do, beside what its users can see.

mod player;
mod settings;
