#pragma once

#include <cstdlib>
#include <string>
#include <utility>

namespace happycity {

/// Sets a variable of the environment until the end of the test.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_.c_str()); }

 private:
  std::string name_;
};

}  // namespace happycity
