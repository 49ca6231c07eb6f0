//! How soon memory that was given back to the allocator goes back to the system. glibc keeps what large bodies took: it has an arena
//! for each thread that ever held one, and takes the largest body that was freed for what is common from then on.

/// Has memory go back to the system early. To be called before there are other threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "glibc's allocator has no other door")]
pub(super) fn return_early() {
    /// Threads that meet in one wait for each other for less than a microsecond.
    const ARENAS_MAX: i32 = 2;
    /// Larger pieces are mapped by themselves, and are gone when they are freed. That costs a fault for each of their pages: most
    /// bodies are below it.
    const MAPPED_BYTES_MIN: i32 = 2 << 20;
    /// So much may stay free at the end of an arena.
    const FREE_BYTES_MAX: i32 = 2 << 20;
    // SAFETY: mallopt takes two numbers and sets figures of the allocator's own. What it refuses stays as it was.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, ARENAS_MAX);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
        libc::mallopt(libc::M_TRIM_THRESHOLD, FREE_BYTES_MAX);
    }
}

/// Other allocators are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn return_early() {}
