"""The forward model for bots: worlds sampled from a view, and playouts in worker processes."""
