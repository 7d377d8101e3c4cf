// Searches with the native engine: plays moves out in sampled worlds, good ones most often.
//
// Sequential halving: the playouts of a decision are shared among a few stages, and after each the worse half of the
// moves is dropped. All moves are tried in the same worlds, so that luck cancels out. The worlds' seeds count up
// from the game's, so `happycity ask` repeats each choice.
#include <happycity/happycity.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

// Playouts of all moves of a decision together, at most.
constexpr std::size_t playouts = 800;

class Searcher : public happycity::Bot {
 public:
  explicit Searcher(const happycity::GameStarted& started) : seed_(started.seed()) {}

  std::size_t choose(const happycity::Decision& decision) override {
    std::vector<double> worth(decision.moves().size());
    std::vector<std::size_t> alive(worth.size());
    std::iota(alive.begin(), alive.end(), 0);
    const std::size_t stages = std::bit_width(alive.size() - 1);
    std::uint64_t seed = seed_;
    for (std::size_t stage = 0; stage < stages; stage++) {
      for (std::size_t world = 0; world < playouts / (stages * alive.size()); world++) {
        seed++;
        try_moves(decision.position(seed), alive, worth);
      }
      std::stable_sort(alive.begin(), alive.end(), [&](auto one, auto other) { return worth[one] > worth[other]; });
      alive.resize((alive.size() + 1) / 2);
    }
    return alive.front();
  }

 private:
  // Adds to each move's worth what it is worth in one more world.
  static void try_moves(const happycity::Position& world, const std::vector<std::size_t>& alive,
                        std::vector<double>& worth) {
    const std::vector<std::uint8_t> legal = world.legal_moves();
    std::vector<std::uint8_t> moves;
    for (const std::size_t move : alive) {
      moves.push_back(legal[move]);
    }
    const std::vector<double> values = world.playouts(moves);
    for (std::size_t i = 0; i < alive.size(); i++) {
      worth[alive[i]] += values[i];
    }
  }

  std::uint64_t seed_;
};

int main() {
  return happycity::run<Searcher>();
}
