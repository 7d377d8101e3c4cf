"""The games of a cycle: a server of the league's own tries the new versions, and plays all tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from happycity import TimeControl
from happycity.errors import HappyCityError
from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity_league.config import cycle_seed, version_name
from happycity_league.state import AgentLeague, Cycle, EditOutcome
from happycity_terminal.submitting import when_tried
from happycity_tournament.client.session import ProgressView, ServerSession, open_server_session
from happycity_tournament.config import Format, Gauntlet, RandomRounds, TournamentConfig, TournamentState
from happycity_tournament.hosted.submissions import Submission, Submissions, SubmissionState
from happycity_tournament.lineup import BotEntry, Lineup
from happycity_tournament.schedule.gauntlet import lineup_count

CONNECT_SECONDS = 60.0


def table_title(cycle: Cycle, tables: str) -> str:
    """Return the title by which a tournament is found in the store: of the open tables, or of a version."""
    return f"cycle {cycle.number}: {tables}"


def tournaments_of(
    league: AgentLeague, cycle: Cycle, digests: Mapping[str, str]
) -> Iterator[TournamentConfig]:
    """Yield the tournaments of a cycle whose versions have passed their trials.

    At the open tables all versions and anchors meet. Then each new version and the one before it play against
    the anchors, on the same deals, in the same seats. `digests` are of all versions by their names.
    """
    config, anchors = league.config, league.config.anchors

    def tournament(agent: str, versions: Sequence[str], chosen: Format) -> TournamentConfig:
        return TournamentConfig(
            bots=(*versions, *anchors),
            game=config.game,
            format=chosen,
            seed=cycle_seed(league.commitment.seed, league.commitment.salt, cycle.number, agent),
            anchor=anchors[0],
            time=TimeControl(decision_seconds=config.decision_seconds, connect_seconds=CONNECT_SECONDS),
            title=table_title(cycle, versions[0] if agent else "open tables"),
            begin_incomplete=True,
            hosted_bots={version: digests[version] for version in versions},
        )

    if playing := [edit.plays for edit in cycle.edits.values() if edit.plays]:
        yield tournament("", playing, RandomRounds(rounds=config.deals))
    lineups = lineup_count(len(anchors), size=config.seats - 1)
    for agent, versions in league.compared(cycle).items():
        for version in versions:
            chosen = Gauntlet(challengers=(version,), cycles=math.ceil(config.deals / lineups))
            yield tournament(agent, [version], chosen)


async def play_cycle(league: AgentLeague, view: ProgressView) -> None:
    """Try the new versions of the last cycle and play its games, as far as that isn't done yet."""
    folder, cycle = league.folder / "bots", league.cycles[-1]
    submissions = Submissions(folder)
    new = {edit.digest: name for name, edit in cycle.edits.items() if edit.digest}
    needed = {edit.plays for edit in cycle.edits.values()}
    needed |= {league.before(name, cycle).plays for name in cycle.edits}
    names, tried = [], dict[str, Submission]()
    for one in list(submissions):  # the server tries and runs what these states say
        if one.digest in new or one.bot.name in needed:
            names.append(one.bot.name)
            if one.state is SubmissionState.RETIRED:
                submissions.save(submissions.change(one, state=SubmissionState.PLAYING))
        elif one.state is SubmissionState.PLAYING:
            submissions.save(submissions.change(one, state=SubmissionState.RETIRED))
        elif one.state is SubmissionState.TRYING:  # of an edit that was killed, and made again
            submissions.remove(one)
    if not names:  # no agent has a version
        _note_trials(league, {}, submissions)
        return
    anchors = [BotEntry(name=anchor, builtin=anchor) for anchor in league.config.anchors]
    lineup = Lineup(bots=(*anchors, *(BotEntry(name=name, hosted=True) for name in names)))
    async with open_server_session(lineup, league.folder, hosted=folder, view=view) as session:
        if not cycle.chain:
            view.remark(f"cycle {cycle.number}: {len(new)} new versions are tried")
            for digest, agent in new.items():
                named = pb.GetSubmissionRequest(bot=version_name(agent, cycle.number), digest=digest)
                tried[agent] = Submission.of(await when_tried(session.connection, named))
            _note_trials(league, tried, submissions)
        await _play_tables(league, session, {one.bot.name: one.digest for one in submissions}, view)


def _note_trials(league: AgentLeague, tried: Mapping[str, Submission], submissions: Submissions) -> None:
    """Note what the trials found, and commit to what plays before the first deal."""
    cycle, edits = league.cycles[-1], dict(league.cycles[-1].edits)
    for agent, one in tried.items():
        if one.state is SubmissionState.TRYING:
            raise HappyCityError(f"{one.bot.name}: {'; '.join(one.result)}")
        if one.state is SubmissionState.PLAYING:
            outcome, plays = EditOutcome.ACCEPTED, one.bot.name
            edits[agent] = replace(edits[agent], outcome=outcome, plays=plays, reason=one.result)
        else:
            printed = "".join(c if c.isprintable() else " " for c in submissions.log_end(one)[-2000:])
            reason = (*one.result, *((f"printed: {printed}",) if printed else ()))
            edits[agent] = replace(edits[agent], outcome=EditOutcome.REJECTED, reason=reason)
    league.change(edits=edits, chain=league.link(replace(cycle, edits=edits)))


async def _play_tables(
    league: AgentLeague, session: ServerSession, digests: Mapping[str, str], view: ProgressView
) -> None:
    """Play all tournaments of the cycle that are not finished yet."""
    connection = session.connection
    known = {one.config.title: one for one in await connection.tournaments() if one.config is not None}
    for planned in tournaments_of(league, league.cycles[-1], digests):
        found = known.get(planned.title)
        if found is not None and found.state is TournamentState.FINISHED:
            continue
        view.remark(planned.title)
        if found is None:
            found = await connection.create(planned)
        else:
            await connection.resume(found.tournament_id, connect_seconds=CONNECT_SECONDS)
        last = await session.play(found.tournament_id, view)
        if last.state is not TournamentState.FINISHED:
            raise HappyCityError(f"{planned.title}: {last.state.value}; {'; '.join(last.remarks)}")
