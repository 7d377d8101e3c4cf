"""The tournaments of this server: played in its lobby, kept in its store, and fed to their watchers."""
