use std::collections::HashMap;
use std::time::Duration;

use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::v1::simulation_service_client::SimulationServiceClient;
use crate::v1::simulation_service_server::{SimulationService, SimulationServiceServer};
use crate::v1::{ExploreRequest, ExploreResponse, RollOutRequest, RollOutResponse};
use crate::{Error, Settings, retry_after, wait_for};

/// Refuses every call with the token that it was shown.
struct BusySimulator;

#[tonic::async_trait]
impl SimulationService for BusySimulator {
    async fn explore(&self, request: Request<ExploreRequest>) -> Result<Response<ExploreResponse>, Status> {
        let token = request.metadata().get("authorization").map_or("", |value| value.to_str().unwrap());
        let facts = HashMap::from([("retry_after_ms".into(), "1500".into())]);
        let details = ErrorDetails::with_error_info("RATE_LIMITED", "happycity", facts);
        Err(Status::with_error_details(Code::ResourceExhausted, token, details))
    }

    async fn roll_out(&self, _: Request<RollOutRequest>) -> Result<Response<RollOutResponse>, Status> {
        Err(Status::unimplemented("this simulator only explores"))
    }
}

/// Calls go to the bot's server with its token, may be made where bots think, and a refusal tells when to come back.
#[tokio::test]
async fn calls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = Some(listener.local_addr().unwrap().to_string());
    let serving = Server::builder().add_service(SimulationServiceServer::new(BusySimulator));
    tokio::spawn(serving.serve_with_incoming(TcpIncoming::from(listener)));
    let channel = Settings { server, token: Some("hc_secret".into()), ..Settings::default() }.channel().unwrap();
    let mut simulations = SimulationServiceClient::new(channel);
    let called = tokio::task::spawn_blocking(move || wait_for(simulations.explore(ExploreRequest::default())));
    let refusal = called.await.unwrap().unwrap_err();
    assert_eq!(refusal.message(), "Bearer hc_secret");
    assert_eq!(retry_after(&refusal), Some(Duration::from_millis(1500)));
    assert_eq!(retry_after(&Status::internal("anything else")), None);
}

/// A token is not sent in the clear to another machine.
#[tokio::test]
async fn guards_the_token() {
    let settings = Settings {
        server: Some("arena.example.org:50051".into()),
        token: Some("hc_secret".into()),
        ..Settings::default()
    };
    assert!(matches!(settings.channel(), Err(Error::Setting { setting: "token", .. })));
}
