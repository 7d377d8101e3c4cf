"""How the champion's network is trained: `make train`."""
