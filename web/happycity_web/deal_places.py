"""How the versions of a deal of the ladder did in its games."""

from __future__ import annotations

from dataclasses import dataclass

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb


@dataclass(frozen=True, slots=True)
class DealPlace:
    """How a version did in a deal."""

    version: pb.BotVersion
    place: int
    """By the mean place, shared by those who have the same; 0 before the first game is over."""
    mean_place: float
    """Over the finished games."""


def deal_places(deal: pb.LadderDeal) -> list[DealPlace]:
    """Return how the versions of a deal did, best first; in the order of seats before a game is over."""
    games = len(deal.match_ids)
    if not games:
        return [DealPlace(version, 0, 0.0) for version in deal.versions]
    sums = sorted(deal.places)
    places = [
        DealPlace(version, 1 + sums.index(total), total / games)
        for version, total in zip(deal.versions, deal.places, strict=True)
    ]
    return sorted(places, key=lambda entry: entry.place)
