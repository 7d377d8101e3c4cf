#include "worker_streams.h"

#include <chrono>
#include <exception>
#include <utility>

namespace happycity {
namespace {

/// When the server is lost for good, its workers are given up too.
constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 3650);

}  // namespace

WorkerStreams::WorkerStreams(const Settings& settings, Play play) : settings_(settings), play_(std::move(play)) {}

WorkerStreams::~WorkerStreams() {
  for (const auto& [address, stream] : streams_) {
    stream->thread.request_stop();  // all of them, before one is waited for
  }
}

void WorkerStreams::follow(const std::set<std::string>& addresses) {
  const std::set<std::string> wanted = *settings_.games == unlimited ? addresses : std::set<std::string>();
  for (auto next = streams_.begin(); next != streams_.end();) {
    const auto each = next++;
    if (!wanted.contains(each->first)) {
      each->second->thread.request_stop();
      left_.push_back(std::move(each->second));
      streams_.erase(each);
    }
  }
  for (const std::string& address : wanted) {
    std::unique_ptr<Stream>& stream = streams_[address];
    if (stream == nullptr || stream->has_ended) {
      stream = open(address);
    }
  }
}

std::unique_ptr<WorkerStreams::Stream> WorkerStreams::open(const std::string& address) const {
  auto stream = std::make_unique<Stream>();
  stream->thread = std::jthread([this, address, &has_ended = stream->has_ended](const std::stop_token& stop) {
    keep(address, stop);
    has_ended = true;
  });
  return stream;
}

void WorkerStreams::keep(const std::string& address, const std::stop_token& stop) const {
  Settings of_worker = settings_;
  of_worker.server = address;
  of_worker.wait = of_worker.reconnect = longest;
  try {
    play_(of_worker, stop);
  } catch (const std::exception& error) {
    settings_.log(Level::warning, settings_.name + ": no games at the worker " + address + ": " + error.what());
  }
}

}  // namespace happycity
