// Plays any legal move, all equally likely.
#include <happycity/happycity.h>

#include <random>

// A bot draws all its randomness from the seed of its game, so a match that is played again goes the same way.
class Random : public happycity::Bot {
 public:
  explicit Random(const happycity::GameStarted& started) : random_(started.seed()) {}

  std::size_t choose(const happycity::Decision& decision) override {
    return std::uniform_int_distribution<std::size_t>(0, decision.moves().size() - 1)(random_);
  }

 private:
  std::mt19937_64 random_;
};

int main() {
  return happycity::run<Random>({.games = 0});
}
