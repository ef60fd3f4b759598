//! Processor time of the calling thread.

use std::time::Duration;

/// Processor time of this thread; a busy machine is not the grammar's fault.
#[cfg(unix)]
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable; the clock exists on every platform that svc is built for.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Processor time of this thread, in ticks of 15.6 ms. The standard library links kernel32; a crate for two functions is too much.
#[cfg(windows)]
pub fn thread_time() -> Duration {
    #[repr(C)]
    #[derive(Default)]
    struct FileTime {
        low: u32,
        high: u32,
    }
    extern "system" {
        fn GetCurrentThread() -> *mut std::ffi::c_void;
        fn GetThreadTimes(
            thread: *mut std::ffi::c_void,
            created: *mut FileTime,
            ended: *mut FileTime,
            kernel: *mut FileTime,
            user: *mut FileTime,
        ) -> i32;
    }
    let [mut created, mut ended, mut kernel, mut user]: [FileTime; 4] = Default::default();
    // SAFETY: all four are writable; the handle is a constant that stands for the calling thread.
    unsafe { GetThreadTimes(GetCurrentThread(), &mut created, &mut ended, &mut kernel, &mut user) };
    // In units of 100 ns.
    let nanoseconds = |time: FileTime| (u64::from(time.high) << 32 | u64::from(time.low)) * 100;
    Duration::from_nanos(nanoseconds(kernel) + nanoseconds(user))
}
