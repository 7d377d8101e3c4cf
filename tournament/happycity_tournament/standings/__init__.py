"""What the games of a tournament show: which of them count, and the stats of bots that follow."""
