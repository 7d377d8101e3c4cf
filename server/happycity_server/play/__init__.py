"""Playing: bots' connections and sessions, the lobby, matches and their referee. No RPC, no store."""
