//! The champion's network of the Python package `happycity_evaluation.network`, and how it judges turns. It counts in
//! whole numbers, which floating point holds exactly, so that choices are the same.

use crate::cards::{COLOURS, DWELLINGS};
use crate::config::MAX_PLAYERS;
use crate::error::Error;
use crate::features::{
    Frame, Row, FIRST_COLOUR, FIRST_GAIN, FIRST_STACK, FREE, GOAL, GOALS, HEARTS, INCOME, INHABITANTS, PURSE, SHIFT,
    SPECIAL,
};
use crate::moves::Move;
use crate::planner::{Appraisal, Judge, Planner, Points, Situation};
use crate::position::{Outcome, Position};
use crate::quick::round_half_even;
use crate::random::Random;

/// Inputs, weights and outputs of layers are whole numbers of 1/4096.
const UNIT: f64 = 4096.0;
/// How many numbers the network is shown of a row.
const INPUTS: usize = 31 + COLOURS + DWELLINGS + 2 * GOAL;
/// What a gain of the next player costs, as a share of it.
const DENIAL: f64 = 0.6;
/// Neurons of a layer at most.
const WIDEST: usize = 256;
/// Neurons whose sums are added up at once.
const LANES: usize = 16;

/// Two hidden layers of rectifiers that give the strength of a seat's position.
#[derive(Clone, Debug)]
pub struct Network {
    layers: [Layer; 3],
}

impl Network {
    /// Takes weights and biases of the layers in turn: first the weights of the first input for all neurons.
    ///
    /// # Errors
    /// `Error::Weights`: their sizes don't fit.
    pub fn new(arrays: &[Vec<i32>; 6]) -> Result<Network, Error> {
        let [first, first_bias, second, second_bias, last, last_bias] = arrays;
        let layers = [
            Layer::new(first, first_bias, INPUTS)?,
            Layer::new(second, second_bias, first_bias.len())?,
            Layer::new(last, last_bias, second_bias.len())?,
        ];
        (last_bias.len() == 1).then_some(Network { layers }).ok_or(Error::Weights)
    }

    /// The strength of a row; only differences between strengths mean anything.
    pub fn strength(&self, row: &Row) -> f64 {
        let [first, second, last] = &self.layers;
        let (mut one, mut two, mut out) = ([0.0; WIDEST], [0.0; WIDEST], [0.0; WIDEST]);
        first.forward(&inputs_of(row), &mut one);
        rectify(&mut one);
        second.forward(&one, &mut two);
        rectify(&mut two);
        last.forward(&two, &mut out);
        out[0] / (UNIT * UNIT)
    }

    /// How each seat is expected to do, from -1 to 1, before the turn of the seat to decide; or how it did, at the end.
    pub fn worths(&self, position: &Position) -> [f64; MAX_PLAYERS] {
        let (config, mut strengths, mut worths) = (position.config(), [0.0; MAX_PLAYERS], [0.0; MAX_PLAYERS]);
        let outcome = position.outcome();
        if outcome.is_none() {
            (0..config.players()).for_each(|seat| strengths[seat] = self.strength(&position.features(seat)));
        }
        for seat in 0..config.players() {
            worths[seat] = match &outcome {
                Some(outcome) => place_value(outcome, position, seat),
                None => mean_lead(strengths[seat], config.opponents(seat).map(|rival| strengths[rival])),
            };
        }
        worths
    }

    /// How the seat to decide is expected to do that plays a move, after which all play quickly up to its next turn.
    ///
    /// # Errors
    /// `Error::IllegalMove`, or `Error::Awaiting`: the position is an open one.
    pub fn trial(&self, world: &Position, chosen: Move) -> Result<f64, Error> {
        Ok(self.worths(&world.next_turn(chosen)?)[world.seat as usize])
    }

    /// How each seat is expected to do, from -1 to 1, a round later: the mean of games in which all play as the planner
    /// up to the next turn of the seat to decide. At each draw any card that an open position awaits may come.
    ///
    /// # Errors
    /// `Error::NotAwaited`, or `Error::IllegalMove`: never of an open position.
    pub fn round_later<R: Random>(
        &self,
        open: &Position,
        games: usize,
        random: &mut R,
    ) -> Result<[f64; MAX_PLAYERS], Error> {
        let mut means = [0.0; MAX_PLAYERS];
        for _ in 0..games {
            let later = planned_round(open, random)?;
            means.iter_mut().zip(self.worths(&later)).for_each(|(mean, worth)| *mean += worth / games as f64);
        }
        Ok(means)
    }

    /// The strengths after each purchase, by the card's number (0 for the coin).
    fn purchases(&self, position: &Position, seat: usize, coins: i32, frame: &Frame) -> Strengths {
        let mut strengths = [None; Appraisal::CARDS];
        position.purchases(seat, coins, frame, |number, row| strengths[number as usize] = Some(self.strength(row)));
        strengths
    }
}

