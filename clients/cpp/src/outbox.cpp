#include "outbox.h"

#include <algorithm>
#include <utility>

namespace happycity {
namespace {

/// Removes what concerns a match.
template <class Messages>
void remove(Messages& messages, std::int64_t match_id) {
  messages.erase(
      std::remove_if(messages.begin(), messages.end(), [&](const auto& each) { return each.match_id() == match_id; }),
      messages.end());
}

}  // namespace

Outbox::Outbox(std::function<void()> hurried, std::chrono::milliseconds hold)
    : hurried_(std::move(hurried)), hold_(hold) {}

void Outbox::answer(const v1::Answer& answer) {
  {
    const std::lock_guard lock(mutex_);
    *request_.add_answers() = answer;
    if (due_ != never) {
      return;
    }
    due_ = Clock::now() + hold_;
  }
  hurried_();
}

void Outbox::resign(const v1::Resign& resign) {
  {
    const std::lock_guard lock(mutex_);
    *request_.add_resigns() = resign;
  }
  flush();
}

void Outbox::pong(std::uint64_t nonce) {
  {
    const std::lock_guard lock(mutex_);
    request_.mutable_pong()->set_nonce(nonce);
  }
  flush();
}

void Outbox::goodbye() {
  {
    const std::lock_guard lock(mutex_);
    request_.mutable_goodbye();
  }
  flush();
}

void Outbox::forget(std::int64_t match_id) {
  const std::lock_guard lock(mutex_);
  remove(*request_.mutable_answers(), match_id);
  remove(*request_.mutable_resigns(), match_id);
}

void Outbox::flush() {
  {
    const std::lock_guard lock(mutex_);
    if (is_empty()) {
      return;
    }
    due_ = at_once;
  }
  hurried_();
}

Outbox::Clock::time_point Outbox::due() const {
  const std::lock_guard lock(mutex_);
  return due_;
}

bool Outbox::take(v1::PlayRequest& request) {
  const std::lock_guard lock(mutex_);
  if (due_ == never || due_ > Clock::now()) {
    return false;
  }
  due_ = never;
  if (is_empty()) {
    return false;
  }
  request.Clear();
  request.Swap(&request_);
  return true;
}

bool Outbox::is_empty() const {
  return request_.answers().empty() && request_.resigns().empty() && !request_.has_pong() && !request_.has_goodbye();
}

}  // namespace happycity
