#include "happycity/play.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backoff.h"
#include "connection.h"
#include "credentials.h"
#include "session.h"
#include "text.h"
#include "worker_streams.h"

namespace happycity {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Bots that still think when there is nothing left to play have so long to return.
constexpr milliseconds closing_time = std::chrono::seconds(1);

/// One connection after the other, until one of them ends for good.
class Session {
 public:
  Session(const Settings& settings, std::shared_ptr<Player> player, OnWelcome on_welcome)
      : settings_(settings),
        credentials_(credentials_of(settings)),
        player_(std::move(player)),
        on_welcome_(std::move(on_welcome)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { player_->close(); }

  /// Plays to the end. Throws ConnectionError.
  void run(const std::stop_token& stop) {
    deadline_ = Clock::now() + settings_.wait;
    for (;;) {
      const StreamStatus status = connect(stop);
      if (stop.stop_requested() || status.code == grpc::StatusCode::OK) {
        return;
      }
      if (!status.is_retryable()) {
        status.throw_refused(settings_);
      }
      const milliseconds pause = std::max(backoff_.next(), status.retry_after.value_or(milliseconds(0)));
      if (Clock::now() + pause >= deadline_) {
        give_up(status);
        return;
      }
      if (!std::exchange(is_searching_, true)) {
        log(Level::warning, status.text + "; trying again");
      }
      sleep(stop, pause);
    }
  }

 private:
  /// Plays on one connection, and returns how it ended.
  StreamStatus connect(const std::stop_token& stop) {
    Connection connection(settings_, credentials_, *player_, on_welcome_);
    StreamStatus status = connection.run(hello(), stop);
    if (connection.welcome().has_value()) {
      token_ = connection.welcome()->resume_token();
      deadline_ = Clock::now() + settings_.reconnect;
      is_searching_ = false;
    }
    if (connection.received() > 1) {  // a server that only welcomes and drops bots is not to be hammered
      backoff_.reset();
    }
    if (connection.welcome().has_value() || !status.reason.empty()) {
      is_shut_down_ = status.reason == "SHUTTING_DOWN";
    }
    return status;
  }

  v1::Hello hello() const {
    v1::Hello hello;
    hello.set_name(valid_utf8(settings_.name));
    if (*settings_.games != unlimited) {
      hello.set_max_games(*settings_.games);
    }
    hello.set_software(std::string("happycity-cpp/") + version());
    hello.mutable_info()->set_author(valid_utf8(settings_.info.author));
    hello.mutable_info()->set_version(valid_utf8(settings_.info.version));
    hello.mutable_info()->set_language(valid_utf8(settings_.info.language));
    hello.mutable_info()->set_description(valid_utf8(settings_.info.description));
    hello.set_resume_token(token_);
    if (!token_.empty()) {
      for (const std::int64_t id : player_->match_ids()) {
        hello.add_match_ids(id);
      }
    }
    return hello;
  }

  /// Ends the search for a server. It is no error if the server ended the session in good order.
  void give_up(const StreamStatus& status) const {
    if (!is_shut_down_) {
      status.throw_lost(settings_);
    }
    log(Level::info, "the server has shut down");
  }

  void log(Level level, const std::string& text) const { settings_.log(level, settings_.name + ": " + text); }

  static void sleep(const std::stop_token& stop, milliseconds pause) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(lock, stop, pause, [] { return false; });
  }

  const Settings& settings_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  const std::shared_ptr<Player> player_;
  const OnWelcome on_welcome_;
  Backoff backoff_;
  std::string token_;           // to resume with
  Clock::time_point deadline_;  // when the search for a server ends
  bool is_shut_down_ = false;   // whether the server that spoke last said that it shuts down
  bool is_searching_ = false;   // whether it was logged that the server is gone
};

}  // namespace

const char* version() {
  return HAPPYCITY_VERSION;
}

Ending play_to_the_end(Factory factory, const Settings& in_code, const std::stop_token& stop) {
  Ending ending;
  std::shared_ptr<Pool> pool;
  try {
    const Settings settings = in_code.with_environment();
    pool = std::make_shared<Pool>(settings.thinkers);
    const auto shared = std::make_shared<Factory>(std::move(factory));
    const auto new_player = [&] {
      const auto new_bot = [shared](const GameStarted& started) { return (*shared)(started); };
      return std::make_shared<Player>(new_bot, settings.log, pool);
    };
    WorkerStreams workers(settings, [&](const Settings& of_worker, const std::stop_token& stop_worker) {
      Session(of_worker, new_player(), [](const v1::Welcome&) {}).run(stop_worker);
    });
    const auto follow = [&](const v1::Welcome& welcome) {
      workers.follow({welcome.worker_addresses().begin(), welcome.worker_addresses().end()});
    };
    Session(settings, new_player(), follow).run(stop);
    if (stop.stop_requested()) {
      settings.log(Level::info, settings.name + ": stopped");
    }
  } catch (...) {
    ending.error = std::current_exception();
  }
  if (pool != nullptr) {
    ending.is_quiet = pool->wait(closing_time);
  }
  return ending;
}

void play(Factory factory, Settings settings, std::stop_token stop) {
  if (const Ending ending = play_to_the_end(std::move(factory), settings, stop); ending.error) {
    std::rethrow_exception(ending.error);
  }
}

}  // namespace happycity
