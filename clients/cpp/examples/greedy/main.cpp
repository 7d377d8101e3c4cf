// Plays the move that gains most at once, by a rule of thumb. It decides as the reference bot of this name does.
#include "greedy.h"

int main() {
  return happycity::run(greedy, {.games = 0});
}
