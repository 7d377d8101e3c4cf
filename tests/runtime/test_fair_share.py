"""Places that owners share: none keeps another one out by taking many."""

import random
from collections import Counter

from happycity_runtime.fair_share import FairShare


def test_the_owner_with_the_most_gives_one_up() -> None:
    share = FairShare[str](4)
    assert [share.take("a", f"a{number}") for number in range(4)] == [None] * 4
    assert share.take("a", "a4") == "a4"  # its own are as good
    assert share.take("b", "b0") == "a0"
    assert share.take("b", "b1") == "a1"
    assert share.take("b", "b2") == "b2"
    assert share.take("c", "c0") in ("a2", "b0")
    share.leave("c0")
    share.leave("c0")
    assert len(share) == 3


def test_a_thing_may_get_another_owner() -> None:
    """It keeps its place then."""
    share = FairShare[str](3)
    assert [share.take(owner, thing) for owner, thing in (("a", "1"), ("a", "2"), ("?", "3"))] == [None] * 3
    assert share.take("b", "3") is None
    assert share.take("b", "3") is None
    assert len(share) == 3
    assert share.take("c", "4") == "1"
    assert share.take("d", "5") == "5"


def test_an_owner_gives_up_what_is_chosen() -> None:
    share = FairShare[int](2, choose=min)
    share.take("a", 5)
    share.take("a", 3)
    assert share.take("b", 4) == 3


def test_a_newcomer_gets_a_place_unless_all_have_one_each() -> None:
    """Whatever some owners take and leave: only as many as there are places can keep another one out."""
    rng, most = random.Random(2), 12
    share, owner_of = FairShare[int](most), dict[int, str]()
    for number in range(5000):
        if owner_of and rng.random() < 0.3:
            leaving = rng.choice([*owner_of])
            share.leave(leaving)
            del owner_of[leaving]
        owner = rng.choice("abcdefg")
        owner_of[number] = owner
        gone = share.take(owner, number)
        if gone is not None:
            del owner_of[gone]
        owned = Counter(owner_of.values())
        assert len(share) == len(owner_of) <= most
        # One is refused only where no other has more.
        assert gone != number or owned[owner] + 1 >= max(owned.values())
