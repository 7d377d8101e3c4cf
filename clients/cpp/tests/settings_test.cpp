#include "happycity/settings.h"

#include <gtest/gtest.h>

#include "credentials.h"
#include "environment.h"
#include "happycity/errors.h"

namespace happycity {
namespace {

/// Returns the setting about which the environment is refused; empty if it isn't.
std::string refused() {
  try {
    Settings().with_environment();
    return "";
  } catch (const SettingError& error) {
    return error.setting();
  }
}

// What is left out comes from the environment.
TEST(Settings, FromEnvironment) {
  const Variable name("HAPPYCITY_NAME", "env"), server("HAPPYCITY_SERVER", "host:1"),
      token("HAPPYCITY_TOKEN", "secret"), games("HAPPYCITY_GAMES", "5"), tls("HAPPYCITY_TLS", "1"),
      ca("HAPPYCITY_CA", "ca.pem"), cert("HAPPYCITY_CERT", "cert.pem"), key("HAPPYCITY_KEY", "key.pem"),
      insecure("HAPPYCITY_INSECURE", "1");
  const Settings s = Settings().with_environment();
  EXPECT_EQ(s.name, "env");
  EXPECT_EQ(s.server, "host:1");
  EXPECT_EQ(s.token, "secret");
  EXPECT_EQ(s.games, 5u);
  EXPECT_EQ(s.tls, true);
  EXPECT_EQ(s.ca, "ca.pem");
  EXPECT_EQ(s.cert, "cert.pem");
  EXPECT_EQ(s.key, "key.pem");
  EXPECT_EQ(s.insecure, true);
}

// A setting in code beats the environment, also one that switches something off.
TEST(Settings, CodeBeatsEnvironment) {
  const Variable name("HAPPYCITY_NAME", "env"), server("HAPPYCITY_SERVER", "host:1"), games("HAPPYCITY_GAMES", "many"),
      tls("HAPPYCITY_TLS", "1"), insecure("HAPPYCITY_INSECURE", "1");
  const Settings in_code{.name = "code", .server = "localhost:2", .games = unlimited, .tls = false, .insecure = false};
  const Settings s = in_code.with_environment();
  EXPECT_EQ(s.name, "code");
  EXPECT_EQ(s.server, "localhost:2");
  EXPECT_EQ(s.games, unlimited);
  EXPECT_FALSE(is_encrypted(s));
  EXPECT_EQ(s.insecure, false);
}

// Without an environment there are defaults.
TEST(Settings, Defaults) {
  const Settings s = Settings().with_environment();
  EXPECT_EQ(s.name, "tests");
  EXPECT_EQ(s.server, "127.0.0.1:50051");
  EXPECT_EQ(s.games, 8u);
  EXPECT_GE(s.thinkers, 1u);
  EXPECT_EQ(s.wait, std::chrono::seconds(0));
  EXPECT_EQ(s.reconnect, std::chrono::seconds(60));
  EXPECT_FALSE(is_encrypted(s));
  EXPECT_TRUE(s.log);
}

// A variable whose value can't be used is an error that names it; 0 games are any number.
TEST(Settings, StrangeEnvironment) {
  for (const std::string name : {"HAPPYCITY_GAMES", "HAPPYCITY_TLS", "HAPPYCITY_INSECURE"}) {
    for (const char* strange : {"many", "-1", "2 ", "99999999999"}) {
      const Variable variable(name, strange);
      EXPECT_EQ(refused(), name) << strange;
    }
    const Variable variable(name, "0");
    const Settings s = Settings().with_environment();
    EXPECT_FALSE(*s.tls || *s.insecure);
    EXPECT_EQ(s.games, name == "HAPPYCITY_GAMES" ? unlimited : 8);
  }
}

}  // namespace
}  // namespace happycity
