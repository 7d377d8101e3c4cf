#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace happycity {

/// Turns SIGINT and SIGTERM into a request to stop, as long as it lives. There can be one in a program.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  int pipe_[2];
  struct sigaction interrupt_;  // what was there before
  struct sigaction terminate_;
  std::thread listener_;
};

}  // namespace happycity
