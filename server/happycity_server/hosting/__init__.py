"""Bots that participants submit: kept by their digests, tried, and played in a sandbox next to the server."""
