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
      decision.note("depth", 7);
      decision.note("nodes of " + std::to_string(decision.decision_id()), 0.5);
      decision.note("depth", static_cast<double>(answer));
    }
    return answer;
  }
};

/// A decision that waits for the test's answer.
struct Question {
  explicit Question(const Decision& asked) : decision(asked), match_id(asked.match_id()) {}

  const Decision& decision;  // until the answer
  const std::int64_t match_id;
  Mailbox<std::size_t> answer;
};
using Questions = Mailbox<std::shared_ptr<Question>>;

/// A bot that leaves the choice to the test. It ignores whether the decision is open.
class Thinker : public Bot {
 public:
  explicit Thinker(Questions& asked) : asked_(asked) {}

  std::size_t choose(const Decision& decision) override {
    const auto question = std::make_shared<Question>(decision);
    asked_.put(question);
    return question->answer.take("answer of the test");
  }

  static Factory made_for(Questions& asked) {
    return [&asked](const GameStarted&) { return std::make_unique<Thinker>(asked); };
  }

 private:
  Questions& asked_;
};

/// How Listeners' games ended.
struct Ends {
  Mailbox<GameOver> overs;
  Mailbox<std::pair<std::int64_t, VoidReason>> voids;
};

/// A bot that reports how its games ended.
class Listener : public Bot {
 public:
  explicit Listener(Ends& ends) : ends_(ends) {}

  std::size_t choose(const Decision&) override { return 0; }
  void game_over(const GameOver& over) override { ends_.overs.put(over); }
  void game_voided(std::int64_t match_id, VoidReason reason) override { ends_.voids.put({match_id, reason}); }

  static Factory made_for(Ends& ends) {
    return [&ends](const GameStarted&) { return std::make_unique<Listener>(ends); };
  }

 private:
  Ends& ends_;
};

}  // namespace happycity
