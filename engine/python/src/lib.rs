//! The Python package `happycity_engine`; `happycity_engine.pyi` documents it.

use std::time::Duration;

use engine::{
    row_size, Config, Error, Fast, FastRandom, Mode, Move, Network as EngineNetwork, Outcome, Plan, Planner, Points,
    Position as EnginePosition, PythonRandom, Random, Row, Score, Scoring, Search, View, Worlds as EngineWorlds,
    MAX_BYTES, MOVE_COUNT,
};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

fn refused(error: Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Reads a `happycity.Config`.
fn config_of(config: &Bound<'_, PyAny>) -> PyResult<Config> {
    let value_of = |name: &str| config.getattr(name)?.getattr("value")?.extract::<String>();
    let mode = if value_of("mode")? == "expert" { Mode::Expert } else { Mode::Family };
    let scoring = if value_of("scoring")? == "sum" { Scoring::Sum } else { Scoring::Product };
    let players = config.getattr("players")?.extract()?;
    Config::new(players, mode, scoring).ok_or_else(|| PyValueError::new_err("players: not between 2 and 5"))
}

fn move_of(number: usize) -> PyResult<Move> {
    Move::from_index(number).ok_or_else(|| refused(Error::IllegalMove))
}

/// By seat: points, coins, inhabitants, hearts and ranks, as in `happycity.Outcome`.
fn by_seat<'py>(py: Python<'py>, outcome: &Outcome, players: usize) -> PyResult<Bound<'py, PyTuple>> {
    let columns: [fn(&Score) -> i32; 4] =
        [|seat| seat.points, |seat| seat.coins, |seat| seat.inhabitants, |seat| seat.hearts];
    let column = |value: &fn(&Score) -> i32| PyTuple::new(py, outcome.scores[..players].iter().map(value));
    let mut tuples = columns.iter().map(column).collect::<PyResult<Vec<_>>>()?;
    tuples.push(PyTuple::new(py, &outcome.ranks[..players])?);
    PyTuple::new(py, tuples)
}

/// Python's `random.Random`, and the error that it has raised.
struct PythonsRandom<'a, 'py>(&'a Bound<'py, PyAny>, PyResult<()>);

impl Random for PythonsRandom<'_, '_> {
    const BY_CONTRACT: bool = true;

    fn uniform(&mut self) -> f64 {
        let drawn = self.0.call_method0("random").and_then(|number| number.extract::<f64>());
        drawn.map_err(|error| self.1 = Err(error)).unwrap_or(0.0).clamp(0.0, 1.0 - f64::EPSILON / 2.0)
    }

    fn seed(&mut self) -> u64 {
        let drawn = self.0.call_method1("randint", (0, u64::MAX)).and_then(|number| number.extract());
        drawn.map_err(|error| self.1 = Err(error)).unwrap_or(0)
    }
}

#[pyclass(module = "happycity_engine")]
struct Position {
    engine: EnginePosition,
}

#[pymethods]
impl Position {
    #[staticmethod]
    #[pyo3(signature = (config, *, seed))]
    fn deal(config: &Bound<'_, PyAny>, seed: u64) -> PyResult<Position> {
        Ok(Position { engine: EnginePosition::deal(config_of(config)?, seed) })
    }

    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Position> {
        Ok(Position { engine: EnginePosition::from_bytes(data).map_err(refused)? })
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut buffer = [0; MAX_BYTES];
        let size = self.engine.to_bytes(&mut buffer);
        PyBytes::new(py, &buffer[..size])
    }

    fn copy(&self) -> Position {
        Position { engine: self.engine }
    }

    #[getter]
    fn round(&self) -> u8 {
        self.engine.round
    }

    #[getter]
    fn seat(&self) -> u8 {
        self.engine.seat
    }

    #[getter]
    fn phase(&self) -> u8 {
        self.engine.phase as u8
    }

