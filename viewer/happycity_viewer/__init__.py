"""A game drawn as HTML: for the pages of a server, the replays of reports, and `happycity show --browser`."""
