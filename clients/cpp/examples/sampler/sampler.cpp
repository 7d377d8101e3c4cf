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

/// Playouts of each move, few enough for the quota of a server.
constexpr unsigned playouts = 40;
/// What plays the seats in the playouts.
constexpr const char* policy = "quick";
/// How long a call may take for which the decision sets no limit.
constexpr std::chrono::minutes longest_call{1};

/// Returns by how much a seat's points exceed those of the best other one.
double lead(const v1::RollOut& roll_out, int seat) {
  double most = 0;
  for (int other = 0; other < roll_out.points_mean_size(); other++) {
    if (other != seat) {
      most = std::max(most, roll_out.points_mean(other));
    }
  }
  return roll_out.points_mean(seat) - most;
}

}  // namespace

std::size_t Sampler::choose(const happycity::Decision& decision) {
  // The answer needs some of the time too.
  const std::chrono::milliseconds left(decision.clock().time_left_ms());
  const auto until = Clock::now() + (left.count() > 0 ? left * 3 / 4 : longest_call);
  v1::RollOutRequest request;
  v1::Line& line = *request.add_lines();
  *line.mutable_view() = decision.view();
  line.set_seed(decision.decision_id());
  request.set_playouts(playouts);
  request.set_policy(policy);
  request.set_each_move(true);

  const v1::RollOutResponse response = roll_out(request, until);
  if (response.roll_outs().empty()) {
    return 0;
  }
  if (response.roll_outs_size() != decision.moves_size()) {
    throw std::runtime_error(std::to_string(response.roll_outs_size()) + " roll outs of " +
                             std::to_string(decision.moves_size()) + " moves");
  }
  const auto& roll_outs = response.roll_outs();
  const auto lead_after = [&](const v1::RollOut& each) { return lead(each, static_cast<int>(decision.seat())); };
  const auto best = std::ranges::max_element(roll_outs, {}, lead_after);
  note("playouts", playouts);
  note("lead", lead_after(*best));
  return best - roll_outs.begin();
}

/// Asks for playouts, and again later if too many were asked for of late. Returns none if there are none in time.
v1::RollOutResponse Sampler::roll_out(const v1::RollOutRequest& request, Clock::time_point until) {
  v1::RollOutResponse response;
  std::unique_lock turn(turn_, until);
  while (turn.owns_lock()) {
    grpc::ClientContext context;
    context.set_deadline(until);
    const grpc::Status status = simulations_.RollOut(&context, request, &response);
    const auto pause = happycity::retry_after(status);
    if (status.ok()) {
      break;
    }
    if (!pause.has_value() || Clock::now() + *pause >= until) {
      std::fprintf(stderr, "no simulations: %s\n", status.error_message().c_str());
      break;
    }
    std::this_thread::sleep_for(*pause);
  }
  return response;
}
