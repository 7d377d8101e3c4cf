#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "error_details.pb.h"
#include "session.h"
#include "text.h"

namespace happycity {
namespace {

using std::chrono::milliseconds;

constexpr const char* nothing_listens = "nothing listens on {}; start a server there with: happycity serve";
constexpr const char* not_encrypted = "{} does not use TLS; write HAPPYCITY_SERVER=grpc://{}";
constexpr const char* not_plain = "{} does not answer without TLS; if it uses TLS, write HAPPYCITY_SERVER=grpcs://{}";

enum class Kind { unreachable, needs_tls, needs_no_tls, certificate };

/// A cause of a failed connection, by a part of gRPC's error message in lower case. {} is the server.
struct Cause {
  std::string_view mark;
  Kind kind;
  const char* text;
};

constexpr std::array causes = {
    Cause{"connection refused", Kind::unreachable, nothing_listens},
    Cause{"no such file or directory", Kind::unreachable, nothing_listens},
    Cause{"dns resolution failed", Kind::unreachable, "the host name of {} can't be resolved"},
    Cause{"tcp handshaker shutdown", Kind::unreachable, "{} can't be reached: connection timed out"},
    Cause{"certificate verify failed", Kind::certificate,
          "the certificate of {} is not trusted; set HAPPYCITY_CA to the file of its CA"},
    Cause{"not in peer certificate", Kind::certificate, "the certificate of {} is for another name"},
    Cause{"empty address list", Kind::certificate, "HAPPYCITY_CA, HAPPYCITY_CERT or HAPPYCITY_KEY is a damaged file"},
    Cause{"wrong version number", Kind::needs_no_tls, not_encrypted},
    Cause{"handshake read failed", Kind::needs_no_tls, not_encrypted},
    Cause{"socket closed", Kind::needs_tls, not_plain},
    Cause{"reset by peer", Kind::needs_tls, not_plain},
    Cause{"settings frame", Kind::needs_tls, not_plain},
    Cause{"http1.x server", Kind::needs_tls, not_plain},
    Cause{"failed parsing http/2", Kind::needs_tls, not_plain},
};

std::string filled_in(std::string text, const std::string& server) {
  for (auto at = text.find("{}"); at != text.npos; at = text.find("{}", at + server.size())) {
    text.replace(at, 2, server);
  }
  return text;
}

/// Explains an error of the transport.
Failure failed_connection(const Setup& setup, const std::string& message) {
  std::string text = message;
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return c == '_' ? ' ' : std::tolower(c); });
  // A connection that was in use, or that uses TLS, says "socket closed" for other causes.
  const bool is_plain = !setup.is_encrypted && text.starts_with("failed to connect");
  for (const Cause& cause : causes) {
    if (text.find(cause.mark) != std::string::npos && (is_plain || cause.kind != Kind::needs_tls)) {
      return {.error = Error(filled_in(cause.text, setup.server)),
              .retry_after = cause.kind == Kind::certificate ? std::nullopt : std::optional(milliseconds(0)),
              .is_wrong_scheme = cause.kind == Kind::needs_tls || cause.kind == Kind::needs_no_tls};
    }
  }
  const auto last = message.rfind(": ");  // before it there are places and wrappings
  const std::string reason = last == message.npos ? message : message.substr(last + 2);
  return {Error(setup.server + " can't be reached: " + reason), milliseconds(0)};
}

/// Returns a delay that a server asks for: at least zero and at most an hour.
milliseconds delay_of(const google::protobuf::Duration& delay) {
  const auto seconds = static_cast<int>(std::clamp<std::int64_t>(delay.seconds(), 0, 3600));
  return milliseconds(1000 * seconds + std::clamp(delay.nanos() / 1'000'000, 0, 999));
}

}  // namespace

Failure failure_of(const Setup& setup, const grpc::Status& status, bool is_welcomed) {
  error_details::Status details;
  error_details::ErrorInfo info;
  error_details::RetryInfo retry;
  std::optional<milliseconds> retry_after;
  details.ParseFromString(status.error_details());
  for (const error_details::Any& detail : details.details()) {
    if (detail.type_url().ends_with("/google.rpc.ErrorInfo")) {
      info.ParseFromString(detail.value());
    } else if (detail.type_url().ends_with("/google.rpc.RetryInfo") && retry.ParseFromString(detail.value())) {
      retry_after = delay_of(retry.retry_delay());
    }
  }
  const std::string text = one_line(status.error_message());
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE || text.starts_with("Received RST_STREAM")) {
    if (info.reason().empty()) {
      return failed_connection(setup, text);
    }
    retry_after = retry_after.value_or(milliseconds(0));
  }
  const char* what = is_welcomed ? " ended the session: " : " refused the bot: ";
  return {Error(setup.server + what + text, info.reason()), retry_after};
}

}  // namespace happycity
