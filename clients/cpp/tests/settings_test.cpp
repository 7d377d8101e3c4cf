#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "cases.h"
#include "happycity/happycity.h"
#include "session.h"

namespace happycity {
namespace {

using google::protobuf::Struct;

/// Returns an object of a case; empty if there is none.
const Struct& part(const Struct& of, const char* name) {
  const auto found = of.fields().find(name);
  return found == of.fields().end() ? Struct::default_instance() : found->second.struct_value();
}

/// Returns a text of an object; empty if there is none.
std::string text(const Struct& of, const char* name) {
  const auto found = of.fields().find(name);
  return found == of.fields().end() ? "" : found->second.string_value();
}

std::string in_folder(const std::string& text, const std::string& folder) {
  return std::regex_replace(text, std::regex(R"(\{folder\})"), folder);
}

/// Returns the bytes of a text whose characters are a byte each.
std::string bytes_of(const std::string& text) {
  std::string bytes;
  for (auto c = text.begin(); c != text.end(); ++c) {
    const bool is_first_of_two = (*c & 0x80) != 0;
    bytes += is_first_of_two ? static_cast<char>((*c << 6) | (c[1] & 0x3f)) : *c;
    c += is_first_of_two ? 1 : 0;
  }
  return bytes;
}

/// Compares what a case says of the settings.
void check(const Struct& expected, const Setup& setup) {
  for (const auto& [name, value] : expected.fields()) {
    if (name == "server") {
      EXPECT_EQ(setup.server, value.string_value());
    } else if (name == "tls") {
      EXPECT_EQ(setup.is_encrypted, value.bool_value());
    } else if (name == "proxy") {
      EXPECT_EQ(setup.uses_proxy, value.bool_value());
    } else if (name == "token") {
      EXPECT_EQ(setup.token, value.string_value());
    } else if (name == "version") {
      EXPECT_EQ(setup.hello.info().version(), value.string_value());
    } else if (name == "games") {
      EXPECT_EQ(setup.hello.max_games(), value.number_value());
    } else {
      ASSERT_EQ(name, "name");
      EXPECT_EQ(setup.hello.name(), value.string_value() == "*" ? "tests" : value.string_value());
    }
  }
}

void forget_variables() {
  for (const char* name : {"SERVER", "NAME", "TOKEN", "TOKENS", "CA", "CERT", "KEY", "GAMES", "VERSION", "ENV"}) {
    unsetenv((std::string("HAPPYCITY_") + name).c_str());
  }
}

// Settings come from code, environment and file as in all SDKs.
TEST(Settings, OfAllSdks) {
  const std::string folder = testing::TempDir() + "happycity-settings";
  for (const Struct& each : cases_of("settings.jsonl")) {
    SCOPED_TRACE(text(each, "name"));
    std::filesystem::create_directory(folder);
    for (const auto& [name, content] : part(each, "files").fields()) {
      std::ofstream(folder + "/" + name) << bytes_of(content.string_value());
    }
    forget_variables();
    for (const auto& [name, value] : part(each, "environment").fields()) {
      setenv(name.c_str(), in_folder(value.string_value(), folder).c_str(), 1);
    }
    const Struct& given = part(each, "given");
    Settings settings = {.name = text(given, "name"),
                         .info = {.version = text(given, "version")},
                         .server = text(given, "server"),
                         .token = text(given, "token")};
    if (given.fields().contains("games")) {
      settings.games = static_cast<unsigned>(given.fields().at("games").number_value());
    }
    const std::string error = in_folder(text(each, "error"), folder);
    try {
      const auto setup = setup_of(settings);
      EXPECT_EQ(error, "");
      check(part(each, "settings"), setup);
    } catch (const Error& thrown) {
      EXPECT_FALSE(error.empty());
      EXPECT_EQ(std::string(thrown.what()).substr(0, error.size()), error);
      EXPECT_EQ(thrown.exit_status(), 2);
    }
    std::filesystem::remove_all(folder);
  }
  forget_variables();
}

// What the bot says of itself is sent, with SDK and language.
TEST(Settings, OfCode) {
  const auto setup = setup_of({.info = {.author = "Ann"}, .server = "localhost:2"});
  EXPECT_EQ(setup.hello.info().author(), "Ann");
  EXPECT_EQ(setup.hello.info().language(), "C++20");
  EXPECT_EQ(setup.hello.software(), "happycity-cpp/0.1.0");
}

}  // namespace
}  // namespace happycity
