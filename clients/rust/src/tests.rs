//! Whole sessions, played with a scripted server.

mod bots;
mod channel;
mod greeting;
mod peer;
mod playing;
mod reconnect;
mod tls;
