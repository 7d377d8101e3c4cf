"""Bots without gRPC: any program that reads JSON lines and writes its moves."""

from happycity_bridge.bot import BridgedBot
from happycity_bridge.errors import AnswerError, ProgramEndedError, ProgramError
from happycity_bridge.troupe import Troupe

__all__ = ["AnswerError", "BridgedBot", "ProgramEndedError", "ProgramError", "Troupe"]
