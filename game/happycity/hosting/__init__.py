"""Generated from proto/happycity/model."""
