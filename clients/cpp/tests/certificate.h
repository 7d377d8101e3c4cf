#pragma once

#include <string>

namespace happycity {

/// A certificate for loopback, which is its own CA, and its key, in PEM; and the files that hold them.
struct Certificate {
  std::string cert;
  std::string key;
  std::string cert_file;
  std::string key_file;
};

/// Makes a certificate that is valid for an hour.
Certificate new_certificate();

}  // namespace happycity
