#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <sstream>

#include "happycity/happycity.h"
#include "session.h"
#include "text.h"

namespace happycity {
namespace {

/// The version of the contract from which the stubs are generated.
constexpr unsigned protocol_version = 1;

/// What the environment lacks, by variable.
using File = std::map<std::string, std::string>;

/// Returns the content of a file; nothing if it can't be read, for the reason in errno.
std::optional<std::string> content_of(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    errno = EISDIR;
    return std::nullopt;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string trimmed(const std::string& text) {
  constexpr const char* spaces = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(spaces);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(spaces) + 1 - first);
}

bool is_given(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// Reads the file of `happycity join`. Its tokens are for one server: where the environment has an address, also an
/// empty one, the file's CA alone counts, and that only where the environment has no access of its own. Paths in the
/// file are relative to it.
File settings_file() {
  static const std::regex pattern("HAPPYCITY_[A-Z_]+");
  const bool is_other_server = std::getenv("HAPPYCITY_SERVER") != nullptr;
  if (is_other_server && (is_given("HAPPYCITY_CA") || is_given("HAPPYCITY_TOKEN") || is_given("HAPPYCITY_TOKENS"))) {
    return {};
  }
  const bool is_named = is_given("HAPPYCITY_ENV");
  const std::string path = is_named ? std::getenv("HAPPYCITY_ENV") : "happycity.env";
  if (!std::filesystem::exists(path)) {
    if (is_named && !is_other_server) {
      throw Error("HAPPYCITY_ENV: there is no file " + path);
    }
    return {};
  }
  const std::string content = content_of(path).value_or("\xff");
  if (!is_utf8(content)) {
    throw Error(path + " can't be read as text in UTF-8");
  }
  std::istringstream lines(content.starts_with("\xef\xbb\xbf") ? content.substr(3) : content);
  File found;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string text = trimmed(line);
    if (line.starts_with('#') || text.empty()) {
      continue;
    }
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == text.npos || !std::regex_match(name, pattern)) {
      throw Error(path + ":" + std::to_string(number) + ": it is not HAPPYCITY_NAME=VALUE");
    }
    std::string value = text.substr(equals + 1);
    if (!value.empty() && (name == "HAPPYCITY_CA" || name == "HAPPYCITY_CERT" || name == "HAPPYCITY_KEY")) {
      value = (std::filesystem::path(path).parent_path() / value).string();
    }
    if (!is_other_server || name == "HAPPYCITY_CA") {
      found.emplace(name, value);
    }
  }
  return found;
}

/// Returns a setting in code, or else of the environment, or else of the file, or else a default.
std::string setting(const File& file, const std::string& name, const std::string& in_code = "",
                    const std::string& otherwise = "") {
  std::string text = in_code;
  if (const char* const variable = std::getenv(name.c_str()); text.empty() && variable != nullptr) {
    text = variable;
  } else if (const auto found = file.find(name); text.empty() && found != file.end()) {
    text = found->second;
  }
  return text.empty() ? otherwise : text;
}

/// Returns the token for a name in a text such as ann=hc_1_x,bob=hc_2_y; empty if it has none.
std::string token_of(const std::string& name, const std::string& tokens) {
  std::istringstream entries(tokens);
  std::string own;
  int number = 0;
  for (std::string entry; std::getline(entries, entry, ',');) {
    if (entry.empty()) {
      continue;
    }
    ++number;
    entry = trimmed(entry);
    const auto equals = entry.find('=');
    if (equals == 0 || equals == entry.npos || equals + 1 == entry.size()) {
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

unsigned games_of(const std::string& text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) {
    throw Error("HAPPYCITY_GAMES: '" + one_line(text) + "' is not a number of games; 0 is any number");
  }
  return std::stoul(text);
}

/// Returns the content of the file that a variable names; empty if it names none.
std::string named_content(const File& file, const std::string& name) {
  const std::string path = setting(file, name);
  const std::optional<std::string> content = path.empty() ? "" : content_of(path);
  if (!content.has_value()) {
    throw Error(name + ": " + path + " can't be read: " + std::strerror(errno));
  }
  return *content;
}

std::shared_ptr<grpc::ChannelCredentials> encrypted(const File& file) {
  const auto is_set = [&](const char* name) { return !setting(file, name).empty(); };
  const auto lacks = [](const std::string& text, const char* what) { return text.find(what) == std::string::npos; };
  const grpc::SslCredentialsOptions files = {.pem_root_certs = named_content(file, "HAPPYCITY_CA"),
                                             .pem_private_key = named_content(file, "HAPPYCITY_KEY"),
                                             .pem_cert_chain = named_content(file, "HAPPYCITY_CERT")};
  if (is_set("HAPPYCITY_CA") && lacks(files.pem_root_certs, "-----BEGIN CERTIFICATE-----")) {
    throw Error("HAPPYCITY_CA: " + setting(file, "HAPPYCITY_CA") + " holds no certificates in PEM");
  }
  if (is_set("HAPPYCITY_KEY") != is_set("HAPPYCITY_CERT")) {
    throw Error(is_set("HAPPYCITY_CERT") ? "HAPPYCITY_CERT: HAPPYCITY_KEY is needed too"
                                         : "HAPPYCITY_KEY: HAPPYCITY_CERT is needed too");
  }
  if (is_set("HAPPYCITY_KEY") && (lacks(files.pem_cert_chain, "-----BEGIN CERTIFICATE-----") ||
                                  lacks(files.pem_private_key, "PRIVATE KEY-----"))) {
    throw Error("HAPPYCITY_CERT, HAPPYCITY_KEY: " + setting(file, "HAPPYCITY_CERT") + " and " +
                setting(file, "HAPPYCITY_KEY") + " are not a certificate and its key in PEM");
  }
  return grpc::SslCredentials(files);
}

v1::Hello hello_of(const Settings& settings, const File& file, bool has_token) {
  v1::Hello hello;
  hello.set_protocol_version(protocol_version);
  const std::string name = setting(file, "HAPPYCITY_NAME", settings.name, has_token ? "" : program_name());
  if (!name.empty()) {
    hello.set_name(one_line(name));
  }
  // Few, so that a bot that takes a second for a move answers all of them in time.
  const unsigned games =
      settings.games.has_value() ? *settings.games : games_of(setting(file, "HAPPYCITY_GAMES", "", "8"));
  if (games > 0) {
    hello.set_max_games(games);
  }
  hello.set_software("happycity-cpp/" HAPPYCITY_VERSION);
  v1::BotInfo& info = *hello.mutable_info();
  info.set_author(one_line(settings.info.author));
  info.set_version(one_line(setting(file, "HAPPYCITY_VERSION", settings.info.version)));
  info.set_language("C++" + std::to_string(__cplusplus / 100 % 100));
  info.set_description(one_line(settings.info.description));
  return hello;
}

}  // namespace

Setup setup_of(const Settings& settings) {
  // A socket, or a scheme, a host and its port. The host is a name, or an IPv6 address in brackets.
  static const std::regex pattern(
      R"(unix:.+|(?:grpc(s)?://)?((?:[A-Za-z0-9._-]+|\[[\da-fA-F:.]+(?:%\w+)?\]):(\d{1,5})))");
  // Of this machine.
  static const std::regex here(R"((localhost|127[.0-9]+|\[::1\]|\[::ffff:127[.0-9]+\]):\d+)", std::regex::icase);
  const File file = settings_file();
  Setup setup;
  setup.url = setting(file, "HAPPYCITY_SERVER", settings.server, "grpc://127.0.0.1:50051");
  std::smatch parts;
  if (!std::regex_match(setup.url, parts, pattern) || (parts[3].matched && std::stoi(parts[3]) > 65535)) {
    throw Error("HAPPYCITY_SERVER: '" + one_line(setup.url) + "' is not an address such as " +
                "grpc://127.0.0.1:50051 or grpcs://arena.example:443");
  }
  setup.server = parts[2].matched ? parts[2].str() : setup.url;
  setup.is_encrypted = parts[1].matched;
  setup.uses_proxy = setup.is_encrypted && !std::regex_match(setup.server, here);
  setup.token = settings.token;
  if (setup.token.empty()) {
    const std::string own = token_of(setting(file, "HAPPYCITY_NAME", settings.name), setting(file, "HAPPYCITY_TOKENS"));
    setup.token = setting(file, "HAPPYCITY_TOKEN", own);
  }
  if (!std::ranges::all_of(setup.token, [](char c) { return c > ' ' && c <= '~'; })) {
    throw Error("HAPPYCITY_TOKEN: it has a character that no token has");
  }
  setup.credentials = setup.is_encrypted ? encrypted(file) : grpc::InsecureChannelCredentials();
  setup.hello = hello_of(settings, file, !setup.token.empty());
  return setup;
}

}  // namespace happycity
