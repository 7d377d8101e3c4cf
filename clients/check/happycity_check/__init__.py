"""The conformance kit: finds out whether a bot, in any language, speaks the protocol."""
