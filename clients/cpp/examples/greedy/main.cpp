// Plays with a rule of thumb: whatever gains most at once. It decides as the arena's reference bot of this name does.
#include "greedy.h"

int main() {
  return happycity::run(greedy, {.games = happycity::any_number});
}
