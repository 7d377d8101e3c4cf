"""Playing in the browser: setting up a table, invitations, and the page of a person's seat."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.websockets import WebSocket

from happycity import DWELLINGS, Config, ConfigError, Mode, Scoring
from happycity.errors import FieldError
from happycity.match import PERSON_MARK
from happycity.records.playback import Playback
from happycity.records.record import Json
from happycity.rules.cards import BUILDINGS, SPECIALS
from happycity.rules.deals import DECKS, MAX_PLAYERS, MIN_PLAYERS
from happycity.text.words import events_in_words
from happycity_runtime.event_loop import first_of
from happycity_server.access.roles import principal
from happycity_server.broadcast import Broadcast
from happycity_server.errors import ApiError, Reason, invalid
from happycity_server.people.table import HOST, INVITED, OPEN, SeatActivity, Table, TablePlace, TablePlan
from happycity_server.places.watch import WatchedMatch
from happycity_viewer.languages import Language
from happycity_viewer.plies import encode
from happycity_web.answers import Fields
from happycity_web.choices import question
from happycity_web.guard import SEAT_COOKIE, keep_secret, kept_place, shown_seat
from happycity_web.guide import advise
from happycity_web.matches import MatchQuery, match_values
from happycity_web.query import Query
from happycity_web.render import Page, Reader, language_of, page_response
from happycity_web.watch import Feeds, end_of, first_ply, plies_message, plies_of, while_connected

CLOCKS: Mapping[str, float | None] = {"60": 60.0, "300": 300.0, "none": None}
"""The limits of a decision that a table may have, in seconds, by their names in the form."""
DEFAULT_CLOCK = "300"
_SEED_BITS = 53  # as a number of JavaScript has
_SEATS = 4  # of a table that the form proposes


async def new_game(feeds: Feeds, request: Request, fields: Fields, problem: str) -> Page:
    """Show the form for a new game; at first, the address may fill it."""
    house, fields = feeds.arena.tables.house, fields or request.query_params
    is_guest = principal().is_guest
    seats = [fields.get(f"seat{number}", "") for number in range(1, MAX_PLAYERS + 1)]
    if not any(seats):
        chosen = [HOST, *(house or [INVITED])][:_SEATS]
        seats = [*chosen, *[""] * (MAX_PLAYERS - len(chosen))]
    values = {
        "fields": fields,
        "seats": seats,
        "house": house,
        "place": _occupied_place(feeds, request),
        "open_tables": feeds.arena.tables.open_tables(),
        "is_guest": is_guest,
        "problem": problem,
        "clocks": CLOCKS,
        "clock": fields.get("clock", DEFAULT_CLOCK),
    }
    return Page("new_game.html", values)


async def create_table(feeds: Feeds, request: Request, fields: Fields) -> Response:
    """Set up the table that a form describes, and go to it."""
    if _occupied_place(feeds, request) is not None:
        raise ConfigError("You sit at a table already.")
    name, own = fields.get("name", ""), shown_seat(request)
    table, secret = feeds.arena.tables.create(plan_of(fields), name, earlier=own)
    return await _seated(feeds, request, table, secret, query="?guide=1" if "guide" in fields else "")


def _occupied_place(feeds: Feeds, request: Request) -> TablePlace | None:
    """Return the place where the caller still plays, or waits for that."""
    place = kept_place(feeds.arena, request)
    return place if place is not None and place.is_open else None


async def how_to_play(feeds: Feeds, _request: Request, _query: Query) -> Page:
    """Show the rules in six steps, and all cards."""
    values = {
        "by_deck": {deck: [card for card in BUILDINGS if card.deck == deck] for deck in DECKS},
        "dwellings": DWELLINGS,
        "has_house": bool(feeds.arena.tables.house),
        **{mode.value: [card for card in SPECIALS if card.special_set is mode] for mode in Mode},
    }
    return Page("how_to_play.html", values)


async def table_page(feeds: Feeds, request: Request) -> Response:
    """Show the table at which a person sits."""
    place = kept_place(feeds.arena, request)
    assert place is not None  # or `guard.seated` had not admitted the person
    table = place.table
    values: dict[str, Any] = {
        "table": table,
        "place": place,
        "house": feeds.arena.tables.house,
        "seconds_open": feeds.arena.tables.seconds_open(table),
        "is_live": False,
        "may_be_guided": may_be_guided(table.plan),
    }
    if table.match_id is None:
        return page_response(request, Page("waiting.html", values))
    query, own = MatchQuery.of(request.query_params), language_of(request)
    values |= await match_values(feeds, table.match_id, query, own, seat=place.seat + 1)
    await table.writer.wait()
    return await feeds.in_thread(page_response, request, Page("play.html", values))


async def offered_seat(feeds: Feeds, request: Request, fields: Fields, problem: str) -> Page:
    """Show the form that takes the seat to which an invitation leads, or one that is open to all."""
    (table, seat), place = _offered(feeds, request), kept_place(feeds.arena, request)
    values = {
        "table": table,
        "seat": seat,
        "is_own": place is not None and place.table is table,
        "name": fields.get("name", ""),
        "is_open": table.plan.seats[seat] == OPEN,
        "problem": problem,
    }
    return Page("invitation.html", values)


async def take_offered_seat(feeds: Feeds, request: Request, fields: Fields) -> Response:
    """Take the seat that is offered, unless the caller has one at its table."""
    offered, place = _offered(feeds, request), kept_place(feeds.arena, request)
    if place is not None and place.table is offered[0]:
        return page_response(request, await offered_seat(feeds, request, {}, ""))
    own = None if "token" in request.path_params else shown_seat(request)
    if own is not None and _occupied_place(feeds, request) is not None:
        raise ConfigError("You sit at a table already.")
    taken = feeds.arena.tables.take_seat(offered, fields.get("name", ""), earlier=own)
    return await _seated(feeds, request, *taken)


def _offered(feeds: Feeds, request: Request) -> tuple[Table, int]:
    """Return the table and the seat that an address offers."""
    tables, named = feeds.arena.tables, request.path_params
    return tables.invitation(named["token"]) if "token" in named else tables.open_table(named["table_id"])


async def own_seat(feeds: Feeds, request: Request, _fields: Fields, _problem: str) -> Page:
    """Ask whether this browser is to have the seat of a personal link."""
    return Page("own_seat.html", {"place": _linked_place(feeds, request)})


async def take_own_seat(feeds: Feeds, request: Request, _fields: Fields) -> Response:
    """Let this browser have the seat of a personal link."""
    return await _seated(feeds, request, _linked_place(feeds, request).table, request.path_params["secret"])


def _linked_place(feeds: Feeds, request: Request) -> TablePlace:
    place = feeds.arena.tables.place_of(request.path_params["secret"])
    if place is None:
        raise ApiError(Reason.REVOKED, "this link to a seat is unknown, or its table is over")
    return place


async def _seated(feeds: Feeds, request: Request, table: Table, secret: str, *, query: str = "") -> Response:
    """Let the browser keep a seat, once it is stored, and go to its table."""
    await table.writer.wait()
    response = RedirectResponse(f"/play/{table.table_id}{query}", 303)
    keep_secret(response, request, SEAT_COOKIE, secret)
    return response


async def follow_table(feeds: Feeds, socket: WebSocket) -> None:
    """Send what a person's page shows, and take what the person does."""
    place = kept_place(feeds.arena, socket)
    assert place is not None
    async with feeds.arena.tables.present(place):
        take = partial(_act, feeds, socket, place)
        await while_connected(socket, _send(feeds, socket, place), feeds, take=take)


