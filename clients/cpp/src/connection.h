#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "games.h"
#include "happycity/settings.h"
#include "happycity/v1/play_service.grpc.pb.h"
#include "outbox.h"
#include "parting.h"

namespace happycity {

/// The server has so long to end the stream after a goodbye. Tests give it longer, where a bot may be slow to say it.
inline std::chrono::milliseconds goodbye_time = std::chrono::seconds(1);

/// One stream to the server, from the hello to its end.
///
/// gRPC's threads bring the batches. Whoever makes a message due writes it, or it is written when the one before
/// it is out. The thread that calls run() does the rest: what is due later, silence, and the goodbye.
class Connection final : private grpc::ClientBidiReactor<v1::PlayRequest, v1::PlayResponse> {
 public:
  Connection(const Settings& settings, std::shared_ptr<grpc::ChannelCredentials> credentials, Games& games);

  /// Plays until the stream ends, and tells how it did. When a stop is requested, it says goodbye first.
  Parting run(const v1::Hello& hello, const std::stop_token& stop);

  /// Returns the server's answer to the hello, if it came. To be called after run(), as is the next one.
  const std::optional<v1::Welcome>& welcome() const { return welcome_; }

  /// Returns how many messages came.
  int heard() const { return heard_; }

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
  [[noreturn]] void refuse(const std::string& text) const;
  void send();
  void write();
  void wake_by(Clock::time_point time);
  void stop_writing();
  void let_go();

  const Settings& settings_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  Games& games_;
  Outbox out_;

  grpc::ClientContext context_;
  v1::PlayResponse batch_;       // being read, or taken apart
  v1::PlayRequest request_;      // being written
  std::exception_ptr unusable_;  // what is wrong with the server

  // All below is guarded by the mutex. It may be locked by those who have locked that of Games, not vice versa.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<v1::Welcome> welcome_;
  int heard_ = 0;
  bool is_writing_ = false;
  bool is_closed_ = false;  // to further writing
  bool is_held_ = false;    // by those who might write
  bool is_leaving_ = false;
  bool was_silent_ = false;
  Clock::time_point patience_;               // when the server is given up
  Clock::time_point alarm_ = Outbox::never;  // when run() looks after things next
  std::optional<grpc::Status> status_;       // how the stream ended
};

}  // namespace happycity
