"""A league of coding agents: agents edit bots in cycles, and all versions are rated on one scale."""
