#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace happycity {

/// How long a test waits for what has to happen.
constexpr std::chrono::seconds patience{60};

/// Hands values from one thread to another.
template <class T>
class Mailbox {
 public:
  void put(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    more_.notify_one();  // under the lock: the taker may end the mailbox
  }

  /// Waits for a value; throws if none comes.
  T take(const std::string& what) {
    std::unique_lock lock(mutex_);
    if (!more_.wait_for(lock, patience, [this] { return !values_.empty(); })) {
      throw std::runtime_error("no " + what);
    }
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

  bool is_empty() const {
    const std::lock_guard lock(mutex_);
    return values_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::deque<T> values_;
};

/// Waits for a condition that nobody signals.
template <class Condition>
void wait_until(Condition condition, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("no " + what);
    }
    std::this_thread::yield();
  }
}

}  // namespace happycity
