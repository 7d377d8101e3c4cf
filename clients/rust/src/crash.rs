//! The boundary to the author's code: a bot that panics crashes alone.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

use crate::text::one_line;

thread_local! {
    /// File and line of this thread's last panic.
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Calls the author's code, and turns a panic into its reason in one line, with the place where it happened.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    note_places();
    catch_unwind(AssertUnwindSafe(call)).map_err(|cause| {
        let place = PLACE.take().map_or_else(String::new, |place| format!(" ({place})"));
        one_line(&format!("panic: {}{place}", message(&*cause)))
    })
}

/// Has panics leave their place behind, besides what the program does about them.
fn note_places() {
    static NOTED: Once = Once::new();
    NOTED.call_once(|| {
        let earlier = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            PLACE.set(panic.location().map(|at| {
                let file = Path::new(at.file()).file_name().unwrap_or_default();
                format!("{}:{}", file.to_string_lossy(), at.line())
            }));
            earlier(panic);
        }));
    });
}

fn message(cause: &(dyn Any + Send)) -> &str {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
