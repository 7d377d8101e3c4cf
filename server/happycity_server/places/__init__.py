"""Where matches are played: in this server's own lobby and by its workers, and all of it seen as one."""
