"""The bots that a run starts: who they are, and their processes."""
