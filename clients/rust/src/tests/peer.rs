//! A scripted server: each stream that a bot opens is handed to the test.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::metadata::MetadataMap;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_types::{ErrorDetails, StatusExt};

use crate::v1::play_service_server::{PlayService, PlayServiceServer};
use crate::v1::{
    Decision, GameStarted, Heartbeat, Hello, Keep, Move, PlayRequest, PlayResponse, Resign, Welcome, r#move::Kind,
};
use crate::{Bot, Error, PROTOCOL_VERSION, Settings, play};

/// How long a test waits for what has to happen.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Peer {
    pub(super) address: SocketAddr,
    opened: mpsc::UnboundedReceiver<Dialogue>,
}

impl Peer {
    pub(super) async fn new() -> Self {
        Self::with(Server::builder()).await
    }

    pub(super) async fn with(mut server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (opening, opened) = mpsc::unbounded_channel();
        let serving = server.add_service(PlayServiceServer::new(Script { opening }));
        tokio::spawn(serving.serve_with_incoming(TcpIncoming::from(listener)));
        Self { address, opened }
    }

    /// Waits for the next stream, which begins with a hello.
    pub(super) async fn accept(&mut self) -> (Dialogue, Hello) {
        let mut dialogue = within("stream", self.opened.recv()).await.unwrap();
        let hello = dialogue.next().await.hello.expect("the first message has a hello");
        (dialogue, hello)
    }

    /// Waits for the next stream, and welcomes its bot.
    pub(super) async fn welcome(&mut self, welcome: Welcome) -> (Dialogue, Hello) {
        let (dialogue, hello) = self.accept().await;
        let welcome = Some(Welcome { protocol_version: PROTOCOL_VERSION, ..welcome });
        dialogue.send(PlayResponse { welcome, ..PlayResponse::default() });
        (dialogue, hello)
    }

    pub(super) fn nobody_came(&mut self) -> bool {
        self.opened.is_empty()
    }

    /// Starts a bot on this peer.
    pub(super) fn play<F, B>(&self, factory: F, settings: Settings) -> Program
    where
        F: Fn(&GameStarted) -> B + Send + Sync + 'static,
        B: Bot + 'static,
    {
        let settings = Settings {
            server: settings.server.or_else(|| Some(self.address.to_string())),
            name: settings.name.or_else(|| Some("tester".into())),
            ..settings
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(play(factory, settings, async {
            let _ = stopped.await;
        }));
        Program { stop, ended }
    }
}

struct Script {
    opening: mpsc::UnboundedSender<Dialogue>,
}

#[tonic::async_trait]
impl PlayService for Script {
    type PlayStream = UnboundedReceiverStream<Result<PlayResponse, Status>>;

    async fn play(&self, request: Request<Streaming<PlayRequest>>) -> Result<Response<Self::PlayStream>, Status> {
        let (sending, sent) = mpsc::unbounded_channel();
        let (metadata, _, incoming) = request.into_parts();
        self.opening
            .send(Dialogue { metadata, incoming, sending })
            .map_err(|_| Status::cancelled("the test is over"))?;
        Ok(Response::new(UnboundedReceiverStream::new(sent)))
    }
}

/// The server's end of a stream. When it is dropped, the stream ends in good order.
pub(super) struct Dialogue {
    metadata: MetadataMap,
    incoming: Streaming<PlayRequest>,
    sending: mpsc::UnboundedSender<Result<PlayResponse, Status>>,
}

impl Dialogue {
    pub(super) fn send(&self, batch: PlayResponse) {
        self.sending.send(Ok(batch)).expect("the bot is still there");
    }

    /// Begins games in one batch.
    pub(super) fn start(&self, ids: &[u64]) {
        let bots = vec!["a".into(), "b".into()];
        let start = |id: &u64| GameStarted { game_id: *id, seed: *id, bots: bots.clone(), ..GameStarted::default() };
        self.send(PlayResponse { games_started: ids.iter().map(start).collect(), ..PlayResponse::default() });
    }

