//! Long work of the processor: away from the threads that answer requests, and only so much of it at once.
//!
//! A search through all that serves, or a bulk answer of many keys, takes as long as there is much to look at. A kill waits for
//! none of it.

use super::middleware::internal;
use crate::model::Refusal;
use std::sync::LazyLock;
use tokio::sync::Semaphore;

/// Half of the processors: the other half is for what cannot wait.
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Semaphore::new((processors / 2).max(1))
});
/// Reading a longer JSON text takes more than a few milliseconds.
pub const LONG: usize = 256 * 1024;

/// Does it on a thread of its own, when it is its turn. Who holds a connection to the database lets go of it before.
///
/// # Errors
/// A fault of our own.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Refusal> {
    in_turn(&TURNS, work).await
}

async fn in_turn<T: Send + 'static>(turns: &'static Semaphore, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Refusal> {
    let turn = turns.acquire().await.map_err(|_| internal())?;
    let done = tokio::task::spawn_blocking(move || {
        // Kept even where nobody waits for the answer any more.
        let _turn = turn;
        work()
    });
    done.await.map_err(|error| {
        tracing::error!(%error, "long work broke off");
        internal()
    })
}

/// The same, where there is much to do; a little is done at once.
///
/// # Errors
/// As [`apart`].
pub async fn apart_if<T: Send + 'static>(long: bool, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Refusal> {
    if long { apart(work).await } else { Ok(work()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    static ONE: Semaphore = Semaphore::const_new(1);

    #[tokio::test]
    async fn long_work_leaves_the_thread_that_answers_requests_and_waits_its_turn() {
        let ((end, told), (begin, begun)) = (channel::<()>(), tokio::sync::oneshot::channel());
        let first = tokio::spawn(in_turn(&ONE, move || {
            begin.send(()).unwrap();
            told.recv().unwrap();
        }));
        // One thread answers here: work that stayed on it would never be told to end.
        begun.await.unwrap();
        assert_eq!(ONE.available_permits(), 0, "the turn is kept while the work is done");
        let second = tokio::spawn(in_turn(&ONE, || 7));
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        assert_eq!(apart_if(false, || 5).await, Ok(5), "a little waits for nobody");
        end.send(()).unwrap();
        first.await.unwrap().unwrap();
        assert_eq!(second.await.unwrap(), Ok(7));
    }
}
