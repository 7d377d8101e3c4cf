//! The example bots, and the data that all SDKs share.

mod catalogue;
#[path = "../../examples/greedy/city.rs"]
mod city;
mod furthest_ahead;
#[path = "../../examples/greedy/greedy.rs"]
mod greedy;
mod json;
mod like_the_reference;
mod messages;
#[allow(dead_code)] // its main
#[path = "../../examples/random.rs"]
mod random;
mod readme;
mod repeatable;
#[allow(dead_code)] // its calls
#[path = "../../examples/sampler.rs"]
mod sampler;
