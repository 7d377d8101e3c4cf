"""Playing a tournament to its end, over a host that plays single games; the server is its only user."""
