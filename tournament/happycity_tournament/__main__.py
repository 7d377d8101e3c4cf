"""`python -m happycity_tournament`: the same as the command `tournament`."""

from happycity_tournament.cli.app import main

if __name__ == "__main__":
    main()
