#include "happycity/bot.h"

#include <utility>

#include "game.h"

namespace happycity {
namespace {

/// Asks the one function that plays all games.
class Stateless final : public Bot {
 public:
  explicit Stateless(std::shared_ptr<const Choose> choose) : choose_(std::move(choose)) {}

  std::size_t choose(const Decision& decision) override { return (*choose_)(decision); }

 private:
  std::shared_ptr<const Choose> choose_;
};

}  // namespace

void Bot::game_over(const GameOver&) {}

void Bot::game_voided(VoidReason) {}

std::map<std::string, double> Bot::notes() const {
  const std::lock_guard lock(notes_mutex_);
  return notes_;
}

void Bot::note(std::string_view name, double number) {
  const std::lock_guard lock(notes_mutex_);
  notes_[readable(name)] = number;  // longer names than it leaves are none that the server keeps
}

/// Turns to another decision.
void Bot::begin(Clock::time_point deadline) {
  deadline_ = deadline;
  void_ = false;
  const std::lock_guard lock(notes_mutex_);
  notes_.clear();
}

Factory stateless(Choose choose) {
  auto shared = std::make_shared<const Choose>(std::move(choose));
  return [shared = std::move(shared)](const GameStarted&) { return std::make_unique<Stateless>(shared); };
}

}  // namespace happycity
