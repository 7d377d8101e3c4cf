#include "pauses.h"

#include <gtest/gtest.h>

#include "cases.h"

namespace happycity {
namespace {

// The pauses are those of all SDKs, in milliseconds; streams take no time.
TEST(Pauses, OfAllSdks) {
  const auto milliseconds = [](const google::protobuf::Value& number) {
    return Pauses::Milliseconds(static_cast<int>(number.number_value()));
  };
  for (const auto& each : cases_of("pauses.jsonl")) {
    const auto& fields = each.fields();
    Pauses pauses(milliseconds(fields.at("reconnect")));
    Pauses::Time now = std::chrono::steady_clock::now();
    auto expected = fields.at("pauses").list_value().values().begin();
    for (const auto& stream : fields.at("streams").list_value().values()) {
      const auto& parts = stream.struct_value().fields();
      const int messages = static_cast<int>(parts.at("messages").number_value());
      const auto pause = pauses.next(now, messages, milliseconds(parts.at("delay")), fields.at("share").number_value());
      ASSERT_EQ(pause.has_value(), !expected->has_null_value()) << fields.at("name").string_value();
      if (pause.has_value()) {
        EXPECT_EQ(*pause, milliseconds(*expected)) << fields.at("name").string_value();
        now += *pause;
      }
      ++expected;
    }
  }
}

}  // namespace
}  // namespace happycity
