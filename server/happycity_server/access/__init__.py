"""Who may call what, and how often: tokens, roles and limits, checked once at the start of each call."""
