"""Commitments before the first game, and published tournaments that anybody can recompute."""
