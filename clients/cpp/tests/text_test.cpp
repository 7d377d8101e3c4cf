#include "text.h"

#include <gtest/gtest.h>

namespace happycity {
namespace {

// A text is cut between characters, after 200 of them.
TEST(Text, IsCut) {
  std::string long_one, short_one;
  for (int i = 0; i < 300; i++) {
    long_one += "ä";
    short_one += i < 200 ? "ä" : "";
  }
  EXPECT_EQ(valid_utf8(long_one), short_one);
  EXPECT_EQ(valid_utf8("lost my notes"), "lost my notes");
  EXPECT_EQ(valid_utf8(""), "");
}

// Characters of all lengths stay, and bytes that are none become question marks.
TEST(Text, IsUtf8) {
  EXPECT_EQ(valid_utf8("a\u00e9\u20ac\U0001f3d9"), "a\u00e9\u20ac\U0001f3d9");
  EXPECT_EQ(valid_utf8("a\xe4z"), "a?z");             // Latin 1
  EXPECT_EQ(valid_utf8("\xc3"), "?");                 // cut off
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "??");            // longer than need be
  EXPECT_EQ(valid_utf8("\xe0\x80\xaf"), "???");       // the same
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "???");       // half of a surrogate pair
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), "????");  // beyond the last character
  EXPECT_EQ(valid_utf8("\xf0\x8f\xbf\xbf"), "????");  // longer than need be
  EXPECT_EQ(valid_utf8("\xff"), "?");
}

// Control characters and line breaks become single spaces.
TEST(Text, IsOneLine) {
  EXPECT_EQ(one_line("\x1b[31mred\x07\r\n  two\u009b2J\tthree\x7f "), "[31mred two 2J three");
  EXPECT_EQ(one_line(std::string(1'000'000, '\n')), "");
  EXPECT_EQ(one_line(std::string(1000, 'x')), std::string(200, 'x'));
  EXPECT_EQ(one_line(std::string_view("\0", 1)), "");
}

// What is 0 is left out of a place.
TEST(Text, Place) {
  EXPECT_EQ(place(7, 1, 3), "match 7, round 1, decision 3");
  EXPECT_EQ(place(7, 0, 3), "match 7, decision 3");
  EXPECT_EQ(place(0), "");
}

}  // namespace
}  // namespace happycity
