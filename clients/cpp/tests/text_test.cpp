#include "text.h"

#include <gtest/gtest.h>

namespace happycity {
namespace {

// Characters of all lengths stay, and bytes that are none become question marks.
TEST(Text, IsUtf8) {
  EXPECT_EQ(one_line("a\u00e9\u20ac\U0001f3d9"), "a\u00e9\u20ac\U0001f3d9");
  EXPECT_EQ(one_line("a\xe4z"), "a?z");             // Latin 1
  EXPECT_EQ(one_line("\xc3"), "?");                 // cut off
  EXPECT_EQ(one_line("\xe0\x80\xaf"), "???");       // longer than need be
  EXPECT_EQ(one_line("\xed\xa0\x80"), "???");       // half of a surrogate pair
  EXPECT_EQ(one_line("\xf4\x90\x80\x80"), "????");  // beyond the last character
}

// Control characters and line breaks become single spaces, and 200 characters are kept.
TEST(Text, IsOneLine) {
  EXPECT_EQ(one_line("\x1b[31mred\x07\r\n  two\u009b2J\tthree\x7f "), "[31mred two 2J three");
  EXPECT_EQ(one_line(std::string(1000, '\n')), "");
  EXPECT_EQ(one_line(std::string(1000, 'x')), std::string(200, 'x'));
}

// What is 0 is left out of a place.
TEST(Text, Place) {
  EXPECT_EQ(place(7, 1, 3), "match 7, round 1, decision 3: ");
  EXPECT_EQ(place(7, 0, 3), "match 7, decision 3: ");
  EXPECT_EQ(place(0, 0, 0), "");
}

}  // namespace
}  // namespace happycity
