"""Programs that participants have submitted, wherever they run: their files by digest, and the sandbox."""
