"""`python -m happycity`: the same as the command `happycity`."""

from happycity_entry import happycity

if __name__ == "__main__":
    happycity()
