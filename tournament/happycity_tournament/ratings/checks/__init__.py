"""Checks of the rating model: whether the games look as they would if the model held."""
