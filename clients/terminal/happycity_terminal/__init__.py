"""What people do in a terminal: look at games, and play."""