async def _say(socket: WebSocket, message: Json) -> None:
    await socket.send_text(encode(message))


async def _send(feeds: Feeds, socket: WebSocket, place: TablePlace) -> None:
    """Send the waiting room until the game begins, then the game with the person's choices."""
    table, person, reader = place.table, place.person, Reader.of(socket)
    shown = ""
    while table.match_id is None:
        version = person.changes.version
        tables = feeds.arena.tables
        values = {"table": table, "place": place, "house": tables.house, "is_live": True}
        waiting = Page("waiting_room.html", values).html(reader)
        if waiting != shown:
            shown = waiting
            left = tables.seconds_open(table) if table.open_seats else None
            await _say(socket, {"waiting": waiting, "over": table.is_closed, "left": left})
        if table.is_closed:
            return
        await person.changes.next(version)
    if "from" not in socket.query_params:  # the page is that of the waiting room
        await _say(socket, {"begun": True})
        return
    _, watched = await feeds.arena.matches.watch(principal(), table.match_id)
    await _send_game(feeds, socket, place, watched, reader)


async def _send_game(
    feeds: Feeds, socket: WebSocket, place: TablePlace, watched: Broadcast[WatchedMatch], reader: Reader
) -> None:
    position, changes = first_ply(socket), place.person.changes
    tables, table = feeds.arena.tables, place.table
    shown: Json = {}
    shown_activities: list[SeatActivity] | None = None
    greeted = table.greetings[-1].number if table.greetings else 0
    while True:
        versions, is_over = (watched.version, changes.version), watched.is_over
        plies = await plies_of(feeds, watched.value, reader.language)
        end = end_of(watched.value)
        panel = seat_json(place, watched.value.playback, end, reader)
        await place.table.writer.wait()  # a kill takes back nothing that is shown
        if position < len(plies):
            await socket.send_text(plies_message(plies, position))
            position = len(plies)
        if panel != shown:
            shown = panel
            await _say(socket, {**panel, "left": place.person.seconds_left})
        activities = [] if is_over else tables.activities(table)
        if activities != shown_activities:
            shown_activities = activities
            seats = [
                {"seat": one.seat, "does": one.activity.value, "left": tables.seconds_left(one.due)}
                for one in activities
            ]
            await _say(socket, {"seats": seats, "decides": place.seat == table.deputy})
        for greeting in [one for one in table.greetings if one.number > greeted]:
            greeted = greeting.number
            await _say(socket, {"greeting": [greeting.seat, greeting.words]})
        if is_over:
            await _say(socket, {"end": end})
            return
        await first_of(watched.next(versions[0]), changes.next(versions[1]))


