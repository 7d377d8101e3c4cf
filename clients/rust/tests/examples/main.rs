//! The example bots, and what the SDK brings with it as data.

mod catalogue;
#[path = "../../examples/greedy/city.rs"]
mod city;
mod decisions;
mod furthest_ahead;
#[path = "../../examples/greedy/greedy.rs"]
mod greedy;
mod like_the_reference;
#[allow(dead_code)] // its main
#[path = "../../examples/random.rs"]
mod random;
mod readme;
mod repeatable;
#[allow(dead_code)] // all that asks the server
#[path = "../../examples/sampler.rs"]
mod sampler;
