#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The programs in the README are example bots, which are compiled with all others.
TEST(Readme, ShowsExamples) {
  const std::string readme = text_of(SOURCES "/README.md");
  const std::string programs = text_of(SOURCES "/examples/first.cpp") + text_of(SOURCES "/examples/counting.cpp");
  const std::string open = "```cpp\n", close = "```";
  int blocks = 0;
  for (auto begin = readme.find(open); begin != std::string::npos; begin = readme.find(open, begin)) {
    begin += open.size();
    const std::string block = readme.substr(begin, readme.find(close, begin) - begin);
    EXPECT_NE(programs.find(block), std::string::npos) << "this is no example:\n" << block;
    blocks++;
  }
  EXPECT_EQ(blocks, 2);
}

}  // namespace