async def _act(feeds: Feeds, socket: WebSocket, place: TablePlace, text: str) -> None:
    """Do what a page asks for; ApiError if it asks for nothing that there is."""
    tables = feeds.arena.tables
    try:
        match json.loads(text):
            case {"answer": [int(decision_id), int(position)]}:
                place.person.answer(decision_id, position)
            case {"leave": True}:
                tables.leave(place)
            case {"invite": int(seat)}:
                await _say(socket, {"link": f"/invitations/{tables.invite(place, seat)}", "seat": seat})
            case {"fill": [int(seat), str(bot)]}:
                tables.fill(place, seat, bot)
            case {"replace": int(seat)}:
                tables.replace(place, seat)
            case {"greet": str(words)}:
                tables.greet(place, words)
            case {"seat": True}:
                await _say(socket, {"link": f"/seats/{shown_seat(socket)}"})
            case _:
                raise ValueError
    except (ValueError, RecursionError):
        raise invalid("message", "it is not one of a page of this server") from None


def plan_of(fields: Mapping[str, str]) -> TablePlan:
    """Return the plan that a form has; ConfigError if a field is wrong."""
    chosen = [fields.get(f"seat{number}", "") for number in range(1, MAX_PLAYERS + 1)]
    seats = tuple(filter(None, chosen))
    if len(seats) < MIN_PLAYERS:
        raise FieldError("seats", f"a game has {MIN_PLAYERS} to {MAX_PLAYERS}")
    try:
        config = Config(
            players=len(seats),
            mode=Mode(fields.get("mode", Mode.FAMILY.value)),
            scoring=Scoring(fields.get("scoring", Scoring.PRODUCT.value)),
        )
        limit = CLOCKS[fields.get("clock", DEFAULT_CLOCK)]
        seed = int(fields["seed"]) if "seed" in fields else secrets.randbits(_SEED_BITS)
    except (ValueError, KeyError) as error:
        raise ConfigError(f"the form has a value that is unknown: {error}") from None
    if not 0 <= seed < 1 << _SEED_BITS:
        raise FieldError("seed", f"{seed} is not between 0 and 2^{_SEED_BITS} - 1")
    return TablePlan(config=config, seats=seats, decision_seconds=limit, seed=seed)


def fields_of(table: Table, *, same_deal: bool = False) -> dict[str, str]:
    """Return the fields of a form that sets up the same table again: `plan_of` reads them.

    With the same deal, each player sits one seat further.
    """
    plan = table.plan
    seats = (*plan.seats[-1:], *plan.seats[:-1]) if same_deal else plan.seats
    return {
        **({"seed": str(plan.seed)} if same_deal else {}),
        "name": (table.names[table.host] or "").removeprefix(PERSON_MARK),
        "mode": plan.config.mode.value,
        "scoring": plan.config.scoring.value,
        "clock": next(name for name, limit in CLOCKS.items() if limit == plan.decision_seconds),
        **{f"seat{number}": seat for number, seat in enumerate(seats, start=1)},
    }


def seat_json(place: TablePlace, playback: Playback, end: Json | None, reader: Reader) -> Json:
    """Return what a person's page shows besides the game: the choices, and what has happened."""
    person = place.person
    decision = person.decision
    asked = None if decision is None else question(decision)
    is_host = place.seat == place.table.host
    values = {
        "place": place,
        "person": person,
        "bots": playback.bots,
        "question": asked,
        "advice": advise(asked) if asked is not None and may_be_guided(place.table.plan) else None,
        "cities": playback.steps[-1].view.cities if playback.steps else (),
        "scoring": place.table.plan.config.scoring.value,
        "again": fields_of(place.table) if is_host else None,
        "same_deal": fields_of(place.table, same_deal=True) if is_host and end is not None else None,
        "end": end,
        "unlimited": place.table.plan.decision_seconds is None,
    }
    return {
        "panel": Page("seat.html", values).html(reader),
        "news": [] if decision is None and end is None else news(playback, place.seat, reader.language),
        "plays": end is None and not person.has_left,
        "decision": None if decision is None else decision.decision_id,
        "end": end is not None,
        "asks": None if asked is None else str(asked.phase),
    }


def news(playback: Playback, seat: int, language: Language) -> list[str]:
    """Return what has happened since the last move of a seat, in sentences; that move is the first."""
    steps = playback.steps
    own = (
        number
        for number in reversed(range(len(steps)))
        if steps[number].move and steps[number].view.seat == seat
    )
    events = [event for step in steps[next(own, -1) + 1 :] for event in step.events]
    names = list(playback.bots)
    names[seat] = language.texts.gettext("You")
    return events_in_words(events, names, texts=language.texts)


def may_be_guided(plan: TablePlan) -> bool:
    """Return whether the guide may advise at a table: in a family game against bots alone."""
    is_known = plan.config.mode is Mode.FAMILY and plan.config.scoring is Scoring.PRODUCT
    return is_known and not {INVITED, OPEN} & {*plan.seats}
