"""Games played to their end in-process, and the estimates by which a quick policy plays them."""

from happycity.playout.outlook import STRETCH, VALUES, Outlook
from happycity.playout.policies import (
    POLICIES,
    Policy,
    movers_rng,
    play_random_game,
    play_to_end,
    random_move,
    record_random_game,
)
from happycity.playout.quick import fast_builders, play_out, quick_move
from happycity.playout.special_values import (
    PRINTED,
    PointsRule,
    Remaining,
    SpecialValue,
    additions,
    effect_in,
    looks_at_cities,
    points_rule_of,
    price_of_buying,
    value_if_owned,
    value_if_taken,
)

__all__ = [
    "POLICIES",
    "PRINTED",
    "STRETCH",
    "VALUES",
    "Outlook",
    "PointsRule",
    "Policy",
    "Remaining",
    "SpecialValue",
    "additions",
    "effect_in",
    "fast_builders",
    "looks_at_cities",
    "movers_rng",
    "play_out",
    "play_random_game",
    "play_to_end",
    "points_rule_of",
    "price_of_buying",
    "quick_move",
    "random_move",
    "record_random_game",
    "value_if_owned",
    "value_if_taken",
]
