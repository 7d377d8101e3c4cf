#include "happycity/channel.h"

#include <grpcpp/support/client_interceptor.h>

#include <string>
#include <utility>
#include <vector>

#include "credentials.h"
#include "stream_status.h"

namespace happycity {
namespace {

using namespace grpc::experimental;

/// Adds the token to each call. gRPC's own credentials of calls refuse unencrypted connections, also those that stay on
/// this machine.
class Bearer final : public Interceptor, public ClientInterceptorFactoryInterface {
 public:
  explicit Bearer(std::string authorization) : authorization_(std::move(authorization)) {}

  Interceptor* CreateClientInterceptor(ClientRpcInfo*) override { return new Bearer(authorization_); }

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", authorization_);
    }
    methods->Proceed();
  }

 private:
  std::string authorization_;
};

}  // namespace

std::shared_ptr<grpc::Channel> open_channel(const Settings& settings) {
  const Settings s = settings.with_environment();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(largest_message);
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptors;
  if (!s.token.empty()) {
    interceptors.push_back(std::make_unique<Bearer>("Bearer " + s.token));
  }
  return CreateCustomChannelWithInterceptors(s.server, credentials_of(s), arguments, std::move(interceptors));
}

std::optional<std::chrono::milliseconds> retry_after(const grpc::Status& status) {
  const StreamStatus refused = StreamStatus::of(status);
  return refused.is_retryable() ? refused.retry_after : std::nullopt;
}

}  // namespace happycity
