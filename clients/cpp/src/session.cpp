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

namespace happycity {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Bots that still think when there is nothing left to play have so long to return.
constexpr milliseconds last_thoughts = std::chrono::seconds(1);

/// One connection after the other, until one of them ends for good.
class Session {
 public:
  Session(const Settings& settings, std::shared_ptr<grpc::ChannelCredentials> credentials, Games& games)
      : settings_(settings), credentials_(std::move(credentials)), games_(games) {}

  /// Plays to the end. Throws ConnectionError.
  void run(const std::stop_token& stop) {
    deadline_ = Clock::now() + settings_.wait;
    for (;;) {
      const Parting parting = connect(stop);
      if (stop.stop_requested()) {
        settings_.log(Level::info, settings_.name + " is stopped");
        return;
      }
      if (parting.code == grpc::StatusCode::OK && !parting.unusable) {
        return;
      }
      if (!parting.is_passing()) {
        parting.throw_refused(settings_);
      }
      const milliseconds pause = std::max(backoff_.next(), parting.retry_after);
      if (Clock::now() + pause >= deadline_) {
        give_up(parting);
        return;
      }
      tell_search(parting);
      sleep(stop, pause);
    }
  }

 private:
  /// Plays on one connection, and tells how that ended.
  Parting connect(const std::stop_token& stop) {
    Connection connection(settings_, credentials_, games_);
    const Parting parting = connection.run(hello(), stop);
    if (connection.welcome().has_value()) {
      token_ = connection.welcome()->resume_token();
      deadline_ = Clock::now() + settings_.reconnect;
      is_searching_ = false;
    }
    if (connection.heard() > 1) {  // a server that only welcomes and drops bots is not to be hammered
      backoff_.reset();
    }
    if (connection.welcome().has_value() || !parting.reason.empty()) {
      is_shut_down_ = parting.reason == "SHUTTING_DOWN";
    }
    return parting;
  }

  v1::Hello hello() const {
    v1::Hello hello;
    hello.set_name(readable(settings_.name));
    hello.set_protocol_version(protocol_version);
    hello.set_max_games(*settings_.games);
    hello.set_software(std::string("happycity-cpp/") + version());
    hello.set_resume_token(token_);
    if (!token_.empty()) {
      for (const std::uint64_t id : games_.known()) {
        hello.add_games(id);
      }
    }
    return hello;
  }

  void tell_search(const Parting& parting) {
    if (!is_searching_) {
      is_searching_ = true;
      settings_.log(Level::warning, "no connection, trying again: " + parting.text);
    }
  }

  /// Ends the search for a server. It is no error if that parted in good order.
  void give_up(const Parting& parting) const {
    if (!is_shut_down_) {
      parting.throw_lost(settings_);
    }
    settings_.log(Level::info, "the server has shut down");
  }

  static void sleep(const std::stop_token& stop, milliseconds pause) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(lock, stop, pause, [] { return false; });
  }

  const Settings& settings_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  Games& games_;
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

Ending play_to_the_end(Factory factory, const Settings& given, const std::stop_token& stop) {
  Ending ending;
  std::shared_ptr<Games> games;
  try {
    const Settings settings = given.with_environment();
    const auto credentials = credentials_of(settings);
    games = std::make_shared<Games>(std::move(factory), settings.log, settings.thinkers);
    Session(settings, credentials, *games).run(stop);
  } catch (...) {
    ending.error = std::current_exception();
  }
  if (games != nullptr) {
    games->close();
    ending.is_quiet = games->wait(last_thoughts);
  }
  return ending;
}

void play(Factory factory, Settings settings, std::stop_token stop) {
  if (const Ending ending = play_to_the_end(std::move(factory), settings, stop); ending.error) {
    std::rethrow_exception(ending.error);
  }
}

}  // namespace happycity
