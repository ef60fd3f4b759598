// Limits of media decoding, with their units and sources.

/** Longest video, seconds. */
export const VIDEO_SECONDS_MAX = 3600;
/** Frames of a second of video, where `max_video_frames` allows as many. Qwen-VL is trained with two. */
export const VIDEO_FRAMES_PER_SECOND = 2;
/** Longest edge of a frame, pixels: larger ones cost prompt tokens and show little more. */
export const VIDEO_EDGE_MAX = 768;
/** Bytes of all frames of a video as JPEG. */
export const VIDEO_FRAMES_BYTES_MAX = 32 * 1024 * 1024;
/** Bytes of ffprobe's report. */
export const VIDEO_REPORT_BYTES_MAX = 1024 * 1024;
/** Time for a video, milliseconds, and videos decoded at the same time. */
export const VIDEO_MS_MAX = 120_000;
export const VIDEOS_AT_ONCE = 2;
/** Caps of ffmpeg's process: MiB, seconds of computing, processes and threads. */
export const VIDEO_MEMORY_MB = 2048;
export const VIDEO_CPU_SECS = 240;
export const VIDEO_PROCS = 64;
/** Time for an image or a sound in its reader process, milliseconds, and how many are read at the same time. */
export const CONVERT_MS_MAX = 30_000;
export const CONVERSIONS_AT_ONCE = 2;
/** Bytes of converted images, and of sounds, that are kept for the next turn of a conversation. */
export const KEPT_BYTES_MAX = 64 * 1024 * 1024;
