"""A bot that asks a language model for its moves."""
