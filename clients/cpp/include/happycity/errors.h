#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace happycity {

/// Why a bot can't play, or plays no more: a setting can't be used, or the server can't be reached, refused the bot,
/// broke the protocol, or went away for too long. Its what() is one line that says what happened, and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, std::string reason = {}, int exit_status = 2)
      : std::runtime_error(text), reason_(std::move(reason)), exit_status_(exit_status) {}

  /// The server's reason, as in the contract, such as "REPLACED"; empty if it gave none.
  const std::string& reason() const { return reason_; }

  /// The exit status of run(): 1 if the server broke the protocol, else 2.
  int exit_status() const { return exit_status_; }

 private:
  std::string reason_;
  int exit_status_;
};

}  // namespace happycity
