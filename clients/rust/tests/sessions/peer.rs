//! A scripted server: each stream that a bot opens is handed to the test.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use happycity::v1::{
    Decision, GameStarted, Hello, Move, Ping, PlayRequest, PlayResponse, Pong, Resign, SeatResult, View, Welcome,
};
use happycity::{Bot, Error, GOODBYE_MILLISECONDS, MoveKind, Settings, play};
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

use super::server::play_service_server::{PlayService, PlayServiceServer};

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
        GOODBYE_MILLISECONDS.store(60_000, Ordering::Relaxed);
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
        dialogue.send(PlayResponse { welcome: Some(welcome), ..PlayResponse::default() });
        (dialogue, hello)
    }

    pub(super) fn nobody_came(&mut self) -> bool {
        self.opened.is_empty()
    }

    /// Starts a bot on this peer.
    pub(super) fn play<F, B>(&self, factory: F, mut settings: Settings) -> Program
    where
        F: Fn(&GameStarted) -> B + Send + Sync + 'static,
        B: Bot + 'static,
    {
        settings.server.get_or_insert_with(|| self.address.to_string());
        settings.name.get_or_insert_with(|| "tester".into());
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
    pub(super) fn start(&self, match_ids: &[i64]) {
        let games_started = match_ids.iter().map(|match_id| started(*match_id, 0)).collect();
        self.send(PlayResponse { games_started, ..PlayResponse::default() });
    }

    /// Asks decisions in one batch, by match and number.
    pub(super) fn ask(&self, decisions: &[(i64, u32)]) {
        let decisions = decisions.iter().map(|(match_id, number)| decision(*match_id, 0, *number)).collect();
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

    /// Returns the bot's next message, which holds answers and nothing else, as positions by match.
    pub(super) async fn answers(&mut self) -> BTreeMap<i64, u32> {
        let PlayRequest { answers, .. } = self.next_only(|request| request.answers.clear()).await;
        answers.iter().map(|answer| (answer.match_id, answer.r#move)).collect()
    }

    /// Returns the bot's next answers, of so many games, in one message or several.
    pub(super) async fn gather(&mut self, games: usize) -> BTreeMap<i64, u32> {
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
        let nonce = (1 << 60) + 1;
        self.send(PlayResponse { ping: Some(Ping { nonce }), ..PlayResponse::default() });
        assert_eq!(self.next().await, PlayRequest { pong: Some(Pong { nonce }), ..PlayRequest::default() });
    }

    /// Ends the stream as a network failure does.
    pub(super) fn cut(self) {
        self.fail(Status::unavailable("connection reset"));
    }

    /// Ends the stream with a reason, if it isn't empty, after which the bot may try again with a delay.
    pub(super) fn refuse(self, code: Code, reason: &str, delay: Option<Duration>) {
        self.fail(refusal(code, reason, delay));
    }

    pub(super) fn fail(self, status: Status) {
        self.sending.send(Err(status)).expect("the bot is still there");
    }

    /// Returns the token that the bot showed.
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

/// Returns settings that differ from the default.
pub(super) fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings);
    settings
}

/// Returns the status of a refusal.
pub(super) fn refusal(code: Code, reason: &str, delay: Option<Duration>) -> Status {
    if reason.is_empty() {
        return Status::new(code, "no");
    }
    let mut details = ErrorDetails::with_error_info(reason, "happycity.dev", []);
    if delay.is_some() {
        details.set_retry_info(delay);
    }
    Status::with_error_details(code, "no", details)
}

/// Returns how a game begins.
pub(super) fn started(match_id: i64, seat: u32) -> GameStarted {
    let bots = vec!["a".into(), "b".into()];
    GameStarted { match_id, seat, bots, seed: match_id as u64, ..GameStarted::default() }
}

/// Returns a decision between three moves.
pub(super) fn decision(match_id: i64, seat: u32, decision_id: u32) -> Decision {
    let keep = Move { kind: MoveKind::Keep.into(), ..Move::default() };
    let view = Some(View { seat, ..View::default() });
    Decision { match_id, decision_id, view, moves: vec![keep; 3], ..Decision::default() }
}

/// Returns the results of seats with these places.
pub(super) fn places(places: &[u32]) -> Vec<SeatResult> {
    places.iter().map(|place| SeatResult { place: *place, ..SeatResult::default() }).collect()
}
