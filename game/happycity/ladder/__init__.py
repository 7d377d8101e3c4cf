"""Generated from proto/happycity/ladder."""
