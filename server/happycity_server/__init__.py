"""The game server: referees, sessions, lobby and the gRPC services around them."""
