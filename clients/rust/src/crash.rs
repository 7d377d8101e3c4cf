//! The boundary to the author's code: a bot that panics crashes alone.

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, Once};

use crate::text::one_line;

thread_local! {
    /// File and line of this thread's last panic.
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
    /// Whether this thread is in the author's code.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls the author's code, and turns a panic into its reason in one line, with the place where it happened.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    note_places();
    let outside = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(outside);
    result.map_err(|cause| {
        let place = PLACE.take().map_or_else(String::new, |place| format!(" ({place})"));
        one_line(&format!("panic: {}{place}", message(&*cause)))
    })
}

/// Has panics leave their place behind, besides what the program does about them: for a bot's panics only the first
/// time that they come from a place, since a bot that panics in one game often does so in all.
fn note_places() {
    static NOTED: Once = Once::new();
    static SEEN: Mutex<BTreeSet<Option<String>>> = Mutex::new(BTreeSet::new());
    NOTED.call_once(|| {
        let earlier = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(|at| {
                let file = Path::new(at.file()).file_name().unwrap_or_default();
                format!("{}:{}", file.to_string_lossy(), at.line())
            });
            let new = SEEN.lock().is_ok_and(|mut seen| seen.insert(place.clone()));
            PLACE.set(place);
            if new || !GUARDED.get() {
                earlier(panic);
            }
        }));
    });
}

fn message(cause: &(dyn Any + Send)) -> &str {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
