"""The game server: referees, sessions, lobby and the gRPC services around them."""

from happycity.compiled import check_compiled

check_compiled(__path__[0])
