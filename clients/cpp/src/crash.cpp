#include "crash.h"

#include <exception>

#include "text.h"

#if defined(__GNUG__)
#include <cxxabi.h>

#include <cstdlib>
#endif

namespace happycity {
namespace {

/// Returns the type of the exception that is being handled, where the compiler tells it.
std::string exception_type() {
#if defined(__GNUG__)
  if (const std::type_info* type = abi::__cxa_current_exception_type()) {
    int status = 0;
    char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    const std::string text = status == 0 ? name : type->name();
    std::free(name);
    return text;
  }
#endif
  return "exception";
}

}  // namespace

std::string crash_reason() {
  try {
    throw;
  } catch (const std::exception& error) {
    return one_line(exception_type() + ": " + error.what());
  } catch (...) {
    return one_line(exception_type());
  }
}

}  // namespace happycity
