#include <happycity/happycity.h>

#include <cstdio>
#include <map>
#include <random>

// A bot plays one game, so its members are the memory of that game.
class Counting : public happycity::Bot {
 public:
  explicit Counting(const happycity::GameStarted& start)
      : seat_(start.seat()), random_(start.seed()) {}  // a match that is played again goes the same way

  std::size_t choose(const happycity::Decision& decision) override {
    for (const happycity::Event& event : decision.events()) {
      if (event.kind() == happycity::v1::EVENT_KIND_DRAW) {
        seen_[event.card()]++;
      }
    }
    return random_() % decision.moves_size();
  }

  void game_over(const happycity::GameOver& over) override {
    const auto& result = over.result();
    std::printf("place %u with %u points; saw %zu cards\n", result.places(seat_), result.outcome().points(seat_),
                seen_.size());
  }

 private:
  int seat_;
  std::mt19937_64 random_;
  std::map<happycity::Card, int> seen_;
};

int main() {
  return happycity::run<Counting>();
}
