#include "session.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <chrono>

#include "happycity/catalogue.h"
#include "text.h"

namespace happycity {
namespace {

constexpr const char* method = "/happycity.v1.PlayService/Play";
constexpr unsigned protocol_version = 1;
/// How long the server may take to accept the bot.
constexpr std::chrono::seconds welcome_time{20};
/// How long the server may take to end the stream after a goodbye.
constexpr std::chrono::seconds goodbye_time{1};

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
  return grpc::CreateCustomChannel(setup.target, setup.credentials, arguments);
}

}  // namespace

std::optional<Failure> Session::run(const v1::Hello& hello, const std::stop_token& stop) {
  grpc::GenericStub stub(channel_of(setup_));
  if (!setup_.token.empty()) {
    context_.AddMetadata("authorization", "Bearer " + setup_.token);
  }
  stub.PrepareBidiStreamingCall(&context_, method, {}, this);
  v1::PlayRequest first, last;
  *first.mutable_hello() = hello;
  last.mutable_goodbye();
  send(first);
  StartRead(&response_);
  StartCall();

  std::unique_lock lock(mutex_);
  const auto has_ended = [this] { return status_.has_value(); };
  changed_.wait_for(lock, stop, welcome_time, [&] { return is_welcomed_ || has_ended(); });
  if (is_welcomed_ && !changed_.wait(lock, stop, has_ended)) {
    lock.unlock();
    send(last);
    lock.lock();
    changed_.wait_for(lock, goodbye_time, has_ended);
  }
  const bool is_silent = !has_ended();
  lock.unlock();
  context_.TryCancel();  // has no effect on a stream that has ended
  lock.lock();
  changed_.wait(lock, has_ended);
  lock.unlock();
  player_.disconnect();

  if (!breach_.empty()) {
    return Failure{Error(setup_.server + " broke the protocol: " + breach_, "", 1)};
  }
  if (is_silent) {
    const std::string text = "no welcome within " + std::to_string(welcome_time.count()) + " s";
    return failure_of(setup_, grpc::Status(grpc::StatusCode::UNAVAILABLE, text), is_welcomed_);
  }
  return status_->ok() ? std::nullopt : std::optional(failure_of(setup_, *status_, is_welcomed_));
}

void Session::OnReadDone(bool ok) {
  if (!ok) {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;  // from now on gRPC may end the stream at any time
    return;
  }
  if (breach_.empty()) {
    v1::PlayResponse batch;
    grpc::ProtoBufferReader reader(&response_);
    breach_ = batch.ParseFromZeroCopyStream(&reader) ? take(batch) : "a message can't be decoded";
    if (!breach_.empty()) {
      context_.TryCancel();
    }
  }
  StartRead(&response_);
}

/// Handles a batch, and returns what is in it against the protocol, if anything. Never waits for a bot, so pings are
/// answered while bots think.
std::string Session::take(v1::PlayResponse& batch) {
  if (received_++ == 0) {
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
    is_shutting_down_ |= notice.kind() == v1::NOTICE_KIND_SHUTDOWN;
    if (notice.kind() != v1::NOTICE_KIND_FORFEIT) {  // the end of the game says it, with the reason
      const std::string where = place(notice.match_id(), notice.round(), notice.decision_id());
      log("WARNING", where + (where.empty() ? "" : ": ") + one_line(notice.text()));
    }
  }
  player_.handle(batch);
  return "";
}

/// Takes the server's answer to the hello.
void Session::greet(const v1::Welcome& welcome) {
  log("INFO", "connected to " + setup_.server + (welcome.match_ids().empty() ? "" : ", and the games go on"));
  if (welcome.protocol_version() > protocol_version) {
    log("WARNING", "the server speaks protocol version " + std::to_string(welcome.protocol_version()) +
                       ", this SDK version " + std::to_string(protocol_version) + ": what is new is left out");
  }
  if (welcome.catalogue_digest() != catalogue().digest()) {
    log("WARNING", "the server's cards are not those of this SDK: some are new or changed");
  }
  resume_token_ = welcome.resume_token();
  player_.welcome(welcome, [this](const v1::PlayRequest& reply) { send(reply); });
  const std::lock_guard lock(mutex_);
  is_welcomed_ = true;
  changed_.notify_one();
}

/// Sends a part of a request, with others that have gathered. Any thread may do that.
void Session::send(const v1::PlayRequest& part) {
  const std::lock_guard lock(mutex_);
  if (!is_closed_) {
    gathered_.MergeFrom(part);
    is_closed_ = part.has_goodbye();
    write();
  }
}

/// Writes what has gathered, unless a write is under way. Wants the mutex to be locked.
void Session::write() {
  if (is_writing_ || gathered_.ByteSizeLong() == 0) {
    return;
  }
  is_writing_ = true;
  const grpc::Slice bytes(gathered_.SerializeAsString());
  request_ = grpc::ByteBuffer(&bytes, 1);
  StartWrite(&request_, gathered_.has_goodbye() ? grpc::WriteOptions().set_last_message() : grpc::WriteOptions());
  gathered_.Clear();
}

void Session::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  is_writing_ = false;
  if (ok) {  // else the reader gets the status
    write();
  }
}

void Session::OnDone(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  changed_.notify_one();
}

}  // namespace happycity
