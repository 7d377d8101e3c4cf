#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <system_error>
#include <thread>

#include "happycity/happycity.h"
#include "player.h"
#include "session.h"
#include "setup.h"
#include "text.h"

namespace happycity {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{5000};

void sleep(milliseconds pause, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, pause, [] { return false; });
}

/// Plays one session after the other, until one of them ends for good. Throws Error.
void play_sessions(const Setup& setup, Player& player, const std::stop_token& stop) {
  std::mt19937 random{std::random_device{}()};
  v1::Hello hello = setup.hello;
  auto since = Clock::now();  // the search for a server
  milliseconds patience = setup.wait, bound = first_pause;
  bool is_welcomed = false, is_shutting_down = false, is_logged = false;
  for (;;) {
    Session session(setup, player);
    const std::optional<Failure> failure = session.run(hello, stop);
    if (!failure.has_value() || stop.stop_requested()) {
      return;
    }
    const auto& [error, retry_after, is_wrong_scheme] = *failure;
    if (session.is_welcomed()) {
      hello.set_resume_token(session.resume_token());
      since = Clock::now();
      patience = setup.reconnect;
      is_welcomed = true;
      is_shutting_down = is_logged = false;
    }
    if (session.made_progress()) {  // a server that only welcomes and drops bots is not to be hammered
      bound = first_pause;
    }
    is_shutting_down |= session.is_shutting_down() || error.reason() == "SHUTTING_DOWN";
    if (!retry_after.has_value() || (is_wrong_scheme && !is_welcomed)) {
      throw error;
    }
    const auto searched = std::chrono::floor<milliseconds>(Clock::now() - since);
    const milliseconds left = patience - searched;
    if (left.count() <= 0 || *retry_after > left) {
      if (!is_welcomed) {
        throw error;
      }
      if (is_shutting_down) {
        return;
      }
      const std::string seconds = std::to_string(searched / std::chrono::seconds(1));
      throw Error("no connection to " + setup.server + " for " + seconds + " s: " + error.what(), error.reason());
    }
    if (!std::exchange(is_logged, true)) {
      log("WARNING", std::string(error.what()) + "; trying again");
    }
    // The random share spreads the bots of a server that was restarted. The last attempt is when the time is over.
    const milliseconds pause(std::uniform_int_distribution<milliseconds::rep>(0, bound.count())(random));
    sleep(std::max(*retry_after, std::min(pause, left)), stop);
    bound = std::min(2 * bound, longest_pause);
  }
}

/// Plays, and returns whether all bots returned, and the error if there was one.
std::pair<bool, std::optional<Error>> play_to_the_end(Factory factory, const Settings& settings,
                                                      const std::stop_token& stop) {
  // gRPC logs the errors that it returns, too. The environment can turn that on.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  std::optional<Error> error;
  std::shared_ptr<Player> player;
  try {
    const Setup setup = setup_of(settings);
    player = std::make_shared<Player>(std::move(factory), setup.thinkers);
    for (unsigned i = 0; i < setup.thinkers; i++) {
      std::thread([player] { player->work(); }).detach();
    }
    play_sessions(setup, *player, stop);
  } catch (const Error& thrown) {
    error = thrown;
  }
  const bool is_quiet = player == nullptr || player->close();
  return {is_quiet, error};
}

/// Calls the one function that plays all games.
class Stateless final : public Bot {
 public:
  explicit Stateless(std::shared_ptr<const Choose> choose) : choose_(std::move(choose)) {}

  std::size_t choose(const Decision& decision) override { return (*choose_)(decision); }

 private:
  std::shared_ptr<const Choose> choose_;
};

std::array<int, 2> signal_pipe;

/// Wakes the thread that waits for a signal. Few functions may be called in a handler; write is one of them.
extern "C" void wake(int) {
  const int error = errno;
  [[maybe_unused]] const auto written = write(signal_pipe[1], "", 1);
  errno = error;
}

}  // namespace

void play(Factory factory, const Settings& settings, std::stop_token stop) {
  if (const auto [is_quiet, error] = play_to_the_end(std::move(factory), settings, stop); error.has_value()) {
    throw *error;
  }
}

Factory stateless(Choose choose) {
  auto shared = std::make_shared<const Choose>(std::move(choose));
  return [shared = std::move(shared)](const GameStarted&) { return std::make_unique<Stateless>(shared); };
}

int run(Factory factory, const Settings& settings) {
  if (pipe(signal_pipe.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "a pipe for signals");
  }
  for (const int end : signal_pipe) {
    fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  std::stop_source stop;
  std::thread listener([&stop] {
    char byte = 0;
    while (read(signal_pipe[0], &byte, 1) < 0 && errno == EINTR) {
    }
    stop.request_stop();
  });
  std::signal(SIGINT, wake);
  std::signal(SIGTERM, wake);
  const auto [is_quiet, error] = play_to_the_end(std::move(factory), settings, stop.get_token());
  wake(0);
  listener.join();
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
