#include "game.h"

#include <gtest/gtest.h>

namespace happycity {
namespace {

// A reason is cut between characters, after 200 of them.
TEST(Readable, IsCut) {
  std::string long_one, short_one;
  for (int i = 0; i < 300; i++) {
    long_one += "ä";
    short_one += i < 200 ? "ä" : "";
  }
  EXPECT_EQ(readable(long_one), short_one);
  EXPECT_EQ(readable("lost my notes"), "lost my notes");
  EXPECT_EQ(readable(""), "");
}

// Characters of all lengths stay, and bytes that are none become question marks.
TEST(Readable, IsUtf8) {
  EXPECT_EQ(readable("a\u00e9\u20ac\U0001f3d9"), "a\u00e9\u20ac\U0001f3d9");
  EXPECT_EQ(readable("a\xe4z"), "a?z");             // Latin 1
  EXPECT_EQ(readable("\xc3"), "?");                 // cut off
  EXPECT_EQ(readable("\xc0\xaf"), "??");            // longer than need be
  EXPECT_EQ(readable("\xe0\x80\xaf"), "???");       // the same
  EXPECT_EQ(readable("\xed\xa0\x80"), "???");       // half of a surrogate pair
  EXPECT_EQ(readable("\xf4\x90\x80\x80"), "????");  // beyond the last character
  EXPECT_EQ(readable("\xf0\x8f\xbf\xbf"), "????");  // longer than need be
  EXPECT_EQ(readable("\xff"), "?");
}

}  // namespace
}  // namespace happycity
