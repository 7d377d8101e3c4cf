"""Tournaments: schedules, ratings, the store, the runner, and the command `tournament`."""
