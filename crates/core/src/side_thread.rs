//! Two things done at once: one on a thread that ends with them. For the larger parts of a compaction that do not depend on each
//! other, and never within one another: each thread costs an allocator some megabytes.

use std::thread::{Builder, ScopedJoinHandle, scope};

/// Does `aside` on a thread of its own while `here` is done; after it, where the system has no thread for it.
pub(crate) fn do_both<H, A: Send>(here: impl FnOnce() -> H, aside: impl Fn() -> A + Sync) -> (H, A) {
    scope(|scope| {
        let begun = Builder::new().name("epitome-aside".into()).spawn_scoped(scope, &aside);
        let done = here();
        let found = match begun.map(ScopedJoinHandle::join) {
            Ok(Ok(found)) => found,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_no_thread) => aside(),
        };
        (done, found)
    })
}

#[cfg(test)]
mod tests {
    use super::do_both;

    #[test]
    fn both_are_done() {
        assert_eq!(do_both(|| 1, || "two"), (1, "two"));
    }
}
