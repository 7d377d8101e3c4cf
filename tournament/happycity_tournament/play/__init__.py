"""Playing a tournament to its end, on any host that plays single games."""