    /// Asks decisions in one batch, given as game and number.
    pub(super) fn ask(&self, decisions: &[(u64, u32)]) {
        let decisions = decisions.iter().map(|(game_id, decision_id)| decision(*game_id, *decision_id)).collect();
        self.send(PlayResponse { decisions, ..PlayResponse::default() });
    }

    /// Returns the bot's next message.
    pub(super) async fn next(&mut self) -> PlayRequest {
        within("message", self.incoming.message()).await.unwrap().expect("the bot has not closed its side")
    }

    /// Waits until the bot closes its side.
    pub(super) async fn closed(&mut self) {
        let more = within("end", self.incoming.message()).await.unwrap();
        assert_eq!(more, None);
    }

    /// Returns the bot's next message, which holds answers and nothing else, as positions by game.
    pub(super) async fn answers(&mut self) -> BTreeMap<u64, u32> {
        let PlayRequest { answers, .. } = self.next_only(|request| request.answers.clear()).await;
        answers.iter().map(|answer| (answer.game_id, answer.r#move)).collect()
    }

    /// Returns the bot's next answers, of so many games, in one message or several.
    pub(super) async fn gather(&mut self, games: usize) -> BTreeMap<u64, u32> {
        let mut moves = self.answers().await;
        while moves.len() < games {
            moves.extend(self.answers().await);
        }
        moves
    }

    /// Returns the bot's next message, which holds resignations and nothing else.
    pub(super) async fn resigns(&mut self) -> Vec<Resign> {
        self.next_only(|request| request.resigns.clear()).await.resigns
    }

    async fn next_only(&mut self, strip: impl FnOnce(&mut PlayRequest)) -> PlayRequest {
        let request = self.next().await;
        let mut rest = request.clone();
        strip(&mut rest);
        assert_eq!(rest, PlayRequest::default());
        request
    }

    /// Sends a ping, and checks that the bot sends nothing else before or with its pong.
    pub(super) async fn nothing(&mut self) {
        let ping = Some(Heartbeat { nonce: (1 << 60) + 1 });
        self.send(PlayResponse { ping, ..PlayResponse::default() });
        assert_eq!(self.next().await, PlayRequest { pong: ping, ..PlayRequest::default() });
    }

    /// Ends the stream as a network failure does.
    pub(super) fn cut(self) {
        self.fail(Status::unavailable("connection reset"));
    }

    /// Ends the stream with a reason, if it isn't empty.
    pub(super) fn refuse(self, code: Code, reason: &str, facts: &[(&str, &str)]) {
        let facts = facts.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        self.fail(if reason.is_empty() {
            Status::new(code, "no")
        } else {
            let details = ErrorDetails::with_error_info(reason, "happycity", facts.collect::<HashMap<_, _>>());
            Status::with_error_details(code, "no", details)
        });
    }

    fn fail(self, status: Status) {
        self.sending.send(Err(status)).expect("the bot is still there");
    }

    /// Returns what the call brought with it.
    pub(super) fn authorization(&self) -> Option<&str> {
        self.metadata.get("authorization").map(|value| value.to_str().unwrap())
    }
}

/// A bot that plays in the background.
pub(super) struct Program {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Result<(), Error>>,
}

impl Program {
    /// Stops the bot, and returns how it ends.
    pub(super) fn stop(self) -> JoinHandle<Result<(), Error>> {
        self.stop.send(()).expect("the bot plays");
        self.ended
    }

    /// Drops what plays.
    pub(super) fn abandon(self) {
        self.ended.abort();
    }

    /// Returns how the bot ended by itself.
    pub(super) async fn end(self) -> Result<(), Error> {
        within("end of the bot", self.ended).await.unwrap()
    }
}

pub(super) async fn within<T>(what: &str, event: impl Future<Output = T>) -> T {
    timeout(PATIENCE, event).await.unwrap_or_else(|_| panic!("no {what} within {PATIENCE:?}"))
}

/// Returns a decision between three moves.
pub(super) fn decision(game_id: u64, decision_id: u32) -> Decision {
    let keep = Move { kind: Some(Kind::Keep(Keep {})) };
    Decision { game_id, decision_id, moves: vec![keep; 3], ..Decision::default() }
}
