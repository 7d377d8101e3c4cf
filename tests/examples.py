"""How many random examples expensive property tests try."""

from hypothesis import settings

few_examples = settings(max_examples=settings().max_examples // 4)
"""For property tests whose examples take more than some milliseconds; more in nightly runs."""
