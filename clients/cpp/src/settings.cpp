#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>

#include "happycity/happycity.h"
#include "session.h"
#include "text.h"

namespace happycity {
namespace {

/// Returns a setting in code, or else a variable of the environment, or else a default.
std::string setting(const char* name, const std::string& in_code = "", const std::string& otherwise = "") {
  const char* const variable = std::getenv(name);
  const std::string text = in_code.empty() && variable != nullptr ? variable : in_code;
  return text.empty() ? otherwise : text;
}

std::string program_name() {
#ifdef __linux__
  return program_invocation_short_name;
#else
  return getprogname();
#endif
}

unsigned games_in_environment() {
  // Few, so that a bot that takes a second for a move answers all of them in time.
  const std::string text = setting("HAPPYCITY_GAMES", "", "8");
  const char* const end = text.data() + text.size();
  unsigned games = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, games);
  if (error != std::errc() || rest != end) {
    throw Error("HAPPYCITY_GAMES: '" + one_line(text) + "' is not a number of games; 0 is any number");
  }
  return games;
}

/// Returns the text of the file in PEM that a variable names, if it names one.
std::string pem(const char* name, const std::string& what) {
  const std::string path = setting(name), place = std::string(name) + ": " + path;
  std::ifstream file(path);
  std::string text;
  if (!path.empty() && !std::getline(file, text, '\0') && !file.eof()) {
    throw Error(place + " can't be read: " + std::strerror(errno));
  }
  if (!path.empty() && text.find("-----BEGIN ") == std::string::npos) {
    throw Error(place + " holds no " + what + " in PEM");
  }
  return text;
}

std::shared_ptr<grpc::ChannelCredentials> encrypted() {
  const grpc::SslCredentialsOptions files = {.pem_root_certs = pem("HAPPYCITY_CA", "certificates"),
                                             .pem_private_key = pem("HAPPYCITY_KEY", "private key"),
                                             .pem_cert_chain = pem("HAPPYCITY_CERT", "certificates")};
  if (files.pem_private_key.empty() != files.pem_cert_chain.empty()) {
    throw Error(files.pem_private_key.empty() ? "HAPPYCITY_CERT: HAPPYCITY_KEY is needed too"
                                              : "HAPPYCITY_KEY: HAPPYCITY_CERT is needed too");
  }
  return grpc::SslCredentials(files);
}

v1::Hello hello_of(const Settings& settings, bool has_token) {
  v1::Hello hello;
  const std::string name = setting("HAPPYCITY_NAME", settings.name, has_token ? "" : program_name());
  if (!name.empty()) {
    hello.set_name(one_line(name));
  }
  const unsigned games = settings.games.has_value() ? *settings.games : games_in_environment();
  if (games > 0) {
    hello.set_max_games(games);
  }
  hello.set_software("happycity-cpp/" HAPPYCITY_VERSION);
  v1::BotInfo& info = *hello.mutable_info();
  info.set_author(one_line(settings.info.author));
  info.set_version(one_line(settings.info.version));
  info.set_language("C++" + std::to_string(__cplusplus / 100 % 100));
  info.set_description(one_line(settings.info.description));
  return hello;
}

}  // namespace

Setup setup_of(const Settings& settings) {
  // The host is a name, or an IPv6 address in brackets.
  static const std::regex pattern(R"(unix:.+|(?:grpc(s)?://)?((?:\[[\da-fA-F:.]+\]|[^\[\]:/@?\s]+):(\d{1,5})))");
  const std::string address = setting("HAPPYCITY_SERVER", settings.server, "grpc://127.0.0.1:50051");
  std::smatch parts;
  if (!std::regex_match(address, parts, pattern) || (parts[3].matched && std::stoi(parts[3]) > 65535)) {
    throw Error("HAPPYCITY_SERVER: '" + one_line(address) + "' is not an address such as grpc://127.0.0.1:50051 or " +
                "grpcs://arena.example:443");
  }
  Setup setup;
  setup.server = parts[2].matched ? parts[2].str() : address;
  setup.is_encrypted = parts[1].matched;
  setup.token = setting("HAPPYCITY_TOKEN", settings.token);
  if (!std::ranges::all_of(setup.token, [](char c) { return c > ' ' && c <= '~'; })) {
    throw Error("HAPPYCITY_TOKEN: it has a space or another character that no token has");
  }
  setup.credentials = setup.is_encrypted ? encrypted() : grpc::InsecureChannelCredentials();
  setup.hello = hello_of(settings, !setup.token.empty());
  return setup;
}

}  // namespace happycity
