#include <gtest/gtest.h>

#include <fstream>

#include "bots.h"
#include "certificate.h"
#include "peer.h"

namespace happycity {
namespace {

std::shared_ptr<grpc::ServerCredentials> server_with(const Certificate& certificate, bool asks_for_one) {
  grpc::SslServerCredentialsOptions options(asks_for_one ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                         : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back({certificate.key, certificate.cert});
  options.pem_root_certs = certificate.cert;
  return grpc::SslServerCredentials(options);
}

// A bot plays by TLS, with a CA of its own, a certificate of its own, and a token.
TEST(Tls, Plays) {
  const Certificate own = new_certificate();
  Peer peer(server_with(own, true));
  peer.play(stateless(first), {.token = "secret", .ca = own.cert_file, .cert = own.cert_file, .key = own.key_file});
  EXPECT_EQ(peer.accept()->authorization, std::vector<std::string>{"Bearer secret"});
}

// A server whose certificate is not of a trusted CA is not played on.
TEST(Tls, UntrustedServer) {
  Peer peer(server_with(new_certificate(), false));
  Program& bot = peer.play(stateless(first), {.tls = true});
  EXPECT_NE(bot.end().find("does it use TLS with a certificate of that CA?"), std::string::npos);
  EXPECT_FALSE(peer.has_streams());
}

// A bot without the certificate that the server demands isn't let in.
TEST(Tls, NoCertificate) {
  const Certificate certificate = new_certificate();
  Peer peer(server_with(certificate, true));
  Program& bot = peer.play(stateless(first), {.ca = certificate.cert_file});
  EXPECT_NE(bot.end(), "");
  EXPECT_FALSE(peer.has_streams());
}

// A file that only looks like a certificate leads to no connection, and to nothing worse.
TEST(Tls, DamagedCertificate) {
  const Certificate certificate = new_certificate();
  std::ofstream(certificate.cert_file) << "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  Peer peer(server_with(certificate, false));
  EXPECT_NE(peer.play(stateless(first), {.ca = certificate.cert_file}).end(), "");
}

}  // namespace
}  // namespace happycity
