#include <happycity/happycity.h>

#include <algorithm>

// Buys the most expensive card on offer, and takes any special.
std::size_t choose(const happycity::Decision& decision) {
  const auto price = [](const happycity::Move& move) {
    return move.kind() == happycity::v1::MOVE_KIND_TAKE ? 100 : std::max(0, -move.coins());
  };
  // The first move, which is best if nothing has a price, is always the neutral one.
  const auto& moves = decision.moves();
  return std::ranges::max_element(moves, {}, price) - moves.begin();
}

int main() {
  return happycity::run(choose);
}
