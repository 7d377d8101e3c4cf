#pragma once

#include <memory>
#include <utility>

#include "happycity/happycity.h"
#include "mailbox.h"

namespace happycity {

inline std::size_t first(const Decision&) {
  return 0;
}

/// Answers with how often it was asked before, 0 to 2.
class Counter : public Bot {
 public:
  std::size_t choose(const Decision&) override { return asked_++ % 3; }

 private:
  std::size_t asked_ = 0;
};

/// As Counter, and notes its answers but for the one 1.
class Noter : public Counter {
 public:
  std::size_t choose(const Decision& decision) override {
    const std::size_t answer = Counter::choose(decision);
    if (answer != 1) {
      note("depth", 7);
      note("nodes of " + std::to_string(decision.decision_id()), 0.5);
      note("depth", static_cast<double>(answer));
    }
    return answer;
  }
};

/// A decision that a Thinker was asked, which waits for the test's answer.
struct Question {
  Decision decision;
  std::function<bool()> out_of_time;
  Mailbox<std::size_t> answer;
};
using Questions = Mailbox<std::shared_ptr<Question>>;

/// A bot whose answers are given by the test. It doesn't care whether it is out of time.
class Thinker : public Bot {
 public:
  explicit Thinker(Questions& asked) : asked_(asked) {}

  std::size_t choose(const Decision& decision) override {
    const auto question = std::make_shared<Question>();
    question->decision = decision;
    question->out_of_time = [this] { return out_of_time(); };
    asked_.put(question);
    return question->answer.take("answer of the test");
  }

  static Factory made_for(Questions& asked) {
    return [&asked](const GameStarted&) { return std::make_unique<Thinker>(asked); };
  }

 private:
  Questions& asked_;
};

/// What Listeners heard of the ends of their games.
struct Heard {
  Mailbox<GameOver> overs;
  Mailbox<VoidReason> voids;
};

/// A bot that tells how its games ended.
class Listener : public Bot {
 public:
  explicit Listener(Heard& heard) : heard_(heard) {}

  std::size_t choose(const Decision&) override { return 0; }
  void game_over(const GameOver& over) override { heard_.overs.put(over); }
  void game_voided(VoidReason reason) override { heard_.voids.put(reason); }

  static Factory made_for(Heard& heard) {
    return [&heard](const GameStarted&) { return std::make_unique<Listener>(heard); };
  }

 private:
  Heard& heard_;
};

}  // namespace happycity
