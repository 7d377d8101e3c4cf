"""Who plays whom, in which seat and on which deal: all of it fixed by the bots, the seats and one seed.

Every format is a `Schedule`: it says how many games there are and gives them in stages. A table plays one
deal in several orders of its bots, so that each of them holds each seat's cards and the luck of the cards
cancels (duplicate deals).
"""

from happycity_tournament.schedule.field import Field, bot_seeds, game_seeds
from happycity_tournament.schedule.formats import schedule_of
from happycity_tournament.schedule.schedule import Schedule
from happycity_tournament.schedule.sequential import SprtSchedule

__all__ = ["Field", "Schedule", "SprtSchedule", "bot_seeds", "game_seeds", "schedule_of"]
