#include "session.h"

#include <google/protobuf/util/time_util.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "error_details.pb.h"
#include "text.h"

namespace happycity {
namespace {

using google::protobuf::util::TimeUtil;
using std::chrono::milliseconds;

/// How long the server may take to accept the bot.
constexpr std::chrono::seconds welcome_time{20};
/// How long the server may take to end the stream after a goodbye.
constexpr std::chrono::seconds goodbye_time{5};

/// Prepares a connection.
std::shared_ptr<grpc::Channel> channel_of(const Setup& setup) {
  grpc::ChannelArguments arguments;
  // A new stream must not come back to an old one's dead socket.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // The library alone decides what a lost connection means.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // The time for making a connection, less than for the welcome: then gRPC says what was wrong.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);
  // The only sign of life. The server allows a ping every 10 s.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // As many bytes as the server may send: any number of games can be in one batch.
  arguments.SetMaxReceiveMessageSize(64 << 20);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, setup.uses_proxy ? 1 : 0);
  const std::string scheme = setup.server.starts_with("unix:") ? "" : "dns:///";
  return grpc::CreateCustomChannel(scheme + setup.server, setup.credentials, arguments);
}

/// One stream to the server, from the hello to its end, on a connection of its own.
///
/// gRPC's threads call with the batches. A thread that has something to send writes it; while a write is under way, it
/// gathers for the next one.
///
/// Messages are bytes to gRPC: a message that can't be decoded would look like the end of the stream otherwise.
class Session final : private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Session(const Setup& setup, Player& player) : setup_(setup), player_(player) {}

  SessionEnd run(const v1::Hello& hello, const std::stop_token& stop) {
    grpc::GenericStub stub(channel_of(setup_));
    if (!setup_.token.empty()) {
      context_.AddMetadata("authorization", "Bearer " + setup_.token);
    }
    stub.PrepareBidiStreamingCall(&context_, "/happycity.v1.PlayService/Play", {}, this);
    v1::PlayRequest first, last;
    *first.mutable_hello() = hello;
    last.mutable_goodbye();
    send(first);
    StartRead(&response_);
    StartCall();

    std::unique_lock lock(mutex_);
    const auto is_over = [this] { return status_.has_value(); };
    changed_.wait_for(lock, stop, welcome_time, [&] { return end_.welcome.has_value() || is_over(); });
    if (end_.welcome.has_value() && !changed_.wait(lock, stop, is_over)) {
      lock.unlock();
      send(last);
      lock.lock();
      changed_.wait_for(lock, goodbye_time, is_over);
    }
    const bool is_silent = !is_over();
    lock.unlock();
    context_.TryCancel();  // has no effect on a stream that has ended
    lock.lock();
    changed_.wait(lock, is_over);
    lock.unlock();
    player_.disconnect();

    if (!breach_.empty()) {
      end_.error = Error(setup_.server + " broke the protocol: " + breach_, "", 1);
    } else if (is_silent) {
      const std::string text = "no welcome within " + std::to_string(welcome_time.count()) + " s";
      explain(grpc::Status(grpc::StatusCode::UNAVAILABLE, text));
    } else if (!status_->ok()) {
      explain(*status_);
    }
    return end_;
  }

