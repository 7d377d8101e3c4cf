"""Generated from proto/happycity/access."""
