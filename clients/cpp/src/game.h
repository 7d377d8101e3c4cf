#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "happycity/bot.h"

namespace happycity {

/// How far a bot is with the decision that it was asked last.
enum class Thought {
  idle,      // it was asked nothing, or has no answer though its time is up
  thinking,  // it was asked
  answered,  // it answered
};

/// A bot at one table, and what is known of the decision that it was asked last. Guarded by the mutex of Games.
struct Game {
  explicit Game(std::uint64_t number) : id(number) {}

  const std::uint64_t id;
  std::unique_ptr<Bot> bot;  // made by the first chore; its virtual methods are called by chores only
  bool is_over = false;

  std::uint32_t asked = 0;  // the decision that the bot was asked last, or 0
  Thought thought = Thought::idle;
  v1::Answer answer;       // once there is one
  bool is_wanted = false;  // whether the present connection's server waits for that answer

  std::deque<std::function<void()>> chores;  // what the bot is to do next
  bool is_busy = false;                      // whether it does something
};

/// Makes the bot of a game. Throws what the author's code throws, and an error if that made none.
std::unique_ptr<Bot> make_bot(const Factory& factory, const GameStarted& start);

/// Asks a bot, and holds its answer to the moves there are; else throws.
v1::Answer ask_bot(Bot& bot, const Decision& decision);

/// Tells a bot how its game ended.
void tell_bot(Bot& bot, const GameOver& over);

/// Says in words what was thrown; to be called where it was caught.
std::string what_was_thrown();

/// Returns the beginning of a text, as much as the server keeps of a resignation's reason, in valid UTF-8: anything
/// else would make the whole message unreadable.
std::string readable(std::string_view text);

}  // namespace happycity
