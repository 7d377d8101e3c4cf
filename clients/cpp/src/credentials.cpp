#include "credentials.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "happycity/errors.h"

namespace happycity {
namespace {

void check_token(const Settings& s) {
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (!std::ranges::all_of(s.token, printable)) {
    throw SettingError("token", "it has a space or another character that is in no token");
  }
  if (!s.token.empty() && !is_encrypted(s) && !s.insecure.value_or(false) && !is_loopback(s.server)) {
    throw SettingError("token", "it would travel unencrypted to " + s.server +
                                    "; use TLS (HAPPYCITY_TLS=1 or HAPPYCITY_CA=FILE), or allow it with "
                                    "HAPPYCITY_INSECURE=1");
  }
}

/// Returns the text of a file.
std::string contents(const char* setting, const std::string& path) {
  try {
    std::ifstream file;
    file.exceptions(std::ios::badbit | std::ios::failbit);
    file.open(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  } catch (const std::ios::failure&) {
    throw SettingError(setting, "\"" + path + "\" can't be read: " + std::strerror(errno));
  }
}

/// Returns the text of a file in PEM that has to hold something whose label ends so.
std::string pem(const char* setting, const std::string& path, std::string_view label) {
  std::string text = contents(setting, path);
  std::string mark(label);
  mark += "-----";
  if (text.find(mark) == std::string::npos) {
    throw SettingError(setting, "\"" + path + "\" holds no " + std::string(label) + " in PEM");
  }
  return text;
}

void identify(const Settings& s, grpc::SslCredentialsOptions& options) {
  if (s.cert.empty() && s.key.empty()) {
    return;
  }
  if (s.cert.empty()) {
    throw SettingError("cert", "it is missing; key needs it too");
  }
  if (s.key.empty()) {
    throw SettingError("key", "it is missing; cert needs it too");
  }
  options.pem_cert_chain = pem("cert", s.cert, "CERTIFICATE");
  options.pem_private_key = pem("key", s.key, "PRIVATE KEY");
}

/// Cuts host and port apart; an IPv6 address may be in brackets.
std::string host_of(std::string_view address) {
  if (address.starts_with('[')) {
    return std::string(address.substr(1, address.find(']') - 1));
  }
  const auto colon = address.find(':');
  return std::string(colon == address.rfind(':') ? address.substr(0, colon) : address);
}

}  // namespace

bool is_encrypted(const Settings& s) {
  return s.tls.value_or(false) || !s.ca.empty() || !s.cert.empty() || !s.key.empty();
}

bool is_loopback(std::string_view server) {
  if (server.starts_with("unix:") || server.starts_with("unix-abstract:")) {
    return true;
  }
  if (server.starts_with("dns:")) {
    server.remove_prefix(4);
  }
  if (server.starts_with("//")) {  // dns://authority/host:port
    const auto slash = server.find('/', 2);
    server = slash == std::string_view::npos ? "" : server.substr(slash);
  }
  if (server.starts_with('/')) {
    server.remove_prefix(1);
  }
  const std::string host = host_of(server);
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return (ntohl(v4.s_addr) >> 24) == 127;
  }
  return host == "localhost" || (inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const Settings& s) {
  check_token(s);
  if (!is_encrypted(s)) {
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  if (!s.ca.empty()) {
    options.pem_root_certs = pem("ca", s.ca, "CERTIFICATE");
  }
  identify(s, options);
  return grpc::SslCredentials(options);
}

}  // namespace happycity
