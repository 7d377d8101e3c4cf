#include "greedy/greedy.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <fstream>

namespace {

// Greedy decides as the reference bot does. Each line is {"decision": ..., "move": N}.
TEST(Greedy, LikeTheReference) {
  std::ifstream file(TESTDATA "/greedy.jsonl");
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    number++;
    const std::string before = "{\"decision\":", after = ",\"move\":";
    const auto end = line.rfind(after);
    ASSERT_TRUE(line.starts_with(before) && end != std::string::npos) << line;
    happycity::v1::Decision decision;
    const std::string json = line.substr(before.size(), end - before.size());
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &decision).ok()) << line;
    EXPECT_EQ(greedy(happycity::Decision(decision)), std::stoul(line.substr(end + after.size())))
        << "line " << number << ": " << line;
  }
  EXPECT_GE(number, 600);
}

}  // namespace
