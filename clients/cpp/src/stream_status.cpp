#include "stream_status.h"

#include <algorithm>
#include <array>

#include "credentials.h"
#include "error_details.pb.h"
#include "happycity/errors.h"
#include "reasons.h"
#include "text.h"

namespace happycity {
namespace {

/// The domain of the contract's reasons.
constexpr const char* domain = "happycity.dev";

/// Status codes without a reason of the contract after which another attempt is pointless.
constexpr std::array refusals = {
    grpc::StatusCode::UNAUTHENTICATED,  grpc::StatusCode::PERMISSION_DENIED,   grpc::StatusCode::UNIMPLEMENTED,
    grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::FAILED_PRECONDITION, grpc::StatusCode::NOT_FOUND,
};

template <class Range, class Value>
bool contains(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

/// Reads a message of that type from a status's details; nothing if there is none, or if they are damaged.
template <class Message>
std::optional<Message> detail_of(const error_details::Status& status, const char* type) {
  Message message;
  for (const error_details::Any& detail : status.details()) {
    if (detail.type_url() == type && message.ParseFromString(detail.value())) {
      return message;
    }
  }
  return std::nullopt;
}

}  // namespace

StreamStatus StreamStatus::of(const grpc::Status& status) {
  StreamStatus result;
  result.code = status.error_code();
  result.text = one_line(status.error_message());
  error_details::Status details;
  if (!details.ParseFromString(status.error_details())) {
    return result;
  }
  const auto info = detail_of<error_details::ErrorInfo>(details, "type.googleapis.com/google.rpc.ErrorInfo");
  const auto retry = detail_of<error_details::RetryInfo>(details, "type.googleapis.com/google.rpc.RetryInfo");
  if (info.has_value() && info->domain() == domain) {
    result.reason = info->reason();
    if (retry.has_value()) {
      result.retry_after = bounded(retry->retry_delay());
    }
  }
  return result;
}

bool StreamStatus::is_retryable() const {
  if (reason.empty()) {
    return !contains(refusals, code);
  }
  // A reason that this version doesn't know says it by its code.
  return contains(retryable_reasons, reason) || code == grpc::StatusCode::UNAVAILABLE;
}

void StreamStatus::throw_refused(const Settings& settings) const {
  throw ConnectionError(code, reason, settings.server + " ended the session of \"" + settings.name + "\": " + text);
}

void StreamStatus::throw_lost(const Settings& settings) const {
  const char* advice = is_encrypted(settings)
                           ? "is the server running there, and does it use TLS with a certificate of that CA?"
                           : "is the server running there? (start one with: happycity serve)";
  throw ConnectionError(code, reason, "no connection to " + settings.server + ": " + text + "; " + advice);
}

std::chrono::milliseconds bounded(const google::protobuf::Duration& time) {
  constexpr std::chrono::milliseconds longest = std::chrono::hours(1);
  const std::chrono::seconds seconds(std::clamp<std::int64_t>(time.seconds(), -1, longest / std::chrono::seconds(1)));
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(time.nanos()));
  return std::clamp(seconds + rest, std::chrono::milliseconds(0), longest);
}

}  // namespace happycity
