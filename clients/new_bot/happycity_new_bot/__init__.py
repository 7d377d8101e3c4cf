"""Projects for new bots, in any language."""
