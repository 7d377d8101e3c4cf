"""`python -m happycity_tournament`: the same as the command `tournament`."""

from happycity_tournament.cli import main

if __name__ == "__main__":
    main()
