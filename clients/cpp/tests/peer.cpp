#include "peer.h"

#include <utility>

#include "connection.h"
#include "error_details.pb.h"

namespace happycity {
namespace {

[[maybe_unused]] const auto patient_goodbye = goodbye_time = patience;

/// Adds a detail to a status.
void pack(error_details::Status& status, const std::string& type, const google::protobuf::Message& message) {
  error_details::Any& detail = *status.add_details();
  detail.set_type_url(type);
  detail.set_value(message.SerializeAsString());
}

}  // namespace

grpc::Status refusal(grpc::StatusCode code, const std::string& reason,
                     std::optional<std::chrono::milliseconds> retry_after, const std::string& text) {
  error_details::Status status;
  status.set_code(code);
  status.set_message(text);
  if (!reason.empty()) {
    error_details::ErrorInfo info;
    info.set_reason(reason);
    info.set_domain("happycity.dev");
    pack(status, "type.googleapis.com/google.rpc.ErrorInfo", info);
  }
  if (retry_after.has_value()) {
    error_details::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(retry_after->count() / 1000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int>(retry_after->count() % 1000 * 1'000'000));
    pack(status, "type.googleapis.com/google.rpc.RetryInfo", retry);
  }
  return {code, text, status.SerializeAsString()};
}

GameStarted started(std::int64_t match_id, std::uint32_t seat) {
  GameStarted started;
  started.set_match_id(match_id);
  started.set_seat(seat);
  started.set_seed(static_cast<std::uint64_t>(match_id));
  return started;
}

v1::Decision decision(std::int64_t match_id, std::uint32_t decision_id, std::uint32_t seat) {
  v1::Decision decision;
  decision.set_match_id(match_id);
  decision.set_decision_id(decision_id);
  decision.mutable_view()->set_seat(seat);
  for (int i = 0; i < 3; i++) {
    decision.add_moves()->set_kind(v1::MOVE_KIND_KEEP);
  }
  return decision;
}

v1::Welcome new_welcome(const std::string& resume_token, bool resumed) {
  v1::Welcome welcome;
  welcome.set_resume_token(resume_token);
  welcome.set_resumed(resumed);
  return welcome;
}

Dialogue::Dialogue(const grpc::CallbackServerContext& context) {
  const auto [begin, end] = context.client_metadata().equal_range("authorization");
  for (auto each = begin; each != end; ++each) {
    authorization.emplace_back(each->second.data(), each->second.size());
  }
}

void Dialogue::OnReadDone(bool ok) {
  if (!ok) {
    received_.put(std::nullopt);
    if (!lingers) {
      end(grpc::Status::OK);
    }
    return;
  }
  received_.put(request_);
  StartRead(&request_);
}

void Dialogue::OnWriteDone(bool) {
  const std::lock_guard lock(mutex_);
  unsent_.pop_front();
  write_next();
}

void Dialogue::OnDone() {
  const auto last = std::move(self_);
}

void Dialogue::write_next() {
  if (!is_ended_ && !unsent_.empty()) {
    StartWrite(&unsent_.front());
  }
}

void Dialogue::send(v1::PlayResponse batch) {
  const std::lock_guard lock(mutex_);
  unsent_.push_back(std::move(batch));
  if (unsent_.size() == 1) {
    write_next();
  }
}

void Dialogue::ask(const std::vector<v1::Decision>& decisions) {
  v1::PlayResponse batch;
  batch.mutable_decisions()->Add(decisions.begin(), decisions.end());
  send(std::move(batch));
}

void Dialogue::start(std::initializer_list<std::int64_t> match_ids) {
  v1::PlayResponse batch;
  for (const std::int64_t id : match_ids) {
    *batch.add_games_started() = started(id);
  }
  send(std::move(batch));
}

v1::PlayRequest Dialogue::next() {
  std::optional<v1::PlayRequest> request = received_.take("message");
  if (!request.has_value()) {
    throw std::runtime_error("no message: the bot ended its stream");
  }
  return *std::move(request);
}

std::map<std::int64_t, std::uint32_t> Dialogue::gather(std::size_t games) {
  auto moves = answers();
  while (moves.size() < games) {
    moves.merge(answers());
  }
  return moves;
}

bool Dialogue::is_answered() {
  v1::PlayResponse batch;
  batch.mutable_ping()->set_nonce(1);
  send(std::move(batch));
  return received_.take("pong").has_value();
}

std::map<std::int64_t, std::uint32_t> Dialogue::answers() {
  const v1::PlayRequest request = next();
  if (request.has_pong() || request.has_goodbye() || !request.resigns().empty()) {
    throw std::runtime_error("more than answers: " + request.ShortDebugString());
  }
  std::map<std::int64_t, std::uint32_t> moves;
  for (const v1::Answer& answer : request.answers()) {
    moves[answer.match_id()] = answer.move();
  }
  return moves;
}

std::map<std::string, double> Dialogue::metrics() {
  const v1::PlayRequest request = next();
  if (request.answers_size() != 1) {
    throw std::runtime_error("not one answer: " + request.ShortDebugString());
  }
  const auto& metrics = request.answers(0).metrics();
  return {metrics.begin(), metrics.end()};
}

std::vector<v1::PlayRequest> Dialogue::pause() {
  constexpr std::uint64_t nonce = (1ull << 60) + 1;
  v1::PlayResponse batch;
  batch.mutable_ping()->set_nonce(nonce);
  send(std::move(batch));
  std::vector<v1::PlayRequest> sent;
  do {
    sent.push_back(next());
  } while (sent.back().pong().nonce() != nonce);
  return sent;
}

bool Dialogue::was_silent_to_its_end() {
  return !received_.take("end of the stream").has_value();
}

void Dialogue::end(const grpc::Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_ended_, true)) {
      return;
    }
  }
  Finish(status);
}

