"""Generated from proto/happycity/tournament."""
