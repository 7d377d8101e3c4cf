"""The server as a process: its sockets, certificates, log, and the bots that it starts."""
