#pragma once

#include <happycity/happycity.h>
#include <happycity/v1/simulation_service.grpc.pb.h>

#include <chrono>
#include <cstddef>
#include <mutex>

/// Has the server play each of its moves out in many sampled worlds, and plays the one after which it ends furthest
/// ahead. It knows none of the rules.
class Sampler : public happycity::Bot {
 public:
  using Simulations = happycity::v1::SimulationService::StubInterface;

  /// `turn` is held by the game that calls: if all of them called at once, each might be refused again and again.
  Sampler(Simulations& simulations, std::timed_mutex& turn) : simulations_(simulations), turn_(turn) {}

  /// Plays the move that ends best on average; if the server doesn't simulate in time, the neutral one.
  std::size_t choose(const happycity::Decision& decision) override;

 private:
  using Clock = std::chrono::system_clock;

  happycity::v1::RolloutResponse rollout(const happycity::v1::RolloutRequest& request, Clock::time_point until);

  Simulations& simulations_;
  std::timed_mutex& turn_;
};
