#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "happycity/v1/game.pb.h"

namespace happycity {

/// How a game ended, or would end: points and the rest by seat. Rank 1 is first, and equal seats share a rank.
struct Outcome {
  std::vector<int> points;
  std::vector<int> coins;
  std::vector<int> inhabitants;
  std::vector<int> hearts;
  std::vector<int> ranks;

  bool operator==(const Outcome&) const = default;
};

/// A position of the native engine: a game to try moves in, at a decision or at its end. A copy is independent.
///
/// Moves and cards are numbers of one byte: Move.index of the Python package happycity, and the contract's enum Card.
/// `fast` has bit n set for a seat n that never takes a coin if it can buy. Methods throw std::invalid_argument if they
/// refuse something, and then nothing has changed. A library that was built where there is no Rust has no engine: there
/// the functions that make a position throw happycity::Error.
class Position {
 public:
  /// Starts a game on the deal that the arena shuffles from a seed, for 2 to 5 players.
  static Position deal(unsigned players, bool expert, bool sum, std::uint64_t seed);

  /// Draws what is hidden in a view from a seed.
  static Position sample(const v1::View& view, std::uint64_t seed);

  /// Reads what bytes() returned.
  static Position from_bytes(std::span<const std::uint8_t> bytes);

  /// The bytes of the position, which engine/src/bytes.rs describes.
  std::span<const std::uint8_t> bytes() const { return bytes_; }

  /// The round, 1 to 30, or 0 in the market draft.
  int round() const { return bytes_[3]; }
  /// Whose decision it is.
  int seat() const { return bytes_[4]; }
  /// The step that waits.
  v1::Phase phase() const { return static_cast<v1::Phase>(bytes_[5]); }

  /// Returns the legal moves in the order of Decision::moves(), so that the place of one is the answer to a decision.
  /// There are none at the end, and while a card is awaited.
  std::vector<std::uint8_t> legal_moves() const;

  /// Plays a legal move, then every forced one up to the next decision.
  void apply(unsigned move);

  /// Returns how the game ended, once it is over.
  std::optional<Outcome> outcome() const;

  /// Returns how the game would end if it ended now.
  Outcome score() const;

  /// Returns how the seat to decide does, -1 to 1, if it plays a move, after which all play by the quick policy.
  double playout(unsigned move, unsigned fast = 0) const;

  /// Returns the same for each of several moves, which is faster.
  std::vector<double> playouts(std::span<const std::uint8_t> moves, unsigned fast = 0) const;

  /// Returns how the game ends if all play at random.
  Outcome random_playout(std::uint64_t seed) const;

  /// Returns the choice of the quick policy; nothing at the end.
  std::optional<unsigned> quick_move(unsigned fast = 0) const;

  /// Returns the position before the seat's next turn, after a move and quick ones of all, or the end.
  Position next_turn(unsigned move) const;

  /// Returns the same position without hidden orders: at each draw it awaits a card.
  Position opened() const;

  /// Returns the cards of which the position awaits one, each as likely as the others.
  std::vector<std::uint8_t> awaited() const;

  /// Lets the awaited card be this one, and plays on.
  void reveal(unsigned card);

 private:
  explicit Position(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}

  std::vector<std::uint8_t> bytes_;
};

/// Returns the rivals of the seat to decide that have bought a card in every turn so far, for `fast`.
unsigned fast_builders(const v1::View& view);

}  // namespace happycity
