#include "happycity/bot.h"

#include <utility>

namespace happycity {
namespace {

/// Calls the one function that plays all games.
class Stateless final : public Bot {
 public:
  explicit Stateless(std::shared_ptr<const Choose> choose) : choose_(std::move(choose)) {}

  std::size_t choose(const Decision& decision) override { return (*choose_)(decision); }

 private:
  std::shared_ptr<const Choose> choose_;
};

}  // namespace

void Bot::game_over(const GameOver&) {}

void Bot::game_voided(std::int64_t, VoidReason) {}

Factory stateless(Choose choose) {
  auto shared = std::make_shared<const Choose>(std::move(choose));
  return [shared = std::move(shared)](const GameStarted&) { return std::make_unique<Stateless>(shared); };
}

}  // namespace happycity