    #[getter]
    fn legal_moves(&self) -> Vec<usize> {
        self.engine.legal_moves().map(Move::index).collect()
    }

    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.engine.outcome().map(|outcome| by_seat(py, &outcome, self.engine.config().players())).transpose()
    }

    fn score<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        by_seat(py, &self.engine.score(), self.engine.config().players())
    }

    fn apply(&mut self, number: usize) -> PyResult<()> {
        self.engine.apply(move_of(number)?).map_err(refused)
    }

    fn opened(&self) -> Position {
        Position { engine: self.engine.opened() }
    }

    #[getter]
    fn awaited<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.engine.awaited_cards().iter())
    }

    fn reveal(&mut self, card: u8) -> PyResult<()> {
        self.engine.reveal(card).map_err(refused)
    }

    #[pyo3(signature = (*, fast=0))]
    fn quick_move(&self, fast: Fast) -> Option<usize> {
        self.engine.quick_move(fast).map(Move::index)
    }

    fn plan(&self) -> (Vec<f64>, f64) {
        worths_of(&Planner::default().plan(&self.engine, &Points))
    }

    #[pyo3(signature = (number, *, fast=0))]
    fn playout(&self, number: usize, fast: Fast) -> PyResult<f64> {
        self.engine.playout(move_of(number)?, fast).map_err(refused)
    }

    fn next_turn(&self, number: usize) -> PyResult<Position> {
        Ok(Position { engine: self.engine.next_turn(move_of(number)?).map_err(refused)? })
    }

    fn random_playout<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyTuple>> {
        let mut engine = self.engine;
        let outcome = engine.play_out_randomly(&mut FastRandom::new(seed)).map_err(refused)?;
        by_seat(py, &outcome, self.engine.config().players())
    }

    fn features(&self) -> Vec<Vec<f64>> {
        (0..self.engine.config().players()).map(|seat| self.engine.features(seat).to_vec()).collect()
    }

    fn observation<'py>(&self, py: Python<'py>, seat: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut row = vec![0.0; row_size(self.engine.config().players())];
        let seen = self.engine.observe(seat, &mut row);
        let bytes = row.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>();
        seen.then(|| PyBytes::new(py, &bytes)).ok_or_else(|| PyValueError::new_err("there is no such seat"))
    }
}

fn worths_of(plan: &Plan) -> (Vec<f64>, f64) {
    (plan.worths().to_vec(), plan.points)
}

#[pyclass(module = "happycity_engine", frozen)]
struct Network {
    engine: EngineNetwork,
}

#[pymethods]
impl Network {
    #[new]
    fn new(arrays: [Vec<i32>; 6]) -> PyResult<Network> {
        Ok(Network { engine: EngineNetwork::new(&arrays).map_err(refused)? })
    }

    fn strengths(&self, rows: Vec<Row>) -> Vec<f64> {
        rows.iter().map(|row| self.engine.strength(row)).collect()
    }

    #[pyo3(signature = (position, *, games, seed))]
    fn round_later(&self, position: &Position, games: usize, seed: u64) -> PyResult<Vec<f64>> {
        let (open, mut random) = (position.engine.opened(), FastRandom::new(seed));
        let worths = self.engine.round_later(&open, games, &mut random).map_err(refused)?;
        Ok(worths[..open.config().players()].to_vec())
    }
}

#[pyclass(module = "happycity_engine")]
struct Champion {
    network: Py<Network>,
    search: Search,
    planner: Planner,
}

#[pymethods]
impl Champion {
    #[new]
    #[pyo3(signature = (network, *, trials=0, seconds=0.0, near=0.0, most=1, confidence=1.0))]
    fn new(network: Py<Network>, trials: usize, seconds: f64, near: f64, most: usize, confidence: f64) -> Champion {
        let seconds = seconds.max(0.0); // 0 if it is not a number
        let time = Duration::from_secs_f64(seconds.min(MOST_SECONDS));
        Champion { network, search: Search { trials, time, near, most, confidence }, planner: Planner::default() }
    }

    #[pyo3(signature = (position, *, ahead=false))]
    fn plan(&mut self, position: &Position, ahead: bool) -> (Vec<f64>, f64) {
        let plan = if ahead { Planner::plan_ahead } else { Planner::plan };
        worths_of(&plan(&mut self.planner, &position.engine, &self.network.get().engine))
    }

