"""Happy City for learners: self-play, data sets, OpenSpiel, PettingZoo, Gymnasium, and policies as bots."""

from happycity.compiled import check_compiled

check_compiled(__path__[0])
