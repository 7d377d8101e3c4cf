#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <thread>

#include "happycity/errors.h"
#include "happycity/settings.h"

namespace happycity {
namespace {

constexpr const char* default_server = "127.0.0.1:50051";
/// Few, so that a bot that takes a second for a move answers all of them in time.
constexpr unsigned default_games = 8;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string first_of(std::initializer_list<std::string> values) {
  for (const std::string& value : values) {
    if (!value.empty()) {
      return value;
    }
  }
  return "";
}

std::string program_name() {
#if defined(__GLIBC__)
  return program_invocation_short_name;
#elif defined(__APPLE__)
  return getprogname();
#else
  return "bot";
#endif
}

/// Returns the version of the language that this is compiled as, such as "C++20".
std::string language() {
  return "C++" + std::to_string(__cplusplus / 100 % 100);
}

unsigned games_from(const char* name) {
  const std::string text = variable(name);
  if (text.empty()) {
    return default_games;
  }
  unsigned games = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, games);
  if (error != std::errc() || rest != end || games > unsigned{std::numeric_limits<int>::max()}) {
    throw SettingError(name, "\"" + text + "\" is not a number of games");
  }
  return games;
}

bool is_on(const std::optional<bool>& set, const char* name) {
  if (set.has_value()) {
    return *set;
  }
  const std::string text = variable(name);
  if (!text.empty() && text != "0" && text != "1") {
    throw SettingError(name, "\"" + text + "\" is neither 0 nor 1");
  }
  return text == "1";
}

}  // namespace

Settings Settings::with_environment() const {
  Settings s = *this;
  s.name = first_of({name, variable("HAPPYCITY_NAME"), program_name()});
  s.info.language = first_of({info.language, language()});
  s.server = first_of({server, variable("HAPPYCITY_SERVER"), default_server});
  s.token = first_of({token, variable("HAPPYCITY_TOKEN")});
  s.games = games.has_value() ? games : games_from("HAPPYCITY_GAMES");
  s.thinkers = thinkers > 0 ? thinkers : std::max(1u, std::thread::hardware_concurrency());
  s.tls = is_on(tls, "HAPPYCITY_TLS");
  s.ca = first_of({ca, variable("HAPPYCITY_CA")});
  s.cert = first_of({cert, variable("HAPPYCITY_CERT")});
  s.key = first_of({key, variable("HAPPYCITY_KEY")});
  s.insecure = is_on(insecure, "HAPPYCITY_INSECURE");
  if (!s.log) {
    s.log = log_to_stderr;
  }
  return s;
}

}  // namespace happycity
