"""Generated from proto/happycity/gateway/v1beta1."""
