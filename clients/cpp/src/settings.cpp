#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <thread>

#include "happycity/errors.h"
#include "happycity/happycity.h"
#include "setup.h"
#include "text.h"

namespace happycity {
namespace {

constexpr const char* default_server = "grpc://127.0.0.1:50051";
/// Few, so that a bot that takes a second for a move answers all of them in time.
constexpr std::optional<unsigned> default_games = 8;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns a setting in code, or else a variable of the environment.
std::string setting(const std::string& in_code, const char* name) {
  return in_code.empty() ? variable(name) : in_code;
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

[[noreturn]] void refuse(const std::string& name, const std::string& text) {
  throw Error(name + ": " + text);
}

/// Returns the number that a text is, if it is one.
std::optional<unsigned> number_of(std::string_view text) {
  unsigned number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

unsigned games_in_environment() {
  const std::string text = variable("HAPPYCITY_GAMES");
  const auto games = text.empty() ? default_games : number_of(text);
  if (!games.has_value()) {
    refuse("HAPPYCITY_GAMES", "'" + one_line(text) + "' is not a number of games; 0 is any number");
  }
  return *games;
}

/// Returns whether an address without its scheme is that of a host and a port; IPv6 addresses are in brackets.
bool is_host_and_port(std::string_view address) {
  const auto colon = std::min(address.rfind(':'), address.size());
  const std::string_view host = address.substr(0, colon), port = address.substr(std::min(colon + 1, address.size()));
  const bool is_name = !host.empty() && host.find_first_of("[]:/@? \t\r\n") == host.npos;
  const bool is_ipv6 =
      host.starts_with('[') && host.find_first_not_of("0123456789abcdefABCDEF:.", 1) == host.size() - 1;
  return (is_name || (is_ipv6 && host.ends_with(']'))) && number_of(port).value_or(65536) <= 65535;
}

void set_address(Setup& setup, const std::string& address) {
  setup.is_encrypted = address.starts_with("grpcs://");
  const bool is_unix = address.starts_with("unix:") && address.size() > 5;
  setup.server = address.substr(setup.is_encrypted ? 8 : address.starts_with("grpc://") ? 7 : 0);
  setup.target = is_unix ? setup.server : "dns:///" + setup.server;
  if (!is_unix && !is_host_and_port(setup.server)) {
    refuse("HAPPYCITY_SERVER", "'" + one_line(address) + "' is not an address such as grpc://127.0.0.1:50051 or " +
                                   "grpcs://arena.example:443");
  }
}

/// Returns the text of the file in PEM that a variable names; it has to hold something whose label ends like that.
std::string pem(const char* name, const std::string& label, const std::string& what) {
  const std::string path = variable(name);
  if (path.empty()) {
    return "";
  }
  std::string text;
  try {
    std::ifstream file;
    file.exceptions(std::ios::badbit | std::ios::failbit);
    file.open(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  } catch (const std::ios::failure&) {
    refuse(name, path + " can't be read: " + std::strerror(errno));
  }
  if (text.find(label + "-----") == std::string::npos) {
    refuse(name, path + " holds no " + what + " in PEM");
  }
  return text;
}

std::shared_ptr<grpc::ChannelCredentials> encrypted() {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = pem("HAPPYCITY_CA", "CERTIFICATE", "certificates");
  options.pem_cert_chain = pem("HAPPYCITY_CERT", "CERTIFICATE", "certificates");
  options.pem_private_key = pem("HAPPYCITY_KEY", "PRIVATE KEY", "private key");
  if (!options.pem_cert_chain.empty() && options.pem_private_key.empty()) {
    refuse("HAPPYCITY_CERT", "HAPPYCITY_KEY is needed too");
  }
  if (!options.pem_private_key.empty() && options.pem_cert_chain.empty()) {
    refuse("HAPPYCITY_KEY", "HAPPYCITY_CERT is needed too");
  }
  return grpc::SslCredentials(options);
}

v1::Hello hello_of(const Settings& settings, bool has_token) {
  v1::Hello hello;
  const std::string name = setting(settings.name, "HAPPYCITY_NAME");
  if (!name.empty() || !has_token) {
    hello.set_name(one_line(name.empty() ? program_name() : name));
  }
  const unsigned games = settings.games.has_value() ? *settings.games : games_in_environment();
  if (games != unlimited) {
    hello.set_max_games(games);
  }
  hello.set_software(std::string("happycity-cpp/") + version());
  v1::BotInfo& info = *hello.mutable_info();
  info.set_author(one_line(settings.info.author));
  info.set_version(one_line(settings.info.version));
  info.set_language("C++" + std::to_string(__cplusplus / 100 % 100));
  info.set_description(one_line(settings.info.description));
  return hello;
}

}  // namespace

const char* version() {
  return HAPPYCITY_VERSION;
}

Setup setup_of(const Settings& settings) {
  Setup setup;
  const std::string server = setting(settings.server, "HAPPYCITY_SERVER");
  set_address(setup, server.empty() ? default_server : server);
  setup.token = setting(settings.token, "HAPPYCITY_TOKEN");
  if (!std::ranges::all_of(setup.token, [](char c) { return c > ' ' && c <= '~'; })) {
    refuse("HAPPYCITY_TOKEN", "it has a space or another character that no token has");
  }
  setup.credentials = setup.is_encrypted ? encrypted() : grpc::InsecureChannelCredentials();
  setup.hello = hello_of(settings, !setup.token.empty());
  setup.thinkers = settings.thinkers > 0 ? settings.thinkers : std::max(1u, std::thread::hardware_concurrency());
  setup.wait = settings.wait;
  setup.reconnect = settings.reconnect;
  return setup;
}

}  // namespace happycity
