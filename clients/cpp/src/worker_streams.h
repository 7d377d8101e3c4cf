#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "happycity/settings.h"

namespace happycity {

/// Keeps a stream to each worker that the server's last welcome named, with a session and a thread of its own.
///
/// A stream that can't be opened is no reason to leave the server: the games are played there then.
class WorkerStreams {
 public:
  /// Plays on one server until the session there ends for good, or until a stop is requested.
  using Play = std::function<void(const Settings&, const std::stop_token&)>;

  /// The settings are those of the stream to the server.
  WorkerStreams(const Settings& settings, Play play);
  WorkerStreams(const WorkerStreams&) = delete;
  WorkerStreams& operator=(const WorkerStreams&) = delete;

  /// Ends all streams, and waits for their ends.
  ~WorkerStreams();

  /// Opens streams to the workers at these addresses, and ends those to others.
  ///
  /// A bot with a maximum number of games opens none, as it holds for all streams together.
  void follow(const std::set<std::string>& addresses);

 private:
  struct Stream {
    std::atomic<bool> has_ended = false;
    std::jthread thread;
  };

  std::unique_ptr<Stream> open(const std::string& address) const;
  void keep(const std::string& address, const std::stop_token& stop) const;

  const Settings& settings_;
  const Play play_;
  std::map<std::string, std::unique_ptr<Stream>> streams_;  // by address
  std::vector<std::unique_ptr<Stream>> left_;               // those that were stopped
};

}  // namespace happycity
