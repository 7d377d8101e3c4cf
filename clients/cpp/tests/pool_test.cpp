#include "pool.h"

#include <gtest/gtest.h>

#include <set>

#include "mailbox.h"

namespace happycity {
namespace {

using std::chrono::milliseconds;

// Tasks beyond the number of threads wait, and are done in their order.
TEST(Pool, KeepsItsOrder) {
  Pool pool(2);
  Mailbox<int> begun;
  Mailbox<bool> released;
  for (int i = 0; i < 5; i++) {
    pool.submit([&, i] {
      begun.put(i);
      released.take("release");
    });
  }
  EXPECT_EQ((std::set{begun.take("task"), begun.take("task")}), (std::set{0, 1}));
  for (int i = 2; i < 5; i++) {
    EXPECT_TRUE(begun.is_empty());
    released.put(true);
    EXPECT_EQ(begun.take("task"), i);
  }
  released.put(true);
  released.put(true);
  EXPECT_TRUE(pool.wait(patience));
}

// Waiting for tasks that don't end ends after a time.
TEST(Pool, WaitsNotForever) {
  Pool pool(1);
  Mailbox<bool> released;
  EXPECT_TRUE(pool.wait(patience));
  pool.submit([&] { released.take("release"); });
  EXPECT_FALSE(pool.wait(milliseconds(1)));
  released.put(true);
  EXPECT_TRUE(pool.wait(patience));
}

// The last task may own the pool: then its thread outlives that.
TEST(Pool, EndsInATask) {
  Mailbox<bool> released, gone;
  std::shared_ptr<Pool> pool(new Pool(2), [&](Pool* last) {
    delete last;
    gone.put(true);
  });
  Pool& same = *pool;
  same.submit([&released, owned = std::move(pool)] { released.take("release"); });
  released.put(true);
  EXPECT_TRUE(gone.take("end of the pool"));
}

}  // namespace
}  // namespace happycity
