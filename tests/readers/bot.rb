# A bot on bare gRPC in Ruby, written from docs/protocol.md and proto/ alone: it plays the last move.
require "grpc"
require "happycity/v1/play_service_services_pb"

include Happycity

server = ENV.fetch("HAPPYCITY_SERVER").delete_prefix("grpc://")
metadata = ENV["HAPPYCITY_TOKEN"].to_s.empty? ? {} : {"authorization" => "Bearer #{ENV["HAPPYCITY_TOKEN"]}"}
outbox = Queue.new
outbox << V1::PlayRequest.new(hello: V1::Hello.new(protocol_version: 1, name: ENV["HAPPYCITY_NAME"], max_games: 8))
trap("TERM") { outbox << V1::PlayRequest.new(goodbye: V1::Goodbye.new) << nil }

requests = Enumerator.new do |stream|
  while (request = outbox.pop)
    stream << request
  end
end
service = V1::PlayService::Stub.new(server, :this_channel_is_insecure)
service.play(requests, metadata: metadata).each do |batch|
  answers = batch.decisions.map do |decision|
    V1::Answer.new(
      match_id: decision.match_id,
      decision_id: decision.decision_id,
      move: decision.moves.size - 1,
    )
  end
  pong = batch.ping && V1::Pong.new(nonce: batch.ping.nonce)
  outbox << V1::PlayRequest.new(answers: answers, pong: pong) if pong || answers.any?
end
