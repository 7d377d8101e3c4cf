#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "happycity/settings.h"
#include "happycity/v1/play_service.grpc.pb.h"
#include "outbox.h"
#include "player.h"
#include "stream_status.h"

namespace happycity {

/// How long the server has to end the stream after a goodbye. Only tests change it: on a busy machine their bots may be
/// slow.
inline std::chrono::milliseconds goodbye_time = std::chrono::seconds(1);

/// Called with each welcome.
using OnWelcome = std::function<void(const v1::Welcome&)>;

/// One stream to the server, from the hello to its end.
///
/// gRPC's threads call with the batches. The thread that makes a message due writes it, or it is written when the one
/// before it is out. The thread that calls run() does the rest: what is due later, silence, and the goodbye.
class Connection final : private grpc::ClientBidiReactor<v1::PlayRequest, v1::PlayResponse> {
 public:
  Connection(const Settings& settings, std::shared_ptr<grpc::ChannelCredentials> credentials, Player& player,
             const OnWelcome& on_welcome);

  /// Plays until the stream ends, and returns how it did. When a stop is requested, it says goodbye first.
  StreamStatus run(const v1::Hello& hello, const std::stop_token& stop);

  /// Returns what the server said to the hello, if it did. To be called after run(), as is the next one.
  const std::optional<v1::Welcome>& welcome() const { return welcome_; }

  /// Returns how many messages the server sent.
  int received() const { return received_; }

 private:
  using Clock = Outbox::Clock;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  std::shared_ptr<grpc::Channel> open();
  void watch(const std::stop_token& stop);
  void leave();
  void take_batch();
  void greet();
  void break_off(const std::string& text);
  void send();
  void write();
  void wake_by(Clock::time_point time);
  void stop_writing();
  void let_go();

  const Settings& settings_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  Player& player_;
  const OnWelcome& on_welcome_;
  Outbox out_{[this] { send(); }};

  grpc::ClientContext context_;
  v1::PlayResponse batch_;   // being read, or taken apart
  v1::PlayRequest request_;  // being written

  // All below is guarded by the mutex. It may be locked while that of Player is, not vice versa.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<v1::Welcome> welcome_;
  int received_ = 0;
  bool is_writing_ = false;
  bool is_closed_ = false;  // to further writing
  bool is_held_ = false;    // for those that may write
  bool is_leaving_ = false;
  Clock::time_point patience_;               // when the server is given up
  Clock::time_point alarm_ = Outbox::never;  // when run() wakes up next
  std::optional<grpc::Status> verdict_;      // why this side broke the stream off, if it did
  std::optional<grpc::Status> status_;       // how the stream ended
};

}  // namespace happycity
