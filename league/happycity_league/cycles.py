"""The cycles of a league: edit, try, play, rate, each phase once, whatever is killed in between."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from itertools import islice

from happycity.errors import ConfigError
from happycity_league.config import AgentConfig, version_name
from happycity_league.playing import play_cycle, table_title
from happycity_league.projects import EditError, Project
from happycity_league.results import gains_evaluator, gains_of, results_of
from happycity_league.state import AgentLeague, Cycle, Edit, EditOutcome
from happycity_runtime.files import replacing
from happycity_terminal.weaknesses import Weaknesses, weaknesses_of
from happycity_tournament.client.session import ProgressView
from happycity_tournament.hosted.submissions import Submissions
from happycity_tournament.plain_json import plain_json
from happycity_tournament.proof.commitment import canonical
from happycity_tournament.recorded_games import named_record

RESULTS_FILE = "results.json"
"""The results of a league that is over, which `happycity league verify` recomputes."""
MOST_GAMES = 1000
"""Games of the last cycle that an agent gets as records."""
JUDGED_GAMES = 20
"""Those of them in which its decisions are judged."""
_Game = tuple[int, tuple[str, ...], str]
"""A game's id, its bots by seat, and its record."""


async def run_league(league: AgentLeague, view: ProgressView) -> bool:
    """Play a league until it is over; return False if it waits for a person's edit before that."""
    while not league.is_over:
        league.begin_cycle()
        for agent in league.config.agents:
            await _edit(league, agent, view)
        cycle = league.cycles[-1]
        if any(edit.outcome is EditOutcome.WAITING for edit in cycle.edits.values()):
            return False
        await play_cycle(league, view)
        gains = gains_of(league, league.cycles[-1])
        league.change(gains=gains, evaluator=gains_evaluator(), is_played=True)
        view.remark(f"cycle {cycle.number} of {league.config.cycles} is over")
    with replacing(league.folder / RESULTS_FILE) as partial:
        partial.write_bytes(canonical(results_of(league)) + b"\n")
    return True


async def _edit(league: AgentLeague, agent: AgentConfig, view: ProgressView) -> None:
    """Let an agent edit in the last cycle, unless that is done, and keep what it submits."""
    cycle, project = league.cycles[-1], Project(league.folder, agent)
    known, before = cycle.edits.get(agent.name), league.before(agent.name, cycle)
    if known is not None and known.outcome is not EditOutcome.WAITING:
        return
    edit = Edit(plays=before.plays, content=before.content)
    unfinished = project.log.with_suffix(".unfinished")  # there while an edit is not done
    if not cycle.number:
        await project.create()
    elif known is None:
        if unfinished.exists():
            await project.restore(cycle.number - 1)
        unfinished.touch()
        await _prepare(league, project, before)
        edit = await _asked(project, cycle.number, edit, view)
    if edit.outcome is EditOutcome.EDITED:
        edit = await _taken(project, cycle.number, edit, Submissions(league.folder / "bots"))
    league.change(edits={**league.cycles[-1].edits, agent.name: edit})
    unfinished.unlink(missing_ok=True)
    view.remark(f"cycle {cycle.number}: {agent.name}: {'; '.join([edit.outcome.value, *edit.reason[:1]])}")


async def _asked(project: Project, number: int, edit: Edit, view: ProgressView) -> Edit:
    """Run an agent's command; a person begins to edit."""
    if project.agent.wait:
        return replace(edit, outcome=EditOutcome.WAITING, reason=(f"edit {project.folder}",))
    if not project.agent.command:
        return edit
    view.remark(f"cycle {number}: {project.agent.name} edits, for {project.agent.seconds:g} s at most")
    problem, seconds, cpu = await project.edit(number)
    edit = replace(edit, seconds=seconds, cpu_seconds=cpu, usage=project.usage())
    return await _undone(project, number, edit, problem) if problem else edit


async def _undone(project: Project, number: int, edit: Edit, problem: str) -> Edit:
    """Make the project what it was before an edit that failed."""
    await project.restore(number - 1)
    await project.commit(number)
    return replace(edit, outcome=EditOutcome.FAILED, reason=(problem,))


async def _taken(project: Project, number: int, edit: Edit, submissions: Submissions) -> Edit:
    """Commit an edit and keep a new version to be tried, unless its files are those of before."""
    try:
        edit = replace(edit, changed_lines=await project.commit(number) if number else 0)
        submission, content = project.submit(submissions, version_name(project.agent.name, number))
    except EditError as error:
        return replace(edit, outcome=EditOutcome.REJECTED, reason=(str(error),))
    except ConfigError as error:  # of git
        return await _undone(project, number, edit, str(error))
    if content == edit.content:
        submissions.remove(submission)
        return replace(edit, outcome=EditOutcome.UNCHANGED)
    return replace(edit, digest=submission.digest, content=content)


async def _prepare(league: AgentLeague, project: Project, before: Edit) -> None:
    """Give an agent its brief, the feedback on the cycle before, and what others share."""
    name, cycle, submissions = project.agent.name, league.cycles[-2], Submissions(league.folder / "bots")
    own, others = _games(league, cycle, before.plays)
    judged = weaknesses_of(islice(own, JUDGED_GAMES), before.plays, playouts=0) if own else ()
    weaknesses = Weaknesses.of(seat for seats in judged for seat in seats) if own else None
    results = results_of(league)
    for row in results["cycles"]:
        row["reason"] = row["reason"] if row["agent"] == name else ""  # it may quote what another bot printed
    playing = submissions.find(before.plays)
    feedback = {
        "standings.json": _json(results),
        "edit.json": _json({**plain_json(before), "gain": plain_json(cycle.gains.get(name))}),
        "edit.log": project.log.read_text("utf-8", errors="replace") if project.log.exists() else "",
        "printed.txt": "" if playing is None else submissions.log_end(playing),
        "games.jsonl": "".join(f"{record}\n" for _, _, record in own[:MOST_GAMES]),
        "weaknesses.json": _json(plain_json(weaknesses)),
    }
    if league.config.share_games:
        feedback["others.jsonl"] = "".join(f"{record}\n" for _, _, record in others[:MOST_GAMES])
    shared = [one for one in league.config.agents if one.name != name and league.config.share_code]
    archives = [await Project(league.folder, one).archive(cycle.number) for one in shared]
    project.prepare(feedback, archives)


def _games(league: AgentLeague, cycle: Cycle, bot: str) -> tuple[list[_Game], list[_Game]]:
    """Return the games of a cycle as records: those of a bot, and all others."""
    own, others = list[_Game](), list[_Game]()
    for title in league.tables:
        if title.startswith(table_title(cycle, "")):
            with closing(league.games(title)) as source:
                for game, record in source.games(with_records=True):
                    if record is not None:
                        (own if bot in game.bots else others).append(
                            (game.match_id, game.bots, named_record(game.bots, record))
                        )
    return own, others


def _json(content: object) -> str:
    return json.dumps(content, indent=1, sort_keys=True) + "\n"
