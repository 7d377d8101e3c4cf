#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "happycity/happycity.h"
#include "pauses.h"
#include "player.h"
#include "session.h"
#include "text.h"

namespace happycity {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void sleep(milliseconds pause, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, pause, [] { return false; });
}

/// Plays one session after the other, until one of them ends for good. Throws Error.
void play_sessions(Player& player, const Settings& settings, const std::stop_token& stop) {
  // gRPC logs the errors that it returns, too. The environment can turn that on.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  const Setup setup = setup_of(settings);
  player.start(settings.thinkers);
  std::mt19937 random{std::random_device{}()};
  v1::Hello hello = setup.hello;
  Pauses pauses(settings.reconnect);
  bool is_shutting_down = false;
  for (;;) {
    const SessionEnd end = play_session(setup, player, hello, stop);
    if (!end.error.has_value() || stop.stop_requested()) {
      return;
    }
    const Error& error = *end.error;
    if (end.welcome.has_value()) {
      hello.set_resume_token(end.welcome->resume_token());
      is_shutting_down = false;
    }
    is_shutting_down |= end.is_shutting_down;
    if (!end.retry_after.has_value() || !hello.has_resume_token()) {
      throw error;
    }
    const Clock::time_point now = Clock::now();
    const double share = std::uniform_real_distribution<>()(random);
    const auto pause = pauses.next(now, end.received, *end.retry_after, share);
    if (!pause.has_value()) {
      const auto seconds = (now - pauses.lost_at()) / std::chrono::seconds(1);
      if (is_shutting_down) {
        log("INFO", "the server has shut down");
        return;
      }
      if (seconds == 0) {
        throw error;
      }
      throw Error("no connection to " + setup.server + " for " + std::to_string(seconds) + " s: " + error.what(),
                  error.reason());
    }
    if (end.welcome.has_value()) {
      log("WARNING", std::string(error.what()) + "; trying again");
    }
    sleep(*pause, stop);
  }
}

std::atomic_flag signal_came;

/// Wakes the thread that waits for a signal. The functions of std::atomic_flag may be called in a handler.
extern "C" void wake(int) {
  signal_came.test_and_set();
  signal_came.notify_all();
}

}  // namespace

Factory stateless(Choose choose) {
  struct Stateless final : Bot {
    explicit Stateless(std::shared_ptr<const Choose> choose) : choose_(std::move(choose)) {}
    std::size_t choose(const Decision& decision) override { return (*choose_)(decision); }
    const std::shared_ptr<const Choose> choose_;
  };
  return [shared = std::make_shared<const Choose>(std::move(choose))](const GameStarted&) {
    return std::make_unique<Stateless>(shared);
  };
}

void play(Factory factory, const Settings& settings, std::stop_token stop) {
  const auto player = std::make_shared<Player>(std::move(factory));
  const std::shared_ptr<void> closing(nullptr, [&](void*) { player->close(); });  // also after an error
  play_sessions(*player, settings, stop);
}

int run(Factory factory, const Settings& settings) {
  signal_came.clear();
  std::signal(SIGINT, wake);
  std::signal(SIGTERM, wake);
  std::stop_source stop;
  std::thread([stop]() mutable {
    signal_came.wait(false);
    stop.request_stop();
  }).detach();
  const auto player = std::make_shared<Player>(std::move(factory));
  std::optional<Error> error;
  try {
    play_sessions(*player, settings, stop.get_token());
  } catch (const Error& thrown) {
    error = thrown;
  }
  const bool is_quiet = player->close();
  if (error.has_value()) {
    std::fprintf(stderr, "error: %s\n", error->what());
  }
  const int status = error.has_value() ? error->exit_status() : 0;
  if (!is_quiet) {
    // A bot that still thinks may use what the normal exit would destroy.
    std::fflush(nullptr);
    std::_Exit(status);
  }
  return status;
}

}  // namespace happycity
