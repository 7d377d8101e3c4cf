//! Randomness: a fast generator, and Python's, from which the arena's deals and reshuffles come (article 5.5).

use crate::reshuffles::Reshuffles;

/// Where random numbers come from.
pub trait Random {
    /// A number from 0 to below 1.
    fn uniform(&mut self) -> f64;

    /// Any 64 bits, as Python's `randint(0, 2**64 - 1)`.
    fn seed(&mut self) -> u64;

    /// The reshuffles of a world that is sampled with this randomness.
    fn reshuffles(&mut self) -> Reshuffles {
        Reshuffles::fast(self.seed())
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
        let used = key.iter().rposition(|&word| word != 0).map_or(1, |last| last + 1);
        PythonRandom::of_key(&key[..used])
    }

    /// Returns the generator that the reference implementation calls `init_by_array`.
    fn of_key(key: &[u32]) -> PythonRandom {
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
    fn reshuffles(&mut self) -> Reshuffles {
        Reshuffles::by_contract(self.seed())
    }

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
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = INITIAL;
    for (constant, word) in CONSTANTS.iter().zip(schedule) {
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
    for (bytes, (start, end)) in digest.chunks_exact_mut(8).zip(INITIAL.iter().zip([a, b, c, d, e, f, g, h])) {
        bytes.copy_from_slice(&start.wrapping_add(end).to_be_bytes());
    }
    digest
}

/// The first 64 bits of the fractions of the square roots of the first 8 primes.
#[rustfmt::skip]
const INITIAL: [u64; 8] = [
    0x6A09_E667_F3BC_C908, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1,
    0x510E_527F_ADE6_82D1, 0x9B05_688C_2B3E_6C1F, 0x1F83_D9AB_FB41_BD6B, 0x5BE0_CD19_137E_2179,
];

/// The same of the cube roots of the first 80 primes.
#[rustfmt::skip]
const CONSTANTS: [u64; 80] = [
    0x428A_2F98_D728_AE22, 0x7137_4491_23EF_65CD, 0xB5C0_FBCF_EC4D_3B2F, 0xE9B5_DBA5_8189_DBBC,
    0x3956_C25B_F348_B538, 0x59F1_11F1_B605_D019, 0x923F_82A4_AF19_4F9B, 0xAB1C_5ED5_DA6D_8118,
    0xD807_AA98_A303_0242, 0x1283_5B01_4570_6FBE, 0x2431_85BE_4EE4_B28C, 0x550C_7DC3_D5FF_B4E2,
    0x72BE_5D74_F27B_896F, 0x80DE_B1FE_3B16_96B1, 0x9BDC_06A7_25C7_1235, 0xC19B_F174_CF69_2694,
    0xE49B_69C1_9EF1_4AD2, 0xEFBE_4786_384F_25E3, 0x0FC1_9DC6_8B8C_D5B5, 0x240C_A1CC_77AC_9C65,
    0x2DE9_2C6F_592B_0275, 0x4A74_84AA_6EA6_E483, 0x5CB0_A9DC_BD41_FBD4, 0x76F9_88DA_8311_53B5,
    0x983E_5152_EE66_DFAB, 0xA831_C66D_2DB4_3210, 0xB003_27C8_98FB_213F, 0xBF59_7FC7_BEEF_0EE4,
    0xC6E0_0BF3_3DA8_8FC2, 0xD5A7_9147_930A_A725, 0x06CA_6351_E003_826F, 0x1429_2967_0A0E_6E70,
    0x27B7_0A85_46D2_2FFC, 0x2E1B_2138_5C26_C926, 0x4D2C_6DFC_5AC4_2AED, 0x5338_0D13_9D95_B3DF,
    0x650A_7354_8BAF_63DE, 0x766A_0ABB_3C77_B2A8, 0x81C2_C92E_47ED_AEE6, 0x9272_2C85_1482_353B,
    0xA2BF_E8A1_4CF1_0364, 0xA81A_664B_BC42_3001, 0xC24B_8B70_D0F8_9791, 0xC76C_51A3_0654_BE30,
    0xD192_E819_D6EF_5218, 0xD699_0624_5565_A910, 0xF40E_3585_5771_202A, 0x106A_A070_32BB_D1B8,
    0x19A4_C116_B8D2_D0C8, 0x1E37_6C08_5141_AB53, 0x2748_774C_DF8E_EB99, 0x34B0_BCB5_E19B_48A8,
    0x391C_0CB3_C5C9_5A63, 0x4ED8_AA4A_E341_8ACB, 0x5B9C_CA4F_7763_E373, 0x682E_6FF3_D6B2_B8A3,
    0x748F_82EE_5DEF_B2FC, 0x78A5_636F_4317_2F60, 0x84C8_7814_A1F0_AB72, 0x8CC7_0208_1A64_39EC,
    0x90BE_FFFA_2363_1E28, 0xA450_6CEB_DE82_BDE9, 0xBEF9_A3F7_B2C6_7915, 0xC671_78F2_E372_532B,
    0xCA27_3ECE_EA26_619C, 0xD186_B8C7_21C0_C207, 0xEADA_7DD6_CDE0_EB1E, 0xF57D_4F7F_EE6E_D178,
    0x06F0_67AA_7217_6FBA, 0x0A63_7DC5_A2C8_98A6, 0x113F_9804_BEF9_0DAE, 0x1B71_0B35_131C_471B,
    0x28DB_77F5_2304_7D84, 0x32CA_AB7B_40C7_2493, 0x3C9E_BE0A_15C9_BEBC, 0x431D_67C4_9C10_0D4C,
    0x4CC5_D4BE_CB3E_42B6, 0x597F_299C_FC65_7E2A, 0x5FCB_6FAB_3AD6_FAEC, 0x6C44_198C_4A47_5817,
];
