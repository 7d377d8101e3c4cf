#include "happycity/channel.h"

#include <gtest/gtest.h>

#include "happycity/errors.h"
#include "happycity/v1/simulation_service.grpc.pb.h"
#include "peer.h"

namespace happycity {
namespace {

using std::chrono::milliseconds;

/// Refuses every call, with the tokens that it was shown as the text.
class BusySimulator final : public v1::SimulationService::Service {
  grpc::Status ApplyMoves(grpc::ServerContext* context, const v1::ApplyMovesRequest*,
                          v1::ApplyMovesResponse*) override {
    std::string shown;
    const auto [begin, end] = context->client_metadata().equal_range("authorization");
    for (auto each = begin; each != end; ++each) {
      shown.append(each->second.data(), each->second.size());
    }
    return refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "RATE_LIMITED", milliseconds(1500), shown);
  }
};

// Calls go to the bot's server with its token, and a refusal says when to try again.
TEST(Channel, ShowsTheToken) {
  BusySimulator simulator;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&simulator);
  const auto server = builder.BuildAndStart();
  const auto channel = open_channel({.server = "127.0.0.1:" + std::to_string(port), .token = "hc_secret"});
  const auto simulations = v1::SimulationService::NewStub(channel);
  grpc::ClientContext context;
  v1::ApplyMovesResponse response;
  const grpc::Status status = simulations->ApplyMoves(&context, {}, &response);
  EXPECT_EQ(status.error_message(), "Bearer hc_secret");
  EXPECT_EQ(retry_after(status), milliseconds(1500));
}

// Without such a time, or if trying again is pointless, there is none.
TEST(Channel, RetryAfter) {
  EXPECT_EQ(retry_after(grpc::Status::OK), std::nullopt);
  EXPECT_EQ(retry_after(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", "no details")), std::nullopt);
  EXPECT_EQ(retry_after(refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "RATE_LIMITED")), std::nullopt);
  EXPECT_EQ(retry_after(refusal(grpc::StatusCode::ABORTED, "REPLACED", milliseconds(1500))), std::nullopt);
}

// A token is not sent unencrypted to another machine.
TEST(Channel, GuardsTheToken) {
  EXPECT_THROW(open_channel({.server = "arena.example.org:50051", .token = "hc_secret"}), SettingError);
}

}  // namespace
}  // namespace happycity
