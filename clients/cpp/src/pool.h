#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace happycity {

/// Does chores on a number of threads, in the order in which they come. It never makes anybody wait who brings it
/// one.
class Pool {
 public:
  using Chore = std::function<void()>;

  explicit Pool(unsigned threads);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Waits for the chores that are being done, and drops the others. May itself be part of a chore.
  ~Pool();

  void submit(Chore chore);

  /// Returns when all chores are done, or too long. Tells whether they are done.
  bool wait(std::chrono::milliseconds at_most);

 private:
  struct State;

  static void work(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // the threads', too: one of them may outlive the pool
  std::vector<std::thread> threads_;
};

}  // namespace happycity
