#include "credentials.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "happycity/errors.h"

namespace happycity {
namespace {

/// Returns why settings are refused; empty if they aren't.
std::string refusal_of(const Settings& settings) {
  try {
    credentials_of(settings);
    return "";
  } catch (const SettingError& error) {
    return error.what();
  }
}

// Only addresses that can't leave the machine are loopback.
TEST(Credentials, Loopback) {
  for (const char* server :
       {"127.0.0.1:50051", "127.8.8.8:1", "localhost:1", "localhost", "[::1]:1", "::1", "unix:/tmp/socket",
        "unix-abstract:socket", "dns:///127.0.0.1:1", "dns:localhost:1", "dns://8.8.8.8/localhost:1"}) {
    EXPECT_TRUE(is_loopback(server)) << server;
  }
  for (const char* server : {"10.0.0.1:1", "0.0.0.0:1", "example.org:1", "localhost.example.org:1",
                             "dns://127.0.0.1/example.org:1", "dns://127.0.0.1", "passthrough:///127.0.0.1:1", "", "[",
                             "[fe80::1]:1", "127.0.0.1.example.org", "ipv4:127.0.0.1:1,10.0.0.1:1"}) {
    EXPECT_FALSE(is_loopback(server)) << server;
  }
}

// A token doesn't travel unencrypted to another machine unless that is allowed.
TEST(Credentials, TokenInTheClear) {
  EXPECT_NE(refusal_of({.server = "example.org:1", .token = "secret"}).find("HAPPYCITY_INSECURE=1"), std::string::npos);
  EXPECT_EQ(refusal_of({.server = "example.org:1", .token = "secret", .insecure = true}), "");
  EXPECT_EQ(refusal_of({.server = "example.org:1", .token = "secret", .tls = true}), "");
  EXPECT_EQ(refusal_of({.server = "127.0.0.1:1", .token = "secret"}), "");
  EXPECT_EQ(refusal_of({.server = "example.org:1"}), "");
}

// A token that can't be sent is refused.
TEST(Credentials, StrangeToken) {
  for (const char* token : {"two words", "line\n", "caf\xc3\xa9"}) {
    EXPECT_TRUE(refusal_of({.server = "127.0.0.1:1", .token = token}).starts_with("token: ")) << token;
  }
}

// Files that are missing or hold something else are errors that name the setting.
TEST(Credentials, Files) {
  const std::string text = testing::TempDir() + "text.pem";
  std::ofstream(text) << "no certificate";
  EXPECT_EQ(refusal_of({.ca = text}), "ca: \"" + text + "\" holds no CERTIFICATE in PEM");
  EXPECT_EQ(refusal_of({.cert = text, .key = text}), "cert: \"" + text + "\" holds no CERTIFICATE in PEM");
  EXPECT_EQ(refusal_of({.cert = text}), "key: it is missing; cert needs it too");
  EXPECT_EQ(refusal_of({.key = text}), "cert: it is missing; key needs it too");
  EXPECT_EQ(refusal_of({.ca = "/missing.pem"}), "ca: \"/missing.pem\" can't be read: No such file or directory");
  EXPECT_EQ(refusal_of({.ca = "/tmp"}).substr(0, 26), "ca: \"/tmp\" can't be read: ");
  std::remove(text.c_str());
}

}  // namespace
}  // namespace happycity
