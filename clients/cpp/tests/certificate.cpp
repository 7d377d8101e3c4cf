#include "certificate.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <fstream>
#include <memory>

namespace happycity {
namespace {

template <auto free>
struct Free {
  void operator()(auto* thing) const { free(thing); }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using X509Pointer = std::unique_ptr<X509, Free<X509_free>>;

/// Returns what a function of OpenSSL writes.
template <class Write>
std::string written(Write write) {
  const std::unique_ptr<BIO, Free<BIO_free>> bio(BIO_new(BIO_s_mem()));
  EXPECT_EQ(write(bio.get()), 1);
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(length)};
}

void extend(X509* certificate, int kind, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509Pointer signed_by(EVP_PKEY* key) {
  X509Pointer certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_set_pubkey(certificate.get(), key);
  extend(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  extend(certificate.get(), NID_subject_alt_name, "IP:127.0.0.1");
  EXPECT_GT(X509_sign(certificate.get(), key, EVP_sha256()), 0);
  return certificate;
}

}  // namespace

Certificate new_certificate() {
  const Key key(EVP_EC_gen("P-256"));
  const X509Pointer x509 = signed_by(key.get());
  Certificate made;
  made.cert = written([&](BIO* bio) { return PEM_write_bio_X509(bio, x509.get()); });
  made.key = written(
      [&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  made.cert_file = testing::TempDir() + "happycity-cert.pem";
  made.key_file = testing::TempDir() + "happycity-key.pem";
  std::ofstream(made.cert_file) << made.cert;
  std::ofstream(made.key_file) << made.key;
  return made;
}

}  // namespace happycity
