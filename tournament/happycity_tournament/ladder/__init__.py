"""The ladder: its configuration, ratings and pairing, and what results say. No clock, no server, no store."""
