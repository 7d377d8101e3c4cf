//! Whole sessions, played with a scripted server.

mod bots;
mod channel;
mod greeting;
mod malformed;
mod peer;
mod playing;
mod reconnect;
mod seats;
/// Servers of the contract's services, as generated from its files.
#[rustfmt::skip]
mod server;
mod tls;
mod worker_streams;
