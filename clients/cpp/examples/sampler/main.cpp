#include <happycity/channel.h>

#include <cstdio>

#include "sampler.h"

int main() {
  try {
    const auto simulations = happycity::v1::SimulationService::NewStub(happycity::open_channel());
    std::timed_mutex turn;
    const auto new_bot = [&](const happycity::GameStarted&) { return std::make_unique<Sampler>(*simulations, turn); };
    // Games mostly wait for the server, so they may be more than there are cores.
    return happycity::run(new_bot, {.thinkers = 8});
  } catch (const happycity::SettingError& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
