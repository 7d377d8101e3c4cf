"""Happy City in other worlds: OpenSpiel, PettingZoo, Gymnasium, and bots from there in the arena."""
