use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::v1::{Answer, Goodbye, Hello, PlayRequest, Pong, Resign};

/// How long an answer waits for others at most, while bots think about other decisions.
const HOLD: Duration = Duration::from_millis(5);

/// Gathers what is to be sent over one connection, until it is due. Its clones are the same outbox.
#[derive(Clone)]
pub(crate) struct Outbox(Arc<Mutex<Gathered>>);

#[derive(Default)]
struct Gathered {
    request: PlayRequest,
    /// When that is due, if it isn't empty.
    due: Option<Due>,
    /// Who waits to send it.
    sender: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq)]
enum Due {
    Now,
    At(Instant),
}

impl Outbox {
    /// Returns an outbox whose first message is a hello.
    pub(crate) fn new(hello: Hello) -> Self {
        let request = PlayRequest { hello: Some(hello), ..PlayRequest::default() };
        Self(Arc::new(Mutex::new(Gathered { request, due: Some(Due::Now), sender: None })))
    }

    /// Adds an answer; it waits for others, but not for long.
    pub(crate) fn answer(&self, answer: Answer) {
        let mut gathered = self.lock();
        gathered.request.answers.push(answer);
        if gathered.due.is_none() {
            gathered.is_due(Due::At(Instant::now() + HOLD));
        }
    }

    /// Adds that a game is given up.
    pub(crate) fn resign(&self, resign: Resign) {
        let mut gathered = self.lock();
        gathered.request.resigns.push(resign);
        gathered.is_due(Due::Now);
    }

    /// Adds the answer to a ping. A batch holds one: the newest says all that an older one would.
    pub(crate) fn pong(&self, nonce: u64) {
        let mut gathered = self.lock();
        gathered.request.pong = Some(Pong { nonce });
        gathered.is_due(Due::Now);
    }

    /// Adds that the bot leaves for good.
    pub(crate) fn goodbye(&self) {
        let mut gathered = self.lock();
        gathered.request.goodbye = Some(Goodbye {});
        gathered.is_due(Due::Now);
    }

    /// Takes back what is still to be sent about a match.
    pub(crate) fn forget(&self, match_id: i64) {
        let Gathered { request, .. } = &mut *self.lock();
        request.answers.retain(|answer| answer.match_id != match_id);
        request.resigns.retain(|resign| resign.match_id != match_id);
    }

    /// Makes due what has gathered. An empty batch is never due: the next answer would be sent on its own.
    pub(crate) fn flush(&self) {
        let mut gathered = self.lock();
        if gathered.due.is_some() {
            gathered.is_due(Due::Now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.0.lock().expect("nothing panics while it holds the outbox")
    }
}

impl Gathered {
    fn is_due(&mut self, due: Due) {
        if self.due == Some(Due::Now) {
            return;
        }
        self.due = Some(due);
        if let Some(sender) = self.sender.take() {
            sender.wake();
        }
    }

    /// Returns what has gathered, and begins an empty batch; `None` if everything was taken back.
    fn take(&mut self) -> Option<PlayRequest> {
        self.due = None;
        let request = mem::take(&mut self.request);
        (request != PlayRequest::default()).then_some(request)
    }
}

/// The requests of one connection: what its outbox gathers, whenever it is due. They end after the goodbye.
pub(crate) struct Requests {
    outbox: Outbox,
    hold: Pin<Box<Sleep>>,
    ended: bool,
}

impl Requests {
    pub(crate) fn of(outbox: Outbox) -> Self {
        Self { outbox, hold: Box::pin(sleep_until(Instant::now())), ended: false }
    }
}

impl Stream for Requests {
    type Item = PlayRequest;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<PlayRequest>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let Self { outbox, hold, ended } = &mut *self;
        let mut gathered = outbox.lock();
        while let Some(due) = gathered.due {
            if let Due::At(time) = due {
                if hold.deadline() != time {
                    hold.as_mut().reset(time);
                }
                if hold.as_mut().poll(context).is_pending() {
                    break;
                }
            }
            if let Some(request) = gathered.take() {
                *ended = request.goodbye.is_some();
                return Poll::Ready(Some(request));
            }
        }
        gathered.sender = Some(context.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task;

    use super::*;

    fn answer(match_id: i64) -> Answer {
        Answer { match_id, ..Answer::default() }
    }

    fn resign(match_id: i64) -> Resign {
        Resign { match_id, ..Resign::default() }
    }

    /// Returns an outbox whose hello was sent, and its requests.
    async fn open() -> (Outbox, Requests) {
        let outbox = Outbox::new(Hello { name: "me".into(), ..Hello::default() });
        outbox.answer(answer(9));
        outbox.forget(9);
        let mut requests = Requests::of(outbox.clone());
        assert_eq!(next(&mut requests).await.unwrap().hello.unwrap().name, "me");
        (outbox, requests)
    }

    async fn next(requests: &mut Requests) -> Option<PlayRequest> {
        poll_fn(|context| Pin::new(&mut *requests).poll_next(context)).await
    }

    fn due(requests: &mut Requests) -> bool {
        Pin::new(requests).poll_next(&mut Context::from_waker(task::Waker::noop())).is_ready()
    }

    /// What has gathered is sent as one message, and then there is nothing left.
    #[tokio::test(start_paused = true)]
    async fn gathers() {
        let (outbox, mut requests) = open().await;
        outbox.answer(answer(1));
        outbox.answer(answer(2));
        outbox.resign(resign(3));
        outbox.pong(1);
        outbox.pong(2);
        let request = next(&mut requests).await.unwrap();
        assert_eq!((request.answers.len(), request.resigns.len(), request.pong.unwrap().nonce), (2, 1, 2));
        assert!(!due(&mut requests));
    }

    /// A held answer is due after a while, even if nothing else happens, or when all others are there.
    #[tokio::test(start_paused = true)]
    async fn holds() {
        let (outbox, mut requests) = open().await;
        let begun = Instant::now();
        outbox.answer(answer(1));
        assert!(!due(&mut requests));
        assert_eq!(next(&mut requests).await.unwrap().answers, [answer(1)]);
        assert!(begun.elapsed() >= HOLD, "held for {:?}", begun.elapsed());
        outbox.answer(answer(2));
        outbox.flush();
        assert!(due(&mut requests));
    }

    /// An empty batch is never due.
    #[tokio::test(start_paused = true)]
    async fn empty() {
        let (outbox, mut requests) = open().await;
        outbox.flush();
        assert!(!due(&mut requests));
        outbox.answer(answer(1));
        outbox.forget(1);
        outbox.flush();
        assert!(!due(&mut requests));
    }

    /// After the end of a match nothing is sent about it.
    #[tokio::test(start_paused = true)]
    async fn forgets() {
        let (outbox, mut requests) = open().await;
        outbox.answer(answer(1));
        outbox.answer(answer(2));
        outbox.resign(resign(1));
        outbox.forget(1);
        let request = next(&mut requests).await.unwrap();
        assert_eq!(request, PlayRequest { answers: vec![answer(2)], ..PlayRequest::default() });
    }

    /// The goodbye is the last message.
    #[tokio::test(start_paused = true)]
    async fn ends() {
        let (outbox, mut requests) = open().await;
        outbox.goodbye();
        assert!(next(&mut requests).await.unwrap().goodbye.is_some());
        assert_eq!(next(&mut requests).await, None);
    }
}
