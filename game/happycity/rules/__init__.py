"""The rules engine: cards, deals, moves, games. No I/O but its card tables, no clock, no own randomness."""
