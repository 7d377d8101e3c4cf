// Tests of the bot, by `make test`.
#define main bot_main  // that of the bot: a test has one of its own
#include "bot.cpp"
#undef main

#include <cstdio>

int main() {
  const happycity::Move move = happycity::ask(choose, "first.decision");
  if (move.card() != happycity::v1::CARD_SPA) {
    std::printf("it doesn't build the most expensive card, but chose: %s\n", move.ShortDebugString().c_str());
    return 1;
  }
}
