//! How soon memory that was given back to the allocator goes back to the system. glibc keeps what large bodies took: it has an arena
//! for each thread that ever held one, takes the largest body that was freed for what is common from then on, and holds free pages
//! for as long as anything behind them is in use.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::fs;
    use std::time::Duration;

    /// Threads that meet in one wait for each other for less than a microsecond.
    const ARENAS_MAX: i32 = 2;
    /// Larger pieces are mapped by themselves, and are gone when they are freed. That costs a fault for each of their pages: most
    /// bodies are below it.
    const MAPPED_BYTES_MIN: i32 = 2 << 20;
    /// So much may stay free at the end of an arena.
    const FREE_BYTES_MAX: i32 = 2 << 20;
    /// Free pages elsewhere in an arena are looked for where the process has come to hold so many more, half a megabyte of the usual ones.
    const GROWN_PAGES: u64 = 128;
    /// Finding them takes less than a millisecond, and what is needed again a fault for each.
    const LOOK_EVERY: Duration = Duration::from_secs(1);

    /// Has memory go back to the system early. To be called before there are other threads.
    #[expect(unsafe_code, reason = "glibc's allocator has no other door")]
    pub(in super::super) fn return_early() {
        // SAFETY: mallopt takes two numbers and sets figures of the allocator's own. What it refuses stays as it was.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, ARENAS_MAX);
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
            libc::mallopt(libc::M_TRIM_THRESHOLD, FREE_BYTES_MAX);
        }
    }

    /// Has free pages go back from anywhere in the arenas, until it is dropped.
    pub(in super::super) async fn keep_returning() {
        let mut held = 0;
        // Where the system does not tell what is held, nothing is done.
        while let Some(now) = held_pages() {
            held = held.min(now);
            if now > held + GROWN_PAGES {
                trim();
                held = held_pages().unwrap_or(now);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    #[expect(unsafe_code, reason = "glibc's allocator has no other door")]
    fn trim() {
        // SAFETY: malloc_trim takes each arena's own lock, and touches only what is free in it.
        unsafe { libc::malloc_trim(0) };
    }

    /// Pages of memory that belong to no file.
    fn held_pages() -> Option<u64> {
        let pages = fs::read_to_string("/proc/self/statm").ok()?;
        let mut pages = pages.split(' ').skip(1).map(str::parse::<u64>);
        let (resident, of_files) = (pages.next()?.ok()?, pages.next()?.ok()?);
        resident.checked_sub(of_files)
    }

    #[cfg(test)]
    mod tests {
        use super::{GROWN_PAGES, held_pages, trim};

        /// Large enough to be worth a look, small enough to be cut from an arena, with something in use behind each.
        #[test]
        fn pages_that_are_free_between_used_ones_go_back() {
            let (mut freed, mut used) = (Vec::new(), Vec::new());
            for _ in 0..256 {
                freed.push(vec![1_u8; 64 << 10]);
                used.push(vec![1_u8; 64]);
            }
            let full = held_pages().expect("this system tells");
            drop(freed);
            trim();
            let trimmed = held_pages().expect("this system tells");
            assert!(trimmed + 16 * GROWN_PAGES < full, "{full} pages were held, {trimmed} are");
            drop(used);
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) use glibc::{keep_returning, return_early};

/// Other allocators are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn return_early() {}

/// Other allocators are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) async fn keep_returning() {}