void Dialogue::cut() {
  end(grpc::Status(grpc::StatusCode::UNAVAILABLE, "connection reset"));
}

Program::Program(Factory factory, Settings settings)
    : thread_([this, factory = std::move(factory), settings = std::move(settings)](const std::stop_token& stop) {
        std::exception_ptr error;
        try {
          happycity::play(factory, settings, stop);
        } catch (...) {
          error = std::current_exception();
        }
        ended_.put(error);
      }) {}

std::string Program::end() {
  try {
    if (const std::exception_ptr error = ended_.take("end of the bot")) {
      std::rethrow_exception(error);
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

Peer::Peer(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", credentials, &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

Peer::~Peer() {
  for (Program& program : programs_) {
    program.stop();
  }
  programs_.clear();
  server_->Shutdown(std::chrono::system_clock::now());
}

Program& Peer::play(Factory factory, Settings settings) {
  settings.server = settings.server.empty() ? address_ : settings.server;
  settings.name = settings.name.empty() ? "tester" : settings.name;
  settings.log = [](Level, std::string_view) {};
  return programs_.emplace_back(std::move(factory), std::move(settings));
}

Peer::Stream Peer::accept() {
  Stream stream = opened_.take("stream");
  const v1::PlayRequest request = stream->next();
  if (!request.has_hello()) {
    throw std::runtime_error("the first message has no hello");
  }
  stream->hello = request.hello();
  return stream;
}

Peer::Stream Peer::welcome(v1::Welcome welcome) {
  Stream stream = accept();
  v1::PlayResponse batch;
  *batch.mutable_welcome() = std::move(welcome);
  stream->send(std::move(batch));
  return stream;
}

grpc::ServerBidiReactor<v1::PlayRequest, v1::PlayResponse>* Peer::Play(grpc::CallbackServerContext* context) {
  const auto stream = std::make_shared<Dialogue>(*context);
  stream->self_ = stream;
  opened_.put(stream);
  stream->StartRead(&stream->request_);
  return stream.get();
}

}  // namespace happycity
