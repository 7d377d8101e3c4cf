#include "connection.h"

#include <utility>

#include "text.h"

namespace happycity {
namespace {

using std::chrono::milliseconds;

/// A server that has not welcomed the bot by then is given up.
constexpr milliseconds welcome_time = std::chrono::seconds(20);
/// A server that is silent for so many of its ping intervals is taken for dead.
constexpr int silent_pings = 3;

}  // namespace

Connection::Connection(const Settings& settings, std::shared_ptr<grpc::ChannelCredentials> credentials, Player& player,
                       const OnWelcome& on_welcome)
    : settings_(settings), credentials_(std::move(credentials)), player_(player), on_welcome_(on_welcome) {}

StreamStatus Connection::run(const v1::Hello& hello, const std::stop_token& stop) {
  const auto stub = v1::PlayService::NewStub(open());
  if (!settings_.token.empty()) {
    context_.AddMetadata("authorization", "Bearer " + settings_.token);
  }
  patience_ = Clock::now() + welcome_time;
  *request_.mutable_hello() = hello;
  is_writing_ = is_held_ = true;
  stub->async()->Play(&context_, this);
  AddHold();
  StartWrite(&request_);
  StartRead(&batch_);
  StartCall();
  watch(stop);
  player_.disconnect();
  return StreamStatus::of(verdict_.value_or(*status_));
}

/// Prepares a connection of its own: a new stream must not come back to an old one's dead socket.
std::shared_ptr<grpc::Channel> Connection::open() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(largest_message);
  // The server allows a ping every 10 s. These find a dead machine before the server's own pings do.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  return grpc::CreateCustomChannel(settings_.server, credentials_, arguments);
}

/// Does what is due at a time of its own, until the stream has ended.
void Connection::watch(const std::stop_token& stop) {
  const std::stop_callback stopped(stop, [this] {
    const std::lock_guard lock(mutex_);
    wake_by(Outbox::at_once);
  });
  std::unique_lock lock(mutex_);
  while (!status_.has_value()) {
    if (stop.stop_requested() && !is_leaving_) {
      is_leaving_ = true;
      lock.unlock();
      leave();
      lock.lock();
    }
    if (Clock::now() >= patience_) {
      const std::string what = welcome_.has_value() ? "no sign of life" : "no welcome";
      verdict_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, what + " from the server");
      patience_ = Outbox::never;
      context_.TryCancel();
    }
    alarm_ = patience_;
    lock.unlock();
    send();
    lock.lock();
    if (!status_.has_value()) {
      changed_.wait_until(lock, Clock::time_point(alarm_));
    }
  }
}

/// Says goodbye, if there is anybody to say it to.
void Connection::leave() {
  {
    const std::lock_guard lock(mutex_);
    if (!welcome_.has_value()) {
      context_.TryCancel();
      return;
    }
    patience_ = Clock::now() + goodbye_time;
  }
  player_.close();
  out_.goodbye();
}

void Connection::OnReadDone(bool ok) {
  if (!ok) {
    stop_writing();
    return;
  }
  take_batch();
  StartRead(&batch_);
}

/// Handles a batch. Never waits for a bot, so pings are answered while bots think.
void Connection::take_batch() {
  if (!welcome_.has_value()) {
    if (!batch_.has_welcome()) {
      break_off("its first message is no welcome; is it a Happy City server?");
      return;
    }
    greet();
  }
  if (batch_.has_ping()) {
    out_.pong(batch_.ping().nonce());
  }
  {
    const std::lock_guard lock(mutex_);
    received_++;
    if (!is_leaving_) {
      const milliseconds interval = bounded(welcome_->ping_interval());
      patience_ = interval.count() == 0 ? Outbox::never : Clock::now() + silent_pings * interval;
      wake_by(patience_);
    }
  }
  for (const v1::Notice& notice : batch_.notices()) {  // about what happened before the other parts
    if (notice.kind() == v1::NOTICE_KIND_FORFEIT) {
      continue;  // the end of the game says it, with the reason
    }
    const std::string where = place(notice.match_id(), notice.round(), notice.decision_id());
    settings_.log(Level::warning,
                  settings_.name + ": " + where + (where.empty() ? "" : ": ") + one_line(notice.text()));
  }
  player_.handle(batch_);
}

/// Takes the server's answer to the hello.
void Connection::greet() {
  const v1::Welcome& welcome = batch_.welcome();
  {
    const std::lock_guard lock(mutex_);
    welcome_ = welcome;
  }
  settings_.log(Level::info, settings_.name + ": connected to " + settings_.server +
                                 (welcome.resumed() ? ", and the games go on" : ""));
  player_.welcome(out_, welcome.resumed());
  on_welcome_(welcome);
}

/// Ends the stream from this side, with a server that can't be played on.
void Connection::break_off(const std::string& text) {
  const std::lock_guard lock(mutex_);
  verdict_ = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, text);
  context_.TryCancel();
}

/// Sends what is due, or sees to it that it is sent when it is.
void Connection::send() {
  {
    const std::lock_guard lock(mutex_);
    if (is_writing_ || is_closed_) {
      return;
    }
    if (!out_.take(request_)) {
      wake_by(out_.due());
      return;
    }
    is_writing_ = true;
  }
  write();
}

void Connection::write() {
  if (request_.has_goodbye()) {
    StartWriteLast(&request_, grpc::WriteOptions());
  } else {
    StartWrite(&request_);
  }
}

void Connection::OnWriteDone(bool ok) {
  const bool was_last = !ok || request_.has_goodbye();  // the reader gets the status
  {
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    is_closed_ |= was_last;
  }
  send();
  let_go();
}

void Connection::stop_writing() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  let_go();
}

/// Lets gRPC end the stream when nothing more is written.
void Connection::let_go() {
  {
    const std::lock_guard lock(mutex_);
    if (!is_closed_ || is_writing_ || !is_held_) {
      return;
    }
    is_held_ = false;
  }
  RemoveHold();
}

void Connection::OnDone(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  changed_.notify_one();
}

/// Has run() wake up by then. Wants the mutex to be locked.
void Connection::wake_by(Clock::time_point time) {
  if (time < alarm_) {
    alarm_ = time;
    changed_.notify_one();
  }
}

}  // namespace happycity