    fn pick(&self, worlds: &Worlds, rng: &Bound<'_, PyAny>, moves: Vec<(usize, f64)>) -> PyResult<usize> {
        let moves = moves.into_iter().map(|(number, worth)| Ok((move_of(number)?, worth)));
        let moves = moves.collect::<PyResult<Vec<_>>>()?;
        let mut random = PythonsRandom(rng, Ok(()));
        let best = self.search.pick(&self.network.get().engine, &worlds.engine, moves, &mut random);
        random.1.and_then(|()| Ok(best.map_err(refused)?.index()))
    }
}

/// Longer than any decision.
const MOST_SECONDS: f64 = 1e6;

#[pyfunction]
fn play<'py>(
    py: Python<'py>,
    config: &Bound<'py, PyAny>,
    seed: u64,
    lineup: Vec<Option<PyRef<'py, Champion>>>,
    explored: f64,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyTuple>)> {
    let config = config_of(config)?;
    if lineup.len() != config.players() {
        let text = format!("lineup: {} for {} seats", lineup.len(), config.players());
        return Err(PyValueError::new_err(text));
    }
    let (mut position, mut random) = (EnginePosition::deal(config, seed), FastRandom::new(seed));
    let mut planners = vec![Planner::default(); lineup.len()];
    let (mut turn, mut rows) = ((0, 0), Vec::new());
    while position.move_count() > 0 {
        if position.round > 0 && turn != (position.round, position.seat) {
            turn = (position.round, position.seat);
            let seats = (0..lineup.len()).flat_map(|seat| position.features(seat));
            rows.extend(seats.flat_map(|number| (number as f32).to_ne_bytes()));
        }
        let (seat, explores) = (position.seat as usize, random.uniform() < explored);
        let chosen = match &lineup[seat] {
            _ if explores => position.legal_move(random.below(position.move_count())),
            Some(champion) => {
                let network = &champion.network.get().engine;
                champion.search.choose(network, &mut planners[seat], &position, &mut random).map_err(refused)?
            }
            None => planners[seat].choose(&position, &Points),
        };
        position.apply(chosen.unwrap_or(Move::KEEP)).map_err(refused)?;
    }
    Ok((PyBytes::new(py, &rows), by_seat(py, &position.score(), lineup.len())?))
}

#[pyclass(module = "happycity_engine", frozen)]
struct Worlds {
    engine: EngineWorlds,
    #[pyo3(get)]
    fast: Fast,
}

#[pymethods]
impl Worlds {
    #[new]
    fn new(view: &[u8]) -> PyResult<Worlds> {
        let engine = View::from_message(view).and_then(|view| EngineWorlds::new(&view)).map_err(refused)?;
        Ok(Worlds { engine, fast: engine.seen.fast_builders() })
    }

    fn sample(&self, seed: u64) -> Position {
        Position { engine: self.engine.sample(&mut FastRandom::new(seed)) }
    }

    fn sample_as_python(&self, rng: &Bound<'_, PyAny>) -> PyResult<Position> {
        let mut random = PythonsRandom(rng, Ok(()));
        let engine = self.engine.sample(&mut random);
        random.1.map(|_| Position { engine })
    }
}

/// The game of a row.
struct Game {
    position: EnginePosition,
    seed: u64,
    played: Vec<u8>,
    /// What random bots draw from, once they have played.
    random: Option<Box<PythonRandom>>,
}

impl Game {
    fn play(&mut self, chosen: Move) -> PyResult<()> {
        self.position.apply(chosen).map_err(refused)?;
        self.played.push(chosen.index() as u8);
        Ok(())
    }

    fn play_randomly(&mut self, seats: u8) -> PyResult<()> {
        while self.position.move_count() > 0 && seats >> self.position.seat & 1 == 1 {
            let random = self.random.get_or_insert_with(|| Box::new(PythonRandom::of_seed(self.seed)));
            let chosen = self.position.legal_move(random.below(self.position.move_count()));
            self.play(chosen.unwrap_or(Move::KEEP))?;
        }
        Ok(())
    }
}

