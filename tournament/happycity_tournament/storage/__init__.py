"""Where games are kept: the store of a server, and the files and stores that games are read from."""
