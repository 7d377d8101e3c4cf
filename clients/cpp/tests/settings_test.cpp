#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <utility>
#include <vector>

#include "happycity/happycity.h"
#include "session.h"

namespace happycity {
namespace {

/// Sets a variable of the environment until the end of the test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

/// Returns why settings are refused; empty if they aren't.
std::string refused(const Settings& settings = {}) {
  try {
    setup_of(settings);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    return error.what();
  }
}

// What is left out comes from the environment.
TEST(Settings, FromEnvironment) {
  const Variable name("HAPPYCITY_NAME", "env"), server("HAPPYCITY_SERVER", "grpcs://host:1"),
      token("HAPPYCITY_TOKEN", "secret"), games("HAPPYCITY_GAMES", "5");
  const auto setup = setup_of({});
  EXPECT_EQ(setup.hello.name(), "env");
  EXPECT_EQ(setup.hello.max_games(), 5u);
  EXPECT_EQ(setup.token, "secret");
  EXPECT_EQ(setup.server, "host:1");
  EXPECT_TRUE(setup.is_encrypted);
}

// A setting in code beats the environment.
TEST(Settings, CodeBeatsEnvironment) {
  const Variable name("HAPPYCITY_NAME", "env"), server("HAPPYCITY_SERVER", "grpcs://host:1"),
      token("HAPPYCITY_TOKEN", "secret"), games("HAPPYCITY_GAMES", "many");
  const auto setup =
      setup_of({.name = "code", .info = {.author = "Ann"}, .server = "localhost:2", .token = "other", .games = 0});
  EXPECT_EQ(setup.hello.name(), "code");
  EXPECT_EQ(setup.hello.info().author(), "Ann");
  EXPECT_FALSE(setup.hello.has_max_games());
  EXPECT_EQ(setup.token, "other");
  EXPECT_EQ(setup.server, "localhost:2");
  EXPECT_FALSE(setup.is_encrypted);
}

// A file has what the environment lacks; its paths are relative to it.
TEST(Settings, File) {
  const std::string folder = testing::TempDir(), path = folder + "my.env";
  const auto forget = [] {
    for (const char* name : {"SERVER", "CA", "TOKEN", "TOKENS", "NAME"}) {
      unsetenv((std::string("HAPPYCITY_") + name).c_str());
    }
  };
  const auto write = [&](const std::string& text) {
    forget();
    std::ofstream(path) << text;
  };
  const Variable named("HAPPYCITY_ENV", path);
  const std::string text =
      "# text\n\nHAPPYCITY_SERVER=grpcs://a:1\r\nHAPPYCITY_CA=absent.pem\nHAPPYCITY_TOKEN=first\n"
      "HAPPYCITY_TOKENS=ann=first,bob=second\n";
  write(text);
  EXPECT_EQ(refused(), "HAPPYCITY_CA: " + folder + "absent.pem can't be read: No such file or directory");
  EXPECT_EQ(setup_of({.server = "grpc://a:1"}).token, "first");
  EXPECT_EQ(setup_of({.name = "bob", .server = "grpc://a:1"}).token, "second");
  EXPECT_EQ(setup_of({.name = "bob", .server = "grpc://a:1", .token = "own"}).token, "own");
  forget();
  {
    const Variable server("HAPPYCITY_SERVER", "");
    EXPECT_EQ(setup_of({}).token, "");
  }
  write("HAPPYCITY_TOKEN=1\nPATH=/tmp\n");
  EXPECT_EQ(refused(), path + ":2: it is not HAPPYCITY_NAME=VALUE");
  write("\xff");
  EXPECT_EQ(refused(), path + " can't be read as text in UTF-8");
  write("HAPPYCITY_TOKENS=ann\n");
  EXPECT_EQ(refused(), "HAPPYCITY_TOKENS: entry 1 is not NAME=TOKEN");
  forget();
  const Variable absent("HAPPYCITY_ENV", "/absent.env");
  EXPECT_EQ(refused(), "HAPPYCITY_ENV: there is no file /absent.env");
}

// Without an environment, or with an empty one, there are defaults.
TEST(Settings, Defaults) {
  const Variable name("HAPPYCITY_NAME", ""), server("HAPPYCITY_SERVER", ""), games("HAPPYCITY_GAMES", "");
  const auto setup = setup_of({});
  EXPECT_EQ(setup.hello.name(), "tests");
  EXPECT_EQ(setup.hello.max_games(), 8u);
  EXPECT_EQ(setup.hello.software(), "happycity-cpp/0.1.0");
  EXPECT_EQ(setup.hello.info().language(), "C++20");
  EXPECT_EQ(setup.server, "127.0.0.1:50051");
}

// A token is a name; one that is given is sent with it.
TEST(Settings, TokenIsName) {
  EXPECT_FALSE(setup_of({.token = "secret"}).hello.has_name());
  EXPECT_EQ(setup_of({.name = "ann", .token = "secret"}).hello.name(), "ann");
}

// An address has a port, and perhaps a scheme or brackets.
TEST(Settings, Addresses) {
  EXPECT_EQ(setup_of({.server = "grpc://[::1]:7"}).server, "[::1]:7");
  EXPECT_EQ(setup_of({.server = "unix:/run/arena"}).server, "unix:/run/arena");
  for (const std::string wrong : {"host", "host:", ":5", "host:99999", "http://host:1", "grpc://u@host:1", "h:1/"}) {
    EXPECT_EQ(refused({.server = wrong}), "HAPPYCITY_SERVER: '" + wrong +
                                              "' is not an address such as grpc://127.0.0.1:50051 or "
                                              "grpcs://arena.example:443");
  }
}

// A number of games, or a token, that can't be used is an error.
TEST(Settings, Refused) {
  for (const std::string wrong : {"many", "-1", "2x", "99999999999"}) {
    const Variable games("HAPPYCITY_GAMES", wrong);
    EXPECT_EQ(refused(), "HAPPYCITY_GAMES: '" + wrong + "' is not a number of games; 0 is any number");
  }
  EXPECT_EQ(refused({.token = "two words"}), "HAPPYCITY_TOKEN: it has a space or another character that no token has");
}

// Files of TLS are read for grpcs only; a certificate and its key need each other.
TEST(Settings, Files) {
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "text") << "hello";
  std::ofstream(folder + "cert") << "-----BEGIN CERTIFICATE-----\n";
  std::ofstream(folder + "key") << "-----BEGIN EC PRIVATE KEY-----\n";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"HAPPYCITY_CA", "none"}, "HAPPYCITY_CA: " + folder + "none can't be read: No such file or directory"},
      {{"HAPPYCITY_CA", "text"}, "HAPPYCITY_CA: " + folder + "text holds no certificates in PEM"},
      {{"HAPPYCITY_CERT", "text"}, "HAPPYCITY_CERT: " + folder + "text holds no certificates in PEM"},
      {{"HAPPYCITY_KEY", "text"}, "HAPPYCITY_KEY: " + folder + "text holds no private key in PEM"},
      {{"HAPPYCITY_CERT", "cert"}, "HAPPYCITY_CERT: HAPPYCITY_KEY is needed too"},
      {{"HAPPYCITY_KEY", "key"}, "HAPPYCITY_KEY: HAPPYCITY_CERT is needed too"},
  };
  for (const auto& [variable, text] : cases) {
    const Variable set(variable[0].c_str(), folder + variable[1]);
    EXPECT_EQ(refused({.server = "grpcs://host:1"}), text);
    EXPECT_EQ(refused({.server = "grpc://host:1"}), "");
  }
}

}  // namespace
}  // namespace happycity
