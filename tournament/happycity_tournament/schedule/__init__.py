"""Who plays whom, in which seat and on which deal: all of it fixed by the bots, the seats and one seed.

Every format is a `Schedule`: it says how many games there are and gives them in stages. A table plays one
deal in several orders of its bots, so that each of them holds each seat's cards and the luck of the cards
cancels (duplicate deals). The formats: `RandomRounds`, `RoundRobin`, `Swiss`, `Gauntlet`, `Adaptive`, and
`Duel` for a sequential test between two bots.
"""

from happycity_tournament.schedule.adaptive import Adaptive, Estimates, Estimator, undecided_tables
from happycity_tournament.schedule.duel import Duel, block_score, sprt_fixtures
from happycity_tournament.schedule.field import SEATS, Field, bot_seeds, tables_per_round
from happycity_tournament.schedule.gauntlet import Gauntlet
from happycity_tournament.schedule.orders import Orders
from happycity_tournament.schedule.random_rounds import RandomRounds, fixtures, total_games
from happycity_tournament.schedule.roster import Stay
from happycity_tournament.schedule.round_robin import RoundRobin
from happycity_tournament.schedule.stages import FixedSchedule, Schedule
from happycity_tournament.schedule.swiss import PlayedRound, Swiss, round_pairings

__all__ = [
    "SEATS",
    "Adaptive",
    "Duel",
    "Estimates",
    "Estimator",
    "Field",
    "FixedSchedule",
    "Gauntlet",
    "Orders",
    "PlayedRound",
    "RandomRounds",
    "RoundRobin",
    "Schedule",
    "Stay",
    "Swiss",
    "block_score",
    "bot_seeds",
    "fixtures",
    "round_pairings",
    "sprt_fixtures",
    "tables_per_round",
    "total_games",
    "undecided_tables",
]
