//! The Python package `happycity_engine`; `happycity_engine.pyi` documents it.

use engine::{
    row_size, success, Config, Deal, Error, Fast, FastRandom, Mode, Move, Outcome, Scoring, View, DECKS, MAX_BYTES,
    MAX_PLAYERS, MOVE_COUNT,
};
use engine::{Position as EnginePosition, PythonRandom, Worlds as EngineWorlds};
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

/// Bit n of a mask is set for a seat n that builds fast.
fn fast_of(mask: u8) -> Fast {
    core::array::from_fn(|seat| mask >> seat & 1 == 1)
}

#[pyclass(module = "happycity_engine")]
struct Position {
    engine: EnginePosition,
}

impl Position {
    /// By seat: points, coins, inhabitants, hearts and ranks, as in `happycity.Outcome`.
    fn outcome_tuple<'py>(&self, py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyTuple>> {
        let players = self.engine.config().players();
        let scores = &outcome.scores[..players];
        let by_seat = |value: &dyn Fn(usize) -> i32| PyTuple::new(py, (0..players).map(value));
        PyTuple::new(
            py,
            [
                by_seat(&|seat| scores[seat].points)?,
                by_seat(&|seat| scores[seat].coins)?,
                by_seat(&|seat| scores[seat].inhabitants)?,
                by_seat(&|seat| scores[seat].hearts)?,
                by_seat(&|seat| outcome.ranks[seat].into())?,
            ],
        )
    }
}

#[pymethods]
impl Position {
    #[staticmethod]
    #[pyo3(signature = (config, *, seed))]
    fn deal(config: &Bound<'_, PyAny>, seed: u64) -> PyResult<Position> {
        Ok(Position { engine: EnginePosition::new(&Deal::shuffle(config_of(config)?, seed)) })
    }

    #[staticmethod]
    fn of_deal(deal: &Bound<'_, PyAny>) -> PyResult<Position> {
        let cards = |cards: Bound<'_, PyAny>| {
            cards.try_iter()?.map(|card| card?.getattr("number")?.extract()).collect::<PyResult<Vec<u8>>>()
        };
        let decks = deal.getattr("decks")?.try_iter()?.map(|deck| cards(deck?)).collect::<PyResult<Vec<_>>>()?;
        let [first, second, third]: [Vec<u8>; DECKS] =
            decks.try_into().map_err(|_| refused(Error::Impossible("decks")))?;
        let specials = [&cards(deal.getattr("specials")?)?[..], &cards(deal.getattr("box")?)?[..]];
        let config = config_of(&deal.getattr("config")?)?;
        let seed = deal.getattr("seed")?.extract()?;
        let deal = Deal::new(config, seed, [&first, &second, &third], specials).map_err(refused)?;
        Ok(Position { engine: EnginePosition::new(&deal) })
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

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Position>().getattr("from_bytes")?, (self.__bytes__(py),)))
    }

    fn copy(&self) -> Position {
        Position { engine: self.engine }
    }

    #[getter]
    fn players(&self) -> usize {
        self.engine.config().players()
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
    fn incomes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.engine.cities.incomes()[..self.players()].iter())
    }

    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.engine.outcome().map(|outcome| self.outcome_tuple(py, &outcome)).transpose()
    }

    fn score<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.outcome_tuple(py, &self.engine.score())
    }

    fn apply(&mut self, number: usize) -> PyResult<()> {
        self.engine.apply(move_of(number)?).map_err(refused)
    }

    fn opened(&self) -> Position {
        Position { engine: self.engine.opened() }
    }

    #[pyo3(signature = (*, seed))]
    fn closed(&self, seed: u64) -> PyResult<Position> {
        Ok(Position { engine: self.engine.closed(&mut FastRandom::new(seed)).map_err(refused)? })
    }

    #[getter]
    fn awaited<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.engine.awaited_cards().iter())
    }

    fn reveal(&mut self, card: u8) -> PyResult<()> {
        self.engine.reveal(card).map_err(refused)
    }

    #[pyo3(signature = (*, fast=0))]
    fn quick_move(&self, fast: u8) -> Option<usize> {
        self.engine.quick_move(&fast_of(fast)).map(Move::index)
    }

    #[pyo3(signature = (number, *, fast=0))]
    fn playout(&self, number: usize, fast: u8) -> PyResult<f64> {
        let mut engine = self.engine;
        engine.apply(move_of(number)?).map_err(refused)?;
        let outcome = engine.play_out(&fast_of(fast)).map_err(refused)?;
        Ok(success(&outcome, self.players(), self.engine.seat.into()))
    }

    #[pyo3(signature = (*, seed))]
    fn random_playout<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyTuple>> {
        let mut engine = self.engine;
        let outcome = engine.play_out_randomly(&mut FastRandom::new(seed)).map_err(refused)?;
        self.outcome_tuple(py, &outcome)
    }

    fn observation<'py>(&self, py: Python<'py>, seat: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut row = vec![0.0; row_size(self.players())];
        if !self.engine.observe(seat, &mut row) {
            return Err(PyValueError::new_err("there is no such seat"));
        }
        Ok(PyBytes::new(py, &row.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>()))
    }

    fn mask<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut mask = [0; MOVE_COUNT];
        self.engine.mask(&mut mask);
        PyBytes::new(py, &mask)
    }
}

#[pyclass(module = "happycity_engine", frozen)]
struct Worlds {
    engine: EngineWorlds,
    /// Rivals that buy in every turn, as a mask.
    #[pyo3(get)]
    fast: u8,
}

#[pymethods]
impl Worlds {
    #[new]
    #[pyo3(signature = (view, discarded=None))]
    fn new(view: &[u8], discarded: Option<&[u8]>) -> PyResult<Worlds> {
        let view = View::from_message(view).map_err(refused)?;
        let engine = EngineWorlds::new(&view, discarded).map_err(refused)?;
        let fast = engine.seen().fast_builders();
        Ok(Worlds { engine, fast: (0..MAX_PLAYERS).map(|seat| u8::from(fast[seat]) << seat).sum() })
    }

    #[pyo3(signature = (*, seed))]
    fn sample(&self, seed: u64) -> Position {
        Position { engine: self.engine.sample(&mut FastRandom::new(seed)) }
    }

    #[pyo3(signature = (text, count))]
    fn sample_as_python(&self, text: &str, count: usize) -> Vec<Position> {
        let mut random = PythonRandom::of_text(text.as_bytes());
        (0..count).map(|_| Position { engine: self.engine.sample(&mut random) }).collect()
    }
}

#[pymodule]
fn happycity_engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Position>()?;
    module.add_class::<Worlds>()
}
