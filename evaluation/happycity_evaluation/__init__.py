"""What positions, moves and draws are worth: for reference bots, playouts, analyses and luck."""

from happycity.compiled import check_compiled

check_compiled(__path__[0])
