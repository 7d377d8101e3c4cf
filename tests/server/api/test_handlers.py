"""Services are functions of caller and request, and know nothing of gRPC."""

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pool

from happycity_server import api
from happycity_server.access.roles import CONTRACT
from happycity_server.api.access import AccessService
from happycity_server.api.ladder import LadderService
from happycity_server.api.matches import MatchService
from happycity_server.api.play import BotService, CatalogueService
from happycity_server.api.server import ServerService
from happycity_server.api.tournaments import TournamentService
from happycity_server.hosting.service import HostingService

SERVICES: list[type[Any]] = [
    *(AccessService, BotService, CatalogueService, HostingService),
    *(LadderService, MatchService, ServerService, TournamentService),
]
OF_GRPC = {"handlers.py", "health.py", "play.py"}
"""The modules that meet gRPC: the others are called without it."""


@pytest.mark.parametrize("service", SERVICES)
def test_each_method_of_the_contract_takes_caller_and_request(service: type[Any]) -> None:
    (full_name,) = [name for name in CONTRACT if name.endswith(f".{service.__name__}")]
    for method in descriptor_pool.Default().FindServiceByName(full_name).methods:
        _, caller, request = inspect.signature(getattr(service, method.name)).parameters.values()
        assert (caller.name, caller.annotation) == ("caller", "Principal"), method.name
        assert request.name == ("requests" if method.client_streaming else "request"), method.name


def test_services_look_for_no_caller_of_their_own() -> None:
    """What a handler answers depends on its arguments, not on what the gate has noted elsewhere."""
    for path in sorted(Path(api.__path__[0]).glob("*.py")):
        names = {
            node.id for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Name)
        }
        assert path.name in OF_GRPC or not names & {"principal", "principal_variable", "grpc"}, path.name
