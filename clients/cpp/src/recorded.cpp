#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "happycity/bot.h"

namespace happycity {

std::pair<GameStarted, v1::Decision> read_decision(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error(path.string() + " can't be read: " + std::strerror(errno));
  }
  v1::PlayResponse batch;
  if (!batch.ParseFromIstream(&file) || batch.games_started_size() != 1 || batch.decisions_size() != 1) {
    throw std::runtime_error(path.string() +
                             " is not a decision as this writes it: happycity ask GAME@DECISION --out FILE");
  }
  return {batch.games_started(0), batch.decisions(0)};
}

Move ask(const Factory& factory, const std::filesystem::path& path) {
  const auto [started, message] = read_decision(path);
  const Decision decision(message);
  const std::size_t position = factory(started)->choose(decision);
  if (position >= static_cast<std::size_t>(decision.moves().size())) {
    throw std::out_of_range("the bot chose move " + std::to_string(position) + " of " +
                            std::to_string(decision.moves().size()));
  }
  return decision.moves()[static_cast<int>(position)];
}

}  // namespace happycity
