"""Generated from proto/happycity/hosting."""
