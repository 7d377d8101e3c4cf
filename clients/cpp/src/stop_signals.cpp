#include "stop_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace happycity {
namespace {

std::atomic<int> pipe_end = -1;
static_assert(std::atomic<int>::is_always_lock_free);

/// Few functions may be called in a signal's handler; write is one of them.
extern "C" void wake_listener(int) {
  const int error = errno;
  [[maybe_unused]] const auto written = write(pipe_end, "", 1);
  errno = error;
}

}  // namespace

StopSignals::StopSignals() {
  if (pipe(pipe_) != 0) {
    throw std::system_error(errno, std::generic_category(), "a pipe for signals");
  }
  for (const int end : pipe_) {
    fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  pipe_end = pipe_[1];
  listener_ = std::thread([this] {
    char byte = 0;
    while (read(pipe_[0], &byte, 1) < 0 && errno == EINTR) {
    }
    source_.request_stop();
  });
  struct sigaction action = {};
  action.sa_handler = wake_listener;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
  wake_listener(0);
  listener_.join();
  pipe_end = -1;
  close(pipe_[0]);
  close(pipe_[1]);
}

}  // namespace happycity
