use std::time::Duration;

use tokio::runtime::Handle;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Status};

use crate::error::Error;
use crate::settings::Settings;
use crate::stream_status::StreamStatus;

/// A connection for the other services of a server, as their clients in [`v1`](crate::v1) take it.
pub type Channel = InterceptedService<tonic::transport::Channel, Bearer>;

impl Settings {
    /// Prepares a connection for the other services of a server, such as its simulations: to the same address as the
    /// bot's, with the same token and TLS. [`play`](crate::play) makes its own connections. Nothing is sent before
    /// the first call, so a server that isn't there is no error yet.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if a setting can't be used.
    ///
    /// # Panics
    ///
    /// If it is not called within a Tokio runtime. A bot's factory and methods are.
    pub fn channel(self) -> Result<Channel, Error> {
        let setup = self.setup()?;
        Ok(InterceptedService::new(setup.endpoint.connect_lazy(), setup.bearer))
    }
}

/// Waits for a call over a [`Channel`], in a bot's factory or methods, which are not async.
///
/// # Panics
///
/// If it is called elsewhere: outside of a Tokio runtime, or in async code.
pub fn wait_for<F: Future>(call: F) -> F::Output {
    Handle::current().block_on(call)
}

/// Returns how long the server asks to wait before a call that it refused is made again; `None` if it doesn't say so,
/// or if another attempt is pointless.
pub fn retry_after(status: &Status) -> Option<Duration> {
    let status = StreamStatus::from(status.clone());
    status.retry_after.filter(|_| status.is_retryable())
}

/// Adds the token to each call, if there is one.
#[derive(Clone)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

impl Bearer {
    pub(crate) fn new(token: Option<&str>) -> Result<Self, Error> {
        let Some(token) = token else { return Ok(Self(None)) };
        let wrong = |_| Error::Setting { setting: "token", text: "it has characters that are in no token".into() };
        let mut value = MetadataValue::try_from(format!("Bearer {token}")).map_err(wrong)?;
        value.set_sensitive(true);
        Ok(Self(Some(value)))
    }

    pub(crate) fn show(&self, metadata: &mut MetadataMap) {
        if let Some(value) = &self.0 {
            metadata.insert("authorization", value.clone());
        }
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        self.show(request.metadata_mut());
        Ok(request)
    }
}
