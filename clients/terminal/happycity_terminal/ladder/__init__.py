"""The command `happycity ladder`: what a server's ladder shows, and what authors and organisers ask of it."""