 private:
  void OnReadDone(bool ok) override {
    if (ok) {
      breach_ = receive();
      if (breach_.empty()) {
        StartRead(&response_);
        return;
      }
      context_.TryCancel();
    }
    const std::lock_guard lock(mutex_);
    is_closed_ = true;  // from now on gRPC may end the stream at any time
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    if (ok) {  // else the reader gets the status
      write();
    }
  }

  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    changed_.notify_one();
  }

  /// Handles a batch, and returns what is in it against the protocol, if anything. Never waits for a bot, so pings are
  /// answered while bots think.
  std::string receive() {
    v1::PlayResponse batch;
    grpc::ProtoBufferReader reader(&response_);
    if (!batch.ParseFromZeroCopyStream(&reader)) {
      return "a message can't be decoded";
    }
    if (end_.received++ == 0) {
      if (!batch.has_welcome()) {
        return "its first message is not a welcome";
      }
      greet(batch.welcome());
    }
    if (batch.has_ping()) {
      v1::PlayRequest pong;
      pong.mutable_pong()->set_nonce(batch.ping().nonce());
      send(pong);
    }
    const auto is_complete = [](const v1::Decision& each) { return each.has_view() && !each.moves().empty(); };
    if (!std::ranges::all_of(batch.decisions(), is_complete)) {
      return "a decision without view or moves";
    }
    for (const v1::Notice& notice : batch.notices()) {  // about what happened before the other parts
      end_.is_shutting_down |= notice.kind() == v1::NOTICE_KIND_SHUTDOWN;
      if (notice.kind() != v1::NOTICE_KIND_FORFEIT) {  // the end of the game says it, with the reason
        log("WARNING", place(notice.match_id(), notice.round(), notice.decision_id()) + one_line(notice.text()));
      }
    }
    player_.handle(batch);
    return "";
  }

  void greet(const v1::Welcome& welcome) {
    log("INFO", "connected to " + setup_.server + (welcome.match_ids().empty() ? "" : ", and the games go on"));
    if (welcome.catalogue_digest() != catalogue().digest()) {
      log("WARNING", "the server's cards are not those of this SDK: some are new or changed");
    }
    player_.welcome(welcome, [this](const v1::PlayRequest& reply) { send(reply); });
    const std::lock_guard lock(mutex_);
    end_.welcome = welcome;
    changed_.notify_one();
  }

  /// Sends a part of a request, with others that have gathered. Any thread may do that.
  void send(const v1::PlayRequest& part) {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) {
      gathered_.MergeFrom(part);
      is_closed_ = part.has_goodbye();
      write();
    }
  }

  /// Writes what has gathered, unless a write is under way. Wants the mutex to be locked.
  void write() {
    if (is_writing_ || gathered_.ByteSizeLong() == 0) {
      return;
    }
    is_writing_ = true;
    const grpc::Slice bytes(gathered_.SerializeAsString());
    request_ = grpc::ByteBuffer(&bytes, 1);
    StartWrite(&request_, gathered_.has_goodbye() ? grpc::WriteOptions().set_last_message() : grpc::WriteOptions());
    gathered_.Clear();
  }

  /// Finds out what the status of the stream means.
  void explain(const grpc::Status& status) {
    std::string text = one_line(status.error_message());
    error_details::Status details;
    error_details::ErrorInfo info;
    error_details::RetryInfo retry;
    details.ParseFromString(status.error_details());
    for (const google::protobuf::Any& detail : details.details()) {
      if (detail.type_url().ends_with("/google.rpc.ErrorInfo")) {
        info.ParseFromString(detail.value());
      } else if (detail.type_url().ends_with("/google.rpc.RetryInfo") && retry.ParseFromString(detail.value())) {
        end_.retry_after = milliseconds(TimeUtil::DurationToMilliseconds(retry.retry_delay()));
      }
    }
    const bool is_lost = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                         // by a server that closes
                         (status.error_code() == grpc::StatusCode::CANCELLED && info.reason().empty()) ||
                         text.starts_with("Received RST_STREAM");
    if (is_lost && !end_.retry_after.has_value()) {
      end_.retry_after = milliseconds(0);
    }
    if (is_lost && info.reason().empty() && !end_.welcome.has_value()) {
      text = setup_.server + " can't be reached: " + text + "; `happycity status " + setup_.url + "` says why";
    } else {
      text = setup_.server + (end_.welcome.has_value() ? " ended the session: " : " refused the bot: ") + text;
    }
    end_.error = Error(text, info.reason());
    end_.is_shutting_down |= info.reason() == "SHUTTING_DOWN";
  }

  const Setup& setup_;
  Player& player_;
  grpc::ClientContext context_;
  grpc::ByteBuffer response_;  // being read
  grpc::ByteBuffer request_;   // being written
  SessionEnd end_;             // of the threads that read, one after the other; the welcome is guarded
  std::string breach_;         // how the server broke the protocol, if it did

  // Guarded by the mutex, which may be locked while that of Player is, not vice versa.
  std::mutex mutex_;
  std::condition_variable_any changed_;
  v1::PlayRequest gathered_;
  bool is_writing_ = false;
  bool is_closed_ = false;              // whether nothing more is to be sent
  std::optional<grpc::Status> status_;  // how the stream ended
};

}  // namespace

SessionEnd play_session(const Setup& setup, Player& player, const v1::Hello& hello, const std::stop_token& stop) {
  return Session(setup, player).run(hello, stop);
}

}  // namespace happycity
