#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "happycity/happycity.h"
#include "happycity/v1/play_service.grpc.pb.h"
#include "mailbox.h"

namespace happycity {

/// Returns a status with a reason of the server's, if it isn't empty, and when to try again.
grpc::Status refusal(grpc::StatusCode code, const std::string& reason,
                     std::optional<std::chrono::milliseconds> retry_after = {}, const std::string& text = "no");

/// Returns how a game begins.
GameStarted started(std::int64_t match_id, std::uint32_t seat = 0);

/// Returns a decision between three moves.
v1::Decision decision(std::int64_t match_id, std::uint32_t decision_id, std::uint32_t seat = 0);

v1::Welcome new_welcome(const std::string& resume_token, bool resumed = false);

/// The server's end of a stream. Its methods throw if the bot doesn't do what they wait for.
class Dialogue final : public grpc::ServerBidiReactor<v1::PlayRequest, v1::PlayResponse> {
 public:
  /// What the bot sent first, and the tokens that its call showed.
  v1::Hello hello;
  std::vector<std::string> authorization;
  /// Whether the stream stays open when the bot has closed its side.
  std::atomic<bool> lingers = false;

  explicit Dialogue(const grpc::CallbackServerContext& context);

  void send(v1::PlayResponse batch);
  /// Sends decisions in one batch.
  void ask(const std::vector<v1::Decision>& decisions);
  /// Begins games in one batch.
  void start(std::initializer_list<std::int64_t> match_ids);
  /// Returns the bot's next message.
  v1::PlayRequest next();
  /// Returns the bot's next answers, of so many games, in one message or several.
  std::map<std::int64_t, std::uint32_t> gather(std::size_t games);
  /// Sends a ping, and returns whether the bot answers it; false if it has ended its stream.
  bool is_answered();
  /// Returns the bot's next message, which holds answers and nothing else, as positions by match.
  std::map<std::int64_t, std::uint32_t> answers();
  /// Returns the metrics of the bot's next message, which holds one answer, by their names.
  std::map<std::string, double> metrics();
  /// Sends a ping, and returns what the bot sent before the pong, pong included.
  std::vector<v1::PlayRequest> pause();
  /// Waits until the bot has closed its side, and returns whether it sent nothing before.
  bool was_silent_to_its_end();
  /// Ends the stream.
  void end(const grpc::Status& status);
  /// Ends the stream as a network failure does.
  void cut();

 private:
  friend class Peer;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;
  void write_next();

  v1::PlayRequest request_;
  Mailbox<std::optional<v1::PlayRequest>> received_;  // nothing: the bot closed its side

  std::mutex mutex_;
  std::deque<v1::PlayResponse> unsent_;  // the first is being written
  bool is_ended_ = false;
  std::shared_ptr<Dialogue> self_;  // until gRPC is done with it
};

/// A bot that plays in the background until the end of the test.
class Program {
 public:
  Program(Factory factory, Settings settings);

  void stop() { thread_.request_stop(); }

  /// Waits for the end of play(), and returns what it said if it threw; else nothing.
  std::string end();

  /// Waits for the end of play(), which throws this.
  template <class Error>
  Error end_with() {
    try {
      if (const std::exception_ptr error = ended_.take("end of the bot")) {
        std::rethrow_exception(error);
      }
    } catch (const Error& error) {
      return error;
    }
    throw std::runtime_error("no error");
  }

 private:
  Mailbox<std::exception_ptr> ended_;
  std::jthread thread_;
};

/// A scripted server: each stream that a bot opens is handed to the test.
class Peer final : private v1::PlayService::CallbackService {
 public:
  using Stream = std::shared_ptr<Dialogue>;

  explicit Peer(const std::shared_ptr<grpc::ServerCredentials>& credentials = grpc::InsecureServerCredentials());
  ~Peer() override;

  const std::string& address() const { return address_; }

  /// Starts a bot on this server. It is stopped at the end of the test.
  Program& play(Factory factory, Settings settings = {});

  /// Waits for the next stream, and for its hello.
  Stream accept();

  /// Waits for the next stream, and welcomes its bot.
  Stream welcome(v1::Welcome welcome = {});

  bool has_streams() const { return !opened_.is_empty(); }

 private:
  grpc::ServerBidiReactor<v1::PlayRequest, v1::PlayResponse>* Play(grpc::CallbackServerContext* context) override;

  Mailbox<Stream> opened_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  std::deque<Program> programs_;
};

}  // namespace happycity
