"""How the champion's network is trained: `python -m tools --compiled train`."""
