"""Between a server and its workers: internal, without any promise."""