/// Games in step; their rows are written into buffers of the caller.
#[pyclass(module = "happycity_engine")]
struct Games {
    config: Config,
    games: Vec<Game>,
    rows: PyBuffer<f32>,
    masks: PyBuffer<u8>,
    seats: PyBuffer<u8>,
}

/// Writes what belongs to a row into a buffer.
fn fill<T: Element>(py: Python<'_>, buffer: &PyBuffer<T>, row: usize, values: &[T]) -> PyResult<()> {
    let at = row * values.len();
    let cells = buffer.as_mut_slice(py).and_then(|cells| cells.get(at..at + values.len()));
    let cells = cells.ok_or_else(|| PyValueError::new_err("a buffer is too short, or read only"))?;
    cells.iter().zip(values).for_each(|(cell, value)| cell.set(*value));
    Ok(())
}

impl Games {
    fn write(&self, py: Python<'_>, row: usize) -> PyResult<()> {
        let position = &self.games[row].position;
        let (mut observation, mut mask) = (vec![0.0; row_size(self.config.players())], [0; MOVE_COUNT]);
        position.observe(position.seat.into(), &mut observation);
        position.mask(&mut mask);
        fill(py, &self.rows, row, &observation)?;
        fill(py, &self.masks, row, &mask)?;
        fill(py, &self.seats, row, &[position.seat])
    }

    fn game(&self, row: usize) -> PyResult<&Game> {
        self.games.get(row).ok_or_else(|| PyValueError::new_err("there is no such row"))
    }

    /// Writes the rows of games that go on, and returns the others.
    fn written(&self, py: Python<'_>, rows: Vec<usize>) -> PyResult<Vec<usize>> {
        rows.iter().try_for_each(|&row| self.game(row).map(drop))?;
        let (ended, going): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|&row| self.games[row].position.move_count() == 0);
        going.iter().try_for_each(|&row| self.write(py, row))?;
        Ok(ended)
    }
}

#[pymethods]
impl Games {
    #[new]
    fn new(config: &Bound<'_, PyAny>, rows: PyBuffer<f32>, masks: PyBuffer<u8>, seats: PyBuffer<u8>) -> PyResult<Self> {
        Ok(Games { config: config_of(config)?, games: Vec::new(), rows, masks, seats })
    }

    fn deal(&mut self, py: Python<'_>, row: usize, seed: u64) -> PyResult<()> {
        let position = EnginePosition::deal(self.config, seed);
        self.games.get(..row).ok_or_else(|| PyValueError::new_err("there is no such row"))?;
        let end = self.games.len().min(row + 1);
        self.games.splice(row.min(end)..end, [Game { position, seed, played: Vec::new(), random: None }]);
        self.write(py, row)
    }

    fn play(&mut self, py: Python<'_>, actions: Vec<usize>, rows: Vec<usize>) -> PyResult<Vec<usize>> {
        let moves = actions.into_iter().map(move_of).collect::<PyResult<Vec<_>>>()?;
        let legal = |(&chosen, &row)| self.games.get(row).map_or(false, |game: &Game| game.position.is_legal(chosen));
        if !moves.iter().zip(&rows).all(legal) {
            return Err(refused(Error::IllegalMove));
        }
        moves.iter().zip(&rows).try_for_each(|(&chosen, &row)| self.games[row].play(chosen))?;
        self.written(py, rows)
    }

    fn play_randomly(&mut self, py: Python<'_>, rows: Vec<usize>, seats: Vec<u8>) -> PyResult<Vec<usize>> {
        for (&row, seats) in rows.iter().zip(seats) {
            self.game(row)?;
            self.games[row].play_randomly(seats)?;
        }
        self.written(py, rows)
    }

    fn actions<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.game(row)?.played))
    }

    fn position(&self, row: usize) -> PyResult<Position> {
        Ok(Position { engine: self.game(row)?.position })
    }
}

#[pymodule]
fn happycity_engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Position>()?;
    module.add_class::<Worlds>()?;
    module.add_class::<Network>()?;
    module.add_class::<Champion>()?;
    module.add_function(wrap_pyfunction!(play, module)?)?;
    module.add_class::<Games>()
}
