#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace happycity {

/// Does tasks on a number of threads, in the order in which they come. submit() never waits.
class Pool {
 public:
  using Task = std::function<void()>;

  explicit Pool(unsigned threads);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Waits for the tasks that are being done, and drops the others. May itself be called in a task.
  ~Pool();

  void submit(Task task);

  /// Returns when all tasks are done, or after that time. Returns whether they are done.
  bool wait(std::chrono::milliseconds at_most);

 private:
  struct State;

  static void work(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // the threads' too: one of them may outlive the pool
  std::vector<std::thread> threads_;
};

}  // namespace happycity
