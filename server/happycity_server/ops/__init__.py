"""What an operator sees and sets: counters, metrics, logs, TLS and addresses."""
