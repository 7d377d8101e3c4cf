#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "happycity/errors.h"
#include "player.h"
#include "setup.h"

namespace happycity {

/// Why a session ended that did not end in good order, and whether another attempt may succeed.
struct Failure {
  Error error;
  /// How long to wait at least before another attempt; nothing if it is pointless.
  std::optional<std::chrono::milliseconds> retry_after = {};
  /// Whether only one side uses TLS.
  bool is_wrong_scheme = false;
};

/// Explains the status of a stream; `is_welcomed` tells whether the server had accepted the bot.
Failure failure_of(const Setup& setup, const grpc::Status& status, bool is_welcomed);

/// One stream to the server, from the hello to its end, on a connection of its own.
///
/// gRPC's threads call with the batches. A thread that has something to send writes it; while a write is under way, it
/// gathers for the next one.
///
/// Messages are bytes to gRPC: a message that can't be decoded would look like the end of the stream otherwise.
class Session final : private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Session(const Setup& setup, Player& player) : setup_(setup), player_(player) {}

  /// Plays until the stream ends, and returns why, unless it ended in good order. When a stop is requested, it says
  /// goodbye first.
  std::optional<Failure> run(const v1::Hello& hello, const std::stop_token& stop);

  // What the server has said, after run().
  bool is_welcomed() const { return is_welcomed_; }
  const std::string& resume_token() const { return resume_token_; }
  bool is_shutting_down() const { return is_shutting_down_; }
  /// Whether there was more than the welcome.
  bool made_progress() const { return received_ > 1; }

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  std::string take(v1::PlayResponse& batch);
  void greet(const v1::Welcome& welcome);
  void send(const v1::PlayRequest& part);
  void write();

  const Setup& setup_;
  Player& player_;
  grpc::ClientContext context_;
  grpc::ByteBuffer response_;  // being read
  grpc::ByteBuffer request_;   // being written

  // Of the threads that read, one after the other.
  int received_ = 0;
  std::string resume_token_;
  bool is_shutting_down_ = false;
  std::string breach_;  // how the server broke the protocol, if it did

  // Guarded by the mutex, which may be locked while that of Player is, not vice versa.
  std::mutex mutex_;
  std::condition_variable_any changed_;
  v1::PlayRequest gathered_;
  bool is_writing_ = false;
  bool is_closed_ = false;  // whether nothing more is to be sent
  bool is_welcomed_ = false;
  std::optional<grpc::Status> status_;  // how the stream ended
};

}  // namespace happycity
