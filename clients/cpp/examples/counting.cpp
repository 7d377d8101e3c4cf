#include <happycity/happycity.h>

#include <cstdio>
#include <map>
#include <random>

// A bot plays one game, so its members are the memory of that game.
class Counting : public happycity::Bot {
 public:
  explicit Counting(const happycity::GameStarted& started)
      : seat_(started.seat()), random_(started.seed()) {}  // a match that is played again goes the same way

  std::size_t choose(const happycity::Decision& decision) override {
    for (const happycity::Event& event : decision.events()) {
      if (event.kind() == happycity::v1::EVENT_KIND_DRAW) {
        seen_[event.card()]++;
      }
    }
    return random_() % decision.moves().size();
  }

  void game_over(const happycity::GameOver& over) override {
    const auto& own = over.outcome().result().seats(seat_);
    std::printf("place %u with %u points; saw %zu cards\n", own.place(), own.points(), seen_.size());
  }

 private:
  int seat_;
  std::mt19937_64 random_;
  std::map<happycity::Card, int> seen_;
};

int main() {
  return happycity::run<Counting>();
}
