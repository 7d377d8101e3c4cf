//! Randomness: a fast generator, and Python's, from which the arena's deals and reshuffles come (article 5.5).

use crate::reshuffles::Reshuffles;
use crate::tables::{SHA512_CONSTANTS, SHA512_INITIAL};

/// Where random numbers come from.
pub trait Random {
    /// Whether sampled worlds rebuild their decks as the arena does.
    const BY_CONTRACT: bool = false;

    /// A number from 0 to below 1.
    fn uniform(&mut self) -> f64;

    /// Any 64 bits, as Python's `randint(0, 2**64 - 1)`.
    fn seed(&mut self) -> u64;

    /// The reshuffles of a world that is sampled with this randomness.
    fn reshuffles(&mut self) -> Reshuffles {
        Reshuffles::new(self.seed(), Self::BY_CONTRACT)
    }

    /// A number from 0 to below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        (self.uniform() * limit as f64) as usize
    }

    /// Brings items into a random order, as `happycity.rules.shuffling.shuffled` does.
    fn shuffle<T>(&mut self, items: &mut [T])
    where
        Self: Sized,
    {
        for last in (1..items.len()).rev() {
            let pick = self.below(last + 1);
            items.swap(last, pick);
        }
    }
}

/// SplitMix64 by Steele, Lea and Flood: good enough for playouts, and one multiplication or two a number.
#[derive(Clone, Copy, Debug)]
pub struct FastRandom(u64);

impl FastRandom {
    pub fn new(seed: u64) -> FastRandom {
        FastRandom(seed)
    }
}

impl Random for FastRandom {
    fn uniform(&mut self) -> f64 {
        (self.seed() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn seed(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }
}

const STATE: usize = 624;
const SHIFTED: usize = 397;

/// Python's `random.Random`: the Mersenne Twister MT19937 by Matsumoto and Nishimura.
#[derive(Clone, Debug)]
pub struct PythonRandom {
    state: [u32; STATE],
    next: usize,
}

impl PythonRandom {
    /// Returns what `random.Random(text)` is: a text of up to 64 bytes is seeded by itself and its SHA-512.
    pub fn of_text(text: &[u8]) -> PythonRandom {
        let text = &text[..text.len().min(64)];
        // One big number, its highest byte first, of which the lowest 32 bits are the first word.
        let mut bytes = [0; 128];
        let start = 64 - text.len();
        bytes[start..64].copy_from_slice(text);
        bytes[64..].copy_from_slice(&sha512(text));
        let mut key = [0; 32];
        for (word, chunk) in key.iter_mut().zip(bytes.rchunks_exact(4)) {
            *word = chunk.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
        }
        PythonRandom::of_key(&key)
    }

    /// Returns what `random.Random(seed)` is.
    pub fn of_seed(seed: u64) -> PythonRandom {
        PythonRandom::of_key(&[seed as u32, (seed >> 32) as u32])
    }

    /// Returns the generator that the reference implementation calls `init_by_array`, of a key without its last zeros.
    fn of_key(key: &[u32]) -> PythonRandom {
        let key = &key[..key.iter().rposition(|&word| word != 0).map_or(1, |last| last + 1)];
        let mut state = [0u32; STATE];
        state[0] = 19_650_218;
        for place in 1..STATE {
            let before = state[place - 1];
            state[place] = (before ^ (before >> 30)).wrapping_mul(1_812_433_253).wrapping_add(place as u32);
        }
        let (mut place, mut word) = (1, 0);
        for _ in 0..STATE.max(key.len()) {
            let before = state[place - 1];
            state[place] = (state[place] ^ (before ^ (before >> 30)).wrapping_mul(1_664_525))
                .wrapping_add(key[word])
                .wrapping_add(word as u32);
            place = following(&mut state, place);
            word = (word + 1) % key.len();
        }
        for _ in 1..STATE {
            let before = state[place - 1];
            state[place] =
                (state[place] ^ (before ^ (before >> 30)).wrapping_mul(1_566_083_941)).wrapping_sub(place as u32);
            place = following(&mut state, place);
        }
        state[0] = 0x8000_0000;
        PythonRandom { state, next: STATE }
    }

    fn word(&mut self) -> u32 {
        if self.next >= STATE {
            self.twist();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9D2C_5680;
        word ^= (word << 15) & 0xEFC6_0000;
        word ^ (word >> 18)
    }

    fn twist(&mut self) {
        for place in 0..STATE {
            let word = (self.state[place] & 0x8000_0000) | (self.state[(place + 1) % STATE] & 0x7FFF_FFFF);
            let odd = if word & 1 == 1 { 0x9908_B0DF } else { 0 };
            self.state[place] = self.state[(place + SHIFTED) % STATE] ^ (word >> 1) ^ odd;
        }
        self.next = 0;
    }
}

fn following(state: &mut [u32; STATE], place: usize) -> usize {
    if place + 1 < STATE {
        return place + 1;
    }
    state[0] = state[STATE - 1];
    1
}

impl Random for PythonRandom {
    const BY_CONTRACT: bool = true;

    fn uniform(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    fn seed(&mut self) -> u64 {
        loop {
            // Python draws 65 bits until the highest is 0.
            let (low, high, highest) = (self.word(), self.word(), self.word());
            if highest >> 31 == 0 {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }
}

/// Returns the SHA-512 (FIPS 180-4) of a text of at most 64 bytes, which fits one block.
fn sha512(text: &[u8]) -> [u8; 64] {
    let mut block = [0; 128];
    block[..text.len()].copy_from_slice(text);
    block[text.len()] = 0x80;
    block[120..].copy_from_slice(&(8 * text.len() as u64).to_be_bytes());
    let mut schedule = [0u64; 80];
    for (word, bytes) in schedule.iter_mut().zip(block.chunks_exact(8)) {
        *word = bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    for at in 16..80 {
        let (early, late) = (schedule[at - 15], schedule[at - 2]);
        schedule[at] = schedule[at - 16]
            .wrapping_add(early.rotate_right(1) ^ early.rotate_right(8) ^ (early >> 7))
            .wrapping_add(schedule[at - 7])
            .wrapping_add(late.rotate_right(19) ^ late.rotate_right(61) ^ (late >> 6));
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = SHA512_INITIAL;
    for (constant, word) in SHA512_CONSTANTS.iter().zip(schedule) {
        let first = h
            .wrapping_add(e.rotate_right(14) ^ e.rotate_right(18) ^ e.rotate_right(41))
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(*constant)
            .wrapping_add(word);
        let second =
            (a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39)).wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
    }
    let mut digest = [0; 64];
    for (bytes, (start, end)) in digest.chunks_exact_mut(8).zip(SHA512_INITIAL.iter().zip([a, b, c, d, e, f, g, h])) {
        bytes.copy_from_slice(&start.wrapping_add(end).to_be_bytes());
    }
    digest
}
