#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "happycity/errors.h"
#include "happycity/play.h"
#include "session.h"
#include "stop_signals.h"

namespace happycity {
namespace {

/// Writes the line about what went wrong, if anything did, and returns the exit status.
int report(const std::exception_ptr& error) {
  if (!error) {
    return 0;
  }
  try {
    std::rethrow_exception(error);
  } catch (const SettingError& wrong) {
    std::fprintf(stderr, "error: %s\n", wrong.what());
  } catch (const ConnectionError& lost) {
    std::fprintf(stderr, "error: %s\n", lost.what());
  }
  return 2;
}

}  // namespace

int run(Factory factory, Settings settings) {
  // gRPC logs the errors that it returns, too; this program writes them in one line. The environment can turn that on.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  Ending ending;
  {
    const StopSignals signals;
    ending = play_to_the_end(std::move(factory), settings, signals.token());
  }
  const int status = report(ending.error);
  if (!ending.is_quiet) {
    // A bot that still thinks may use what the normal exit would destroy.
    std::fflush(nullptr);
    std::_Exit(status);
  }
  return status;
}

}  // namespace happycity
