"""The command `tournament`, also as `python -m happycity_tournament`."""

from happycity_tournament.cli.app import main

if __name__ == "__main__":
    main()
