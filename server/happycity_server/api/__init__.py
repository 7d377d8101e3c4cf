"""gRPC's services: each method decodes, calls and encodes. What they decide stands in the packages below."""
