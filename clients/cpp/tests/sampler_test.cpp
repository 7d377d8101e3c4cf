#include "sampler/sampler.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>

#include "peer.h"

namespace happycity {
namespace {

/// A server that answers calls one after the other; the last answer is repeated.
class Script final : public v1::SimulationService::Service {
 public:
  std::deque<grpc::Status> refusals;
  v1::RolloutResponse answer;
  std::deque<v1::RolloutRequest> requests;
  std::map<std::string, double> notes;  // of the last choice

  Script() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    const auto credentials = grpc::InsecureChannelCredentials();
    stub_ = v1::SimulationService::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port), credentials));
  }

  void add(std::initializer_list<double> points) {
    v1::RolloutResult& result = *answer.add_results();
    for (const double mean : points) {
      result.add_seats()->set_points_mean(mean);
    }
  }

  /// Returns what a new bot decides between three moves.
  std::size_t choice() {
    v1::Decision three = decision(1, 7, 1);
    three.mutable_view()->set_round(3);
    const Decision asked(three);
    std::timed_mutex turn;
    const std::size_t choice = Sampler(*stub_, turn).choose(asked);
    notes = asked.notes();
    return choice;
  }

 private:
  grpc::Status Rollout(grpc::ServerContext*, const v1::RolloutRequest* request,
                       v1::RolloutResponse* response) override {
    requests.push_back(*request);
    if (requests.size() <= refusals.size()) {
      return refusals[requests.size() - 1];
    }
    *response = answer;
    return grpc::Status::OK;
  }

  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::SimulationService::Stub> stub_;
};

// The move after which the own seat leads by most is played, not the one with the most points, and the lead is noted.
TEST(Sampler, FurthestAhead) {
  Script script;
  script.add({50, 60, 10});
  script.add({20, 55, 30});
  script.add({70, 80, 20});
  EXPECT_EQ(script.choice(), 1u);
  EXPECT_EQ(script.notes, (std::map<std::string, double>{{"lead", 25}, {"playouts", 40}}));
  const v1::RolloutRequest& request = script.requests.at(0);
  EXPECT_TRUE(request.each_move());
  EXPECT_EQ(request.playouts(), 40u);
  EXPECT_EQ(request.lines(0).view().round(), 3u);
}

// A sampler that is refused because it asked too often asks again later.
TEST(Sampler, Limited) {
  Script script;
  script.refusals = {refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "RATE_LIMITED", std::chrono::milliseconds(1))};
  script.add({0, 0});
  script.add({0, 0});
  script.add({0, 1});
  EXPECT_EQ(script.choice(), 2u);
  EXPECT_EQ(script.requests.size(), 2u);
}

// Without simulations the neutral move is played, and the game goes on.
TEST(Sampler, WithoutSimulations) {
  Script script;
  script.refusals = {grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "turned off")};
  EXPECT_EQ(script.choice(), 0u);
  EXPECT_TRUE(script.notes.empty());
}

}  // namespace
}  // namespace happycity
