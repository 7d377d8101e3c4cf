"""Positions, events and cards in words, for terminals and pages; nothing in the rules knows of it."""
