// Interface of video decoding: a video file becomes frames, which models take as images.

/** A frame: the bytes of an image file. */
export interface VideoFrame {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Its time in the video, seconds; absent where the sender chose the frames. */
  readonly seconds?: number;
}

export interface VideoBounds {
  readonly framesMax: number;
  /** Longest edge of a frame, pixels; absent: the decoder's own bound. */
  readonly edgeMax?: number;
  /** Field of the request, for errors. */
  readonly param: string;
}

/** Frames of a video, evenly spaced, at least one. Throws ServiceError where the file cannot be decoded. */
export type ReadVideo = (
  file: Uint8Array<ArrayBuffer>,
  bounds: VideoBounds,
  signal: AbortSignal,
) => Promise<readonly VideoFrame[]>;

/** A time as models read it between frames: `[0m12.5s]`, the form of llama.cpp. */
export function frameTime(seconds: number): string {
  const tenths = Math.round(seconds * 10);
  return `[${Math.floor(tenths / 600)}m${((tenths % 600) / 10).toFixed(1)}s]`;
}
