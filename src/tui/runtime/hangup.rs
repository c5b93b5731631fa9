//! The line to the person breaks: the emulator is gone, and no SIGHUP says so because the terminal controls another session.
//! Crossterm's reader takes the end of such a line for an empty read and tries again without end.

/// Whether standard input is a terminal no more.
pub(super) fn is_broken() -> bool {
    !std::io::IsTerminal::is_terminal(&std::io::stdin())
}

/// Standard input, watched for its end.
#[cfg(target_os = "linux")]
pub(super) struct Line(Option<tokio::io::unix::AsyncFd<std::io::Stdin>>);

#[cfg(target_os = "linux")]
impl Line {
    /// Watches, where standard input can be watched; must be called within the runtime.
    #[expect(deprecated, reason = "standard input stays open all the time; the replacement is unsafe, which is forbidden here")]
    pub(super) fn watch() -> Self {
        // Priority data, of which a terminal has none: keys wake nobody here, a hang-up always does.
        Self(tokio::io::unix::AsyncFd::with_interest(std::io::stdin(), tokio::io::Interest::PRIORITY).ok())
    }

    /// Comes when the line has broken.
    pub(super) async fn broken(&self) {
        let Some(line) = &self.0 else { return std::future::pending().await };
        loop {
            match line.ready(tokio::io::Interest::PRIORITY).await {
                Ok(mut ready) if !ready.ready().is_read_closed() => ready.clear_ready(),
                Ok(_) | Err(_) => return,
            }
        }
    }
}

/// Standard input; elsewhere its end comes with a signal alone.
#[cfg(not(target_os = "linux"))]
pub(super) struct Line;

#[cfg(not(target_os = "linux"))]
impl Line {
    /// Nothing to watch.
    pub(super) fn watch() -> Self {
        Self
    }

    /// Never comes.
    pub(super) async fn broken(&self) {
        std::future::pending().await
    }
}
