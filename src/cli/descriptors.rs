//! How many connections this process can hold: as many as the system lets it open files, but for those it needs itself.

use crate::server::room::Capacity;

/// For the database, journals, notices, and connections that are being taken or ended.
const OWN: u64 = 256;
/// More are of no use to a registry, and each takes memory.
const MOST: u64 = 8192;

/// Raises the limit on open files as far as the system allows, and says how many connections fit.
pub fn room_of_this_process() -> Capacity {
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or_else(|error| {
        let kept = rlimit::Resource::NOFILE.get_soft().unwrap_or(2 * OWN);
        tracing::warn!(%error, kept, "the limit on open files cannot be raised");
        kept
    });
    let connections = connections(files);
    if connections < MOST {
        tracing::info!(files, connections, "few files may be open at a time, so that few connections may (`ulimit -n`)");
    }
    Capacity { connections: usize::try_from(connections).unwrap_or(usize::MAX), ..Capacity::default() }
}

/// How many connections fit into so many open files: at least half of them.
fn connections(files: u64) -> u64 {
    files.saturating_sub(OWN).max(files / 2).clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_rest_whatever_the_limit() {
        for (files, wanted) in [(64, 32), (256, 128), (1024, 768), (4096, 3840), (20_000, 8192), (u64::MAX, 8192)] {
            assert_eq!(connections(files), wanted, "{files}");
        }
    }

    #[test]
    fn the_limit_is_raised_as_far_as_it_goes() {
        room_of_this_process();
        let (soft, hard) = rlimit::Resource::NOFILE.get().unwrap();
        assert_eq!(soft, hard);
    }
}
