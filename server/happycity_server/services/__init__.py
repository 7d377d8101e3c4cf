"""The RPC services: decode the request, call, encode the response. No rules of the game or the arena."""