/// Plays an open position on as the planner, up to the next turn of the seat to decide or to the end.
fn planned_round<R: Random>(open: &Position, random: &mut R) -> Result<Position, Error> {
    let (mut position, mut planner) = (*open, Planner::default());
    loop {
        let awaited = position.awaited_cards();
        if !awaited.is_empty() {
            position.reveal(awaited[random.below(awaited.len())])?;
        } else if position.seat == open.seat && position.round != open.round {
            return Ok(position);
        } else if let Some(chosen) = planner.choose(&position, &Points) {
            position.apply(chosen)?;
        } else {
            return Ok(position);
        }
    }
}

type Strengths = [Option<f64>; Appraisal::CARDS];

/// Weighs in places at the end.
impl Judge for Network {
    fn situation(&self, position: &Position) -> Situation {
        let (cities, config, seat) = (&position.cities, position.config(), position.seat as usize);
        let before = Frame::before_turn(position);
        let (bought, idle) = (before.after_turn(seat, 1), before.after_turn(seat, 0));
        let follower = (seat + 1) % config.players();
        // Seat 0 has its next turn in the next round.
        let (frame, income) = if follower == 0 { (bought.next_round(), cities.income(0)) } else { (bought, 0) };
        let own = self.purchases(position, seat, cities.of(seat).coins, &before);
        let next = self.purchases(position, follower, cities.of(follower).coins + income, &frame);
        let (mut after_purchase, mut after_coin) = ([0.0; MAX_PLAYERS], [0.0; MAX_PLAYERS]);
        for rival in config.opponents(seat) {
            let [_, purchase, coin] = position.waiting_rows(rival, [before, bought, idle]);
            after_purchase[rival] = self.strength(&purchase);
            after_coin[rival] = self.strength(&coin);
        }
        let rivals = |strengths: [f64; MAX_PLAYERS]| config.opponents(seat).map(move |rival| strengths[rival]);
        let on_sale = position.centre.iter().filter_map(|&number| own[number as usize]);
        let coin = own[0].unwrap_or(0.0);
        let level = on_sale.fold(coin, f64::max);
        let points = mean_lead(coin, rivals(after_coin));
        let waits = lead(level, next[0].unwrap_or(0.0));
        let own = Appraisal::by(points, own, |strength| mean_lead(strength, rivals(after_purchase)) - points);
        let others = (config.players() - 1) as f64;
        let next = Appraisal::by(waits, next, |strength| (waits - lead(level, strength)) / others);
        Situation::new(position, own, next, DENIAL)
    }

    fn specials(&self, position: &Position, mut each: impl FnMut(f64)) {
        let seat = position.seat as usize;
        let frame = Frame::before_turn(position).after_turn(seat, 1);
        let mut strengths = [0.0; MAX_PLAYERS];
        for rival in position.config().opponents(seat) {
            let [row] = position.waiting_rows(rival, [frame]);
            strengths[rival] = self.strength(&row);
        }
        let rivals = || position.config().opponents(seat).map(|rival| strengths[rival]);
        position.takings(|row| each(mean_lead(self.strength(row), rivals())));
    }
}

/// How surely a seat of a strength ends before one of another, from -1 to 1.
fn lead(own: f64, other: f64) -> f64 {
    let apart = own - other;
    apart / (1.0 + apart * apart).sqrt()
}

/// The expected place of a seat among others: 1 for the first, -1 for the last.
fn mean_lead(own: f64, others: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut count) = (0.0, 0.0);
    for other in others {
        total += lead(own, other);
        count += 1.0;
    }
    total / count
}

/// The same at the end of a game.
fn place_value(outcome: &Outcome, position: &Position, seat: usize) -> f64 {
    let own = outcome.ranks[seat];
    let value = |rival: usize| i32::from(own < outcome.ranks[rival]) - i32::from(own > outcome.ranks[rival]);
    let total: i32 = position.config().opponents(seat).map(value).sum();
    f64::from(total) / (position.config().players() - 1) as f64
}

/// A layer of neurons, in blocks: the weights of a block for each input, and the biases.
#[derive(Clone, Debug)]
struct Layer {
    inputs: usize,
    weights: Vec<[f64; LANES]>,
    biases: Vec<[f64; LANES]>,
}

