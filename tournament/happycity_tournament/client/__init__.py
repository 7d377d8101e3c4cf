"""A run from outside: starts a server and bots as processes, dials a server, follows a tournament."""
