"""Generated from proto/happycity/gateway."""
