"""Ratings, pure and without I/O: live Elo, the final model with its errors, and the sequential test."""
