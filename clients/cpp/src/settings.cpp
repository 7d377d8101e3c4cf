#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

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

/// Adds to the environment what it lacks, from the file of `happycity join`. The file's access is for one server: where
/// the environment has an address, also an empty one, the file is not read. Its paths are relative to it.
void read_settings_file() {
  static const std::regex pattern(R"(\s*(HAPPYCITY_[A-Z_]+)=(.*?)\s*)");
  if (std::getenv("HAPPYCITY_SERVER") != nullptr) {
    return;
  }
  const std::string named = setting("HAPPYCITY_ENV"), path = named.empty() ? "happycity.env" : named;
  if (!std::filesystem::exists(path)) {
    if (!named.empty()) {
      throw Error("HAPPYCITY_ENV: there is no file " + path);
    }
    return;
  }
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file || std::filesystem::is_directory(path) || !is_utf8(text)) {
    throw Error(path + " can't be read as text in UTF-8");
  }
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with('#') || line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    std::smatch parts;
    if (!std::regex_match(line, parts, pattern)) {
      throw Error(path + ":" + std::to_string(number) + ": it is not HAPPYCITY_NAME=VALUE");
    }
    const std::string name = parts[1];
    std::string value = parts[2];
    if (!value.empty() && (name == "HAPPYCITY_CA" || name == "HAPPYCITY_CERT" || name == "HAPPYCITY_KEY")) {
      value = (std::filesystem::path(path).parent_path() / value).string();
    }
    setenv(name.c_str(), value.c_str(), 0);
  }
}

/// Returns the token for a name in HAPPYCITY_TOKENS, such as ann=hc_1_x,bob=hc_2_y; empty if it has none.
std::string token_of(const std::string& name) {
  std::istringstream entries(setting("HAPPYCITY_TOKENS"));
  std::string own;
  int number = 0;
  for (std::string entry; std::getline(entries, entry, ',');) {
    if (entry.empty()) {
      continue;
    }
    ++number;
    const auto equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == entry.size()) {
      throw Error("HAPPYCITY_TOKENS: entry " + std::to_string(number) + " is not NAME=TOKEN");
    }
    if (entry.substr(0, equals) == name) {
      own = entry.substr(equals + 1);
    }
  }
  return own;
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
  read_settings_file();
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
  const std::string own = token_of(setting("HAPPYCITY_NAME", settings.name));
  setup.token = setting("HAPPYCITY_TOKEN", settings.token.empty() ? own : settings.token);
  if (!std::ranges::all_of(setup.token, [](char c) { return c > ' ' && c <= '~'; })) {
    throw Error("HAPPYCITY_TOKEN: it has a space or another character that no token has");
  }
  setup.credentials = setup.is_encrypted ? encrypted() : grpc::InsecureChannelCredentials();
  setup.hello = hello_of(settings, !setup.token.empty());
  return setup;
}

}  // namespace happycity
