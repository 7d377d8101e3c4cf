// For the tests of all SDKs: does in each game what the names of the other bots say.
#include <happycity/happycity.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

class Scenario : public happycity::Bot {
 public:
  explicit Scenario(const happycity::GameStarted& started) : others_(started.bots().begin(), started.bots().end()) {
    if (started.seat() < others_.size()) {
      others_.erase(others_.begin() + started.seat());
    }
    fail_if("crash-start");
  }

  std::size_t choose(const happycity::Decision& decision) override {
    fail_if("crash-choose");
    if (has("slow")) {
      std::this_thread::sleep_for(std::chrono::seconds(2));
    }
    if (has("note")) {
      decision.note("depth", 3);
      decision.note("nodes", 1200.5);
    }
    return has("illegal") ? 99 : has("first") ? 0 : decision.moves().size() - 1;
  }

  void game_over(const happycity::GameOver& over) override {
    print("over", over.match_id());
    fail_if("crash-over");
  }

  void game_voided(std::int64_t match_id, happycity::VoidReason) override { print("void", match_id); }

 private:
  bool has(const std::string& name) const { return std::ranges::find(others_, name) != others_.end(); }

  void fail_if(const std::string& name) const {
    if (has(name)) {
      throw std::runtime_error("scenario");
    }
  }

  static void print(const char* end, std::int64_t match_id) {
    std::printf("%s %lld\n", end, static_cast<long long>(match_id));
    std::fflush(stdout);
  }

  std::vector<std::string> others_;
};

int main() {
  happycity::Settings settings{.thinkers = 8};  // a slow bot holds up no other game
  if (const char* seconds = std::getenv("HAPPYCITY_RECONNECT")) {
    settings.reconnect = std::chrono::milliseconds(static_cast<long>(1000 * std::stod(seconds)));
  }
  return happycity::run<Scenario>(settings);
}
