#include "pool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace happycity {

struct Pool::State {
  std::mutex mutex;
  std::condition_variable more;
  std::condition_variable idle;
  std::deque<Task> queue;
  unsigned busy = 0;
  bool ended = false;

  bool is_idle() const { return busy == 0 && queue.empty(); }
};

Pool::Pool(unsigned threads) : state_(std::make_shared<State>()) {
  for (unsigned i = 0; i < threads; i++) {
    threads_.emplace_back([state = state_] { work(state); });
  }
}

Pool::~Pool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ended = true;
  }
  state_->more.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

void Pool::submit(Task task) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queue.push_back(std::move(task));
  }
  state_->more.notify_one();
}

bool Pool::wait(std::chrono::milliseconds at_most) {
  std::unique_lock lock(state_->mutex);
  return state_->idle.wait_for(lock, at_most, [this] { return state_->is_idle(); });
}

void Pool::work(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->more.wait(lock, [&] { return state->ended || !state->queue.empty(); });
    if (state->ended) {
      return;
    }
    Task task = std::move(state->queue.front());
    state->queue.pop_front();
    state->busy++;
    lock.unlock();
    task();
    task = nullptr;  // with all that it holds, before wait() returns
    lock.lock();
    state->busy--;
    if (state->is_idle()) {
      state->idle.notify_all();
    }
  }
}

}  // namespace happycity