impl Layer {
    fn new(weights: &[i32], biases: &[i32], inputs: usize) -> Result<Layer, Error> {
        let neurons = biases.len();
        if neurons == 0 || neurons > WIDEST || weights.len() != inputs * neurons {
            return Err(Error::Weights);
        }
        let block = |row: &[i32], start: usize, unit: f64| {
            core::array::from_fn(|lane| row.get(start + lane).map_or(0.0, |&number| f64::from(number) * unit))
        };
        let starts = || (0..neurons).step_by(LANES);
        let rows = || weights.chunks_exact(neurons);
        Ok(Layer {
            inputs,
            weights: starts().flat_map(|start| rows().map(move |row| block(row, start, 1.0))).collect(),
            biases: starts().map(|start| block(biases, start, UNIT)).collect(),
        })
    }

    /// Adds up what neurons get, in units of 1/4096 squared.
    fn forward(&self, inputs: &[f64], outputs: &mut [f64; WIDEST]) {
        let (mut active, mut count) = ([0; WIDEST], 0);
        for (input, &value) in inputs[..self.inputs].iter().enumerate() {
            active[count] = input;
            count += usize::from(value != 0.0);
        }
        let blocks = self.weights.chunks_exact(self.inputs).zip(&self.biases);
        for ((weights, biases), outputs) in blocks.zip(outputs.chunks_exact_mut(LANES)) {
            let mut sums = *biases;
            for &input in &active[..count] {
                let value = inputs[input];
                sums.iter_mut().zip(&weights[input]).for_each(|(sum, weight)| *sum += value * weight);
            }
            outputs.copy_from_slice(&sums);
        }
    }
}

/// Makes outputs inputs: none below 0, in whole units.
fn rectify(values: &mut [f64; WIDEST]) {
    /// Numbers of this size have no fraction.
    const NO_FRACTION: f64 = (1u64 << 52) as f64;
    for value in values {
        let scaled = value.max(0.0) / UNIT;
        let nearest = scaled + NO_FRACTION - NO_FRACTION;
        *value = if nearest > scaled { nearest - 1.0 } else { nearest };
    }
}

/// What the network is shown of a row, in whole units: see `inputs_of` in `happycity_evaluation.network`.
fn inputs_of(row: &Row) -> [f64; INPUTS] {
    const GOAL_SCALES: [f64; GOAL] = [10.0, 4.0, 2.0, 2.0, 2.0, 2.0, 2.0];
    let [purse, income, inhabitants, hearts] = [row[PURSE], row[INCOME], row[INHABITANTS], row[HEARTS]];
    let (by_sum, free, turns, fastest, slowest) = (row[2], row[FREE], row[12], row[13], row[14]);
    let left = turns.min(free * 0.73).max(0.0);
    let money = (purse + income * (left - 1.0).max(0.0)).max(0.0);
    let symbols = if left > 0.0 { money * (left * 3.2) / (money + 3.5 * left).max(1e-9) } else { 0.0 };
    let weighted = inhabitants * 0.96;
    let total = (weighted + hearts + symbols).max(0.0);
    let uneven = (weighted.min(hearts) + symbols).max(0.0) * weighted.max(hearts) / 0.96;
    let product = if (weighted - hearts).abs() <= symbols { total * total / 3.84 } else { uneven };
    let points = (if by_sum > 0.0 { total } else { product } + row[SHIFT]).max(0.0);
    let promised = (points + 0.4 * row[FIRST_GAIN]).max(0.0);
    let table = [(row[0] - 2.0) / 3.0, row[1], by_sum, row[3] / 10.0, row[4] / 4.0, row[5]];
    let own = [
        purse / 15.0,
        income / 8.0,
        inhabitants / 8.0,
        hearts / 8.0,
        (inhabitants - hearts) / 8.0,
        inhabitants.min(hearts) / 8.0,
        free / 5.0,
        row[SPECIAL],
        turns / 5.0,
        (turns - free) / 5.0,
        fastest / 5.0,
        slowest / 5.0,
        (fastest - free) / 5.0,
    ];
    let estimates = [
        money / 40.0,
        symbols / 10.0,
        points / 50.0,
        points.sqrt() / 5.0,
        promised.sqrt() / 5.0,
        income * left / 40.0,
        row[SHIFT] / 20.0,
    ];
    let gains =
        row[FIRST_GAIN..FIRST_COLOUR].iter().zip([10.0, 10.0, 10.0, 2.0, 2.0]).map(|(gain, scale)| gain / scale);
    let colours = row[FIRST_COLOUR..SHIFT].iter().map(|colour| colour / 3.0);
    let goals =
        row[GOALS..].chunks_exact(GOAL).flat_map(|goal| goal.iter().zip(GOAL_SCALES)).map(|(part, scale)| part / scale);
    let stacks = row[FIRST_STACK..GOALS].iter().copied();
    let all = table.into_iter().chain(own).chain(gains).chain(colours).chain(estimates).chain(stacks).chain(goals);
    let mut inputs = [0.0; INPUTS];
    inputs.iter_mut().zip(all).for_each(|(input, number)| *input = round_half_even(number * UNIT).into());
    inputs
}
