"""Shared ground of the programs: channels and TLS, the event loop, child processes.

Each module stands alone: a bot imports what it needs of them, and only that needs to be installed.
"""
