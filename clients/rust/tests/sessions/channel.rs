use std::time::Duration;

use happycity::v1::simulation_service_client::SimulationServiceClient;
use happycity::v1::{ApplyMovesRequest, ApplyMovesResponse, RolloutRequest, RolloutResponse};
use happycity::{Error, retry_after, wait_for};

use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status};

use super::peer::{refusal, settings};
use super::server::simulation_service_server::{SimulationService, SimulationServiceServer};

/// Refuses every call.
struct BusySimulator;

#[tonic::async_trait]
impl SimulationService for BusySimulator {
    async fn apply_moves(&self, request: Request<ApplyMovesRequest>) -> Result<Response<ApplyMovesResponse>, Status> {
        assert_eq!(request.metadata().get("authorization").unwrap(), "Bearer hc_secret");
        Err(refusal(Code::ResourceExhausted, "RATE_LIMITED", Some(Duration::from_millis(1500))))
    }

    async fn rollout(&self, _: Request<RolloutRequest>) -> Result<Response<RolloutResponse>, Status> {
        Err(refusal(Code::Unauthenticated, "UNAUTHENTICATED", Some(Duration::from_millis(1500))))
    }
}

/// Calls go to the bot's server with its token, may be made where bots think, and a refusal says when to try again, if
/// that may help.
#[tokio::test]
async fn calls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap().to_string();
    let serving = Server::builder().add_service(SimulationServiceServer::new(BusySimulator));
    tokio::spawn(serving.serve_with_incoming(TcpIncoming::from(listener)));
    let channel = settings(|s| (s.server, s.token) = (Some(server), Some("hc_secret".into()))).channel().unwrap();
    let mut simulations = SimulationServiceClient::new(channel);
    let called = tokio::task::spawn_blocking(move || {
        (
            wait_for(simulations.apply_moves(ApplyMovesRequest::default())).unwrap_err(),
            wait_for(simulations.rollout(RolloutRequest::default())).unwrap_err(),
        )
    });
    let (busy, refused) = called.await.unwrap();
    assert_eq!(retry_after(&busy), Some(Duration::from_millis(1500)));
    assert_eq!(retry_after(&refused), None);
    assert_eq!(retry_after(&refusal(Code::ResourceExhausted, "RATE_LIMITED", None)), None);
}

/// A token is not sent unencrypted to another machine.
#[tokio::test]
async fn guards_the_token() {
    let elsewhere = settings(|s| {
        s.server = Some("arena.example.org:50051".into());
        s.token = Some("hc_secret".into());
    });
    assert!(matches!(elsewhere.channel(), Err(Error::Setting { setting: "token", .. })));
}
