"""What the games of a tournament show: which of them count, and the figures of bots that follow."""
