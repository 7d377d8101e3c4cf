#include "parting.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <sstream>
#include <string_view>

#include "credentials.h"
#include "error_details.pb.h"
#include "happycity/errors.h"
#include "happycity/play.h"

namespace happycity {
namespace {

/// After these reasons another attempt may go well.
constexpr std::array<std::string_view, 5> passing_reasons = {"SHUTTING_DOWN", "NO_HEARTBEAT", "STALLED", "RATE_LIMITED",
                                                             "TOO_MANY_STREAMS"};

/// These codes mean no even without a reason of the server's.
constexpr std::array refusals = {
    grpc::StatusCode::UNAUTHENTICATED,  grpc::StatusCode::PERMISSION_DENIED,   grpc::StatusCode::UNIMPLEMENTED,
    grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::FAILED_PRECONDITION, grpc::StatusCode::NOT_FOUND,
};

template <class Range, class Value>
bool contains(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

std::string on_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) {
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

/// Returns the first ErrorInfo in a status's details; an empty one if there is none.
error_details::ErrorInfo info_in(const std::string& details) {
  error_details::Status status;
  error_details::ErrorInfo info;
  if (status.ParseFromString(details)) {
    for (const error_details::Any& detail : status.details()) {
      if (detail.type_url().ends_with("/google.rpc.ErrorInfo") && info.ParseFromString(detail.value())) {
        return info;
      }
    }
  }
  return {};
}

std::chrono::milliseconds milliseconds_from(const std::string& text) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::chrono::milliseconds(number);
}

std::string fact(const std::map<std::string, std::string>& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

}  // namespace

Parting Parting::of(const grpc::Status& status) {
  const error_details::ErrorInfo info = info_in(status.error_details());
  Parting parting;
  parting.code = status.error_code();
  parting.text = on_one_line(status.error_message());
  parting.reason = info.reason();
  parting.metadata.insert(info.metadata().begin(), info.metadata().end());
  parting.retry_after = milliseconds_from(fact(parting.metadata, "retry_after_ms"));
  return parting;
}

bool Parting::is_passing() const {
  if (unusable) {
    return false;
  }
  if (reason.empty()) {
    return !contains(refusals, code);
  }
  return code == grpc::StatusCode::UNAVAILABLE || contains(passing_reasons, reason);
}

void Parting::throw_refused(const Settings& settings) const {
  if (unusable) {
    std::rethrow_exception(unusable);
  }
  if (reason == "UNSUPPORTED_VERSION") {
    throw ConnectionError(code, reason,
                          settings.server + " speaks versions " + fact(metadata, "supported_min") + " to " +
                              fact(metadata, "supported_max") + " of the protocol, this bot version " +
                              std::to_string(protocol_version) + "; update whichever is older");
  }
  throw ConnectionError(code, reason, settings.server + " ended the session of \"" + settings.name + "\": " + text);
}

void Parting::throw_lost(const Settings& settings) const {
  const char* advice = is_encrypted(settings)
                           ? "is the server running there, and does it use TLS with a certificate of that CA?"
                           : "is the server running there? (start one with: happycity serve)";
  throw ConnectionError(code, reason, "no connection to " + settings.server + ": " + text + "; " + advice);
}

}  // namespace happycity
