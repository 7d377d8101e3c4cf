#include "backoff.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace happycity {

// Pauses are random, and their bound doubles from 0.1 s to 5 s.
TEST(Backoff, Doubles) {
  Backoff backoff;
  std::chrono::milliseconds bound = Backoff::first_pause;
  for (int attempt = 0; attempt < 20; attempt++) {
    const auto pause = backoff.next();
    EXPECT_GE(pause.count(), 0);
    EXPECT_LT(pause, bound);
    bound = std::min(2 * bound, Backoff::longest_pause);
  }
  backoff.reset();
  EXPECT_LT(backoff.next(), Backoff::first_pause);
}

}  // namespace happycity
