//! `--record FILE`: what happened and when, one line each, so that a fault can be played again. Keys and sizes only: texts from
//! the registry may be confidential, so answers are named and not kept.

use super::msg::Msg;
use super::state::Now;
use std::fs::{File, OpenOptions};
use std::io;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// A recording, mode 0600.
pub(crate) struct Recorder {
    out: BufWriter<File>,
}

impl Recorder {
    /// Begins a recording; an existing file is replaced.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Self { out: BufWriter::new(file) })
    }

    /// Notes a message. A disk that is full ends the recording, not the terminal.
    pub(crate) fn note(&mut self, msg: &Msg, now: Now) {
        let _ = writeln!(self.out, "{:>10} {}", now.steady.as_millis(), line(msg)).and_then(|()| self.out.flush());
    }
}

fn line(msg: &Msg) -> String {
    match msg {
        Msg::Pressed(key) => format!("key {key} {:?}", key.press),
        Msg::Pasted(text) => format!("paste {} bytes", text.len()),
        Msg::Resized { width, height } => format!("resize {width}x{height}"),
        Msg::Chosen(action) => format!("action {action}"),
        Msg::Painted => "painted".into(),
        Msg::Ticked => "tick".into(),
        Msg::Loaded { slot, generation, answer } => format!("loaded {slot:?} {generation} {}", outcome(answer.is_ok())),
        Msg::Sent { ticket, receipt } => format!("sent {ticket} {}", outcome(receipt.is_ok())),
        Msg::Worked { generation, .. } => format!("worked {generation}"),
        Msg::Followed(followed) => format!("stream {}", kind(followed)),
        Msg::Edited(text) => format!("edited {}", text.as_ref().map_or(0, String::len)),
        Msg::DialogAsked(request) => format!("dialog {:?} {}", request.kind, request.key),
        Msg::Went(_) => "went".into(),
        Msg::Said(_) => "said".into(),
    }
}

fn outcome(ok: bool) -> &'static str {
    if ok { "ok" } else { "failed" }
}

fn kind(followed: &super::msg::Followed) -> String {
    use super::msg::Followed as F;
    match followed {
        F::Connected { .. } => "connected".into(),
        F::Audit(event) => format!("audit #{}", event.seq),
        F::Pointer(pointer) => format!("pointer {} {} revision {}", pointer.key_id, pointer.environment, pointer.revision),
        F::Heartbeat(head) => format!("heartbeat #{}", head.seq),
        F::Lost { attempt, .. } => format!("lost {attempt}"),
        F::Broken { seq, .. } => format!("broken #{seq}"),
    }
}
