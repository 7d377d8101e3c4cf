#include "sampler.h"

#include <happycity/channel.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace v1 = happycity::v1;

namespace {

/// Playouts of each move. The standard error of a mean of 40 is some 5 points; the differences between moves are more
/// exact, as all moves are tried in the same worlds.
constexpr unsigned playouts = 40;
/// How long a call may take for which the decision sets no limit.
constexpr std::chrono::minutes longest_call{1};

/// Returns by how much a seat's points exceed those of the best other one.
double lead(const v1::RolloutResult& result, int seat) {
  double most = 0;
  for (int other = 0; other < result.seats_size(); other++) {
    if (other != seat) {
      most = std::max(most, result.seats(other).points_mean());
    }
  }
  return result.seats().at(seat).points_mean() - most;
}

}  // namespace

std::size_t Sampler::choose(const happycity::Decision& decision) {
  // The answer needs some of the time too.
  const auto until = Clock::now() + decision.time_left().value_or(longest_call) * 3 / 4;
  v1::RolloutRequest request;
  v1::Line& line = *request.add_lines();
  *line.mutable_view() = decision.view();
  line.set_seed(decision.decision_id());
  request.set_playouts(playouts);
  request.set_policy(v1::PLAYOUT_POLICY_QUICK);
  request.set_each_move(true);

  const v1::RolloutResponse response = rollout(request, until);
  const auto& results = response.results();
  if (results.empty()) {
    return 0;
  }
  if (results.size() != decision.moves().size()) {
    throw std::runtime_error("playouts of " + std::to_string(results.size()) + " moves instead of " +
                             std::to_string(decision.moves().size()));
  }
  const auto lead_after = [&](const v1::RolloutResult& result) { return lead(result, decision.seat()); };
  const auto best = std::ranges::max_element(results, {}, lead_after);
  decision.note("playouts", playouts);
  decision.note("lead", lead_after(*best));
  return best - results.begin();
}

/// Asks for playouts, and again later if the server is asked too often. Returns none if there are none in time.
v1::RolloutResponse Sampler::rollout(const v1::RolloutRequest& request, Clock::time_point until) {
  v1::RolloutResponse response;
  std::unique_lock turn(turn_, until);
  while (turn.owns_lock()) {
    grpc::ClientContext context;
    context.set_deadline(until);
    const grpc::Status status = simulations_.Rollout(&context, request, &response);
    const auto pause = happycity::retry_after(status);
    if (status.ok()) {
      break;
    }
    if (!pause.has_value() || Clock::now() + *pause >= until) {
      std::fprintf(stderr, "no simulations: status %d\n", status.error_code());
      break;
    }
    std::this_thread::sleep_for(*pause);
  }
  return response;
}
