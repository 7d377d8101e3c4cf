"""The arena in a browser: pages of what a server plays and has played."""
