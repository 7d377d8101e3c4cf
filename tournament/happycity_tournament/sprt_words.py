"""A sequential test in words and as JSON."""

from __future__ import annotations

from happycity.records import Json
from happycity.v1 import tournament_service_pb2 as pb

_TOLD = {
    pb.SPRT_VERDICT_RUNNING: "nothing is decided yet",
    pb.SPRT_VERDICT_H0: "H0 is accepted: the candidate is elo0 stronger rather than elo1",
    pb.SPRT_VERDICT_H1: "H1 is accepted: the candidate is elo1 stronger rather than elo0",
    pb.SPRT_VERDICT_NO_DIFFERENCE: "no difference: every block was exactly even, the bots play the same",
    pb.SPRT_VERDICT_UNDECIDED: "undecided: the maximum of blocks was played",
}


def verdict_of(state: pb.SprtState) -> str:
    """Return what a test has decided, in one word or two: `running`, `h0`, `no difference` and so on."""
    return pb.SprtVerdict.Name(state.verdict).removeprefix("SPRT_VERDICT_").replace("_", " ").lower()


def sprt_progress(state: pb.SprtState) -> str:
    """Return in one line how far a test is."""
    return (
        f"LLR {state.llr:+.2f} of {state.lower:+.2f} to {state.upper:+.2f} after {state.blocks} blocks; "
        f"{_elo(state)}"
    )


def sprt_lines(update: pb.WatchTournamentResponse) -> list[str]:
    """Return what was tested, how it ended, and by which numbers; nothing in other formats."""
    if not update.HasField("sprt"):
        return []
    config, state = update.tournament.config, update.sprt
    terms = config.sprt
    candidate, base = config.bots[0], config.bots[len(config.bots) // 2]
    return [
        f"candidate {candidate} against base {base}: H0 {terms.elo0:+g} Elo, H1 {terms.elo1:+g} Elo, "
        f"alpha {terms.alpha:g}, beta {terms.beta:g}",
        sprt_progress(state),
        _TOLD[state.verdict],
    ]


def sprt_json(state: pb.SprtState) -> Json:
    """Return a test as `--json` writes it; what can't be told is null."""
    return {
        "verdict": verdict_of(state),
        "blocks": state.blocks,
        "llr": state.llr,
        "lower": state.lower,
        "upper": state.upper,
        "elo": state.elo if state.HasField("elo") else None,
        "elo_low": state.elo_low if state.HasField("elo_low") else None,
        "elo_high": state.elo_high if state.HasField("elo_high") else None,
    }


def _elo(state: pb.SprtState) -> str:
    if not state.HasField("elo"):
        return "no estimate of the difference yet"
    if not (state.HasField("elo_low") and state.HasField("elo_high")):
        return f"{state.elo:+.1f} Elo"
    return f"{state.elo:+.1f} Elo ({state.elo_low:+.1f} to {state.elo_high:+.1f})"
