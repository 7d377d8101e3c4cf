"""The ladder: its configuration, ratings, pairing, flags and store. No clock, no server, no network."""
