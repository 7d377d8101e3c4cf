"""Games and their results as readers take them."""

from happycity_tournament.games import Result
from happycity_tournament.recorded_games import in_parts


def test_a_part_is_of_one_tournament() -> None:
    """Whether games count is asked for a part at once, by the rules of the first one's tournament."""
    numbers = [*[1] * 3, *[2] * 450, *[1] * 2]
    results = [Result(number, of, None, 1, "ab", (1, 2)) for number, of in enumerate(numbers)]
    parts = list(in_parts(results))
    assert [result for part in parts for result in part] == results
    assert all(len({result.tournament_id for result in part}) == 1 for part in parts)
    assert max(map(len, parts)) < len(results)
