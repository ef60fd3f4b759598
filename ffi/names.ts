// File names of the native libraries on each system, as prebuilt/build.sh makes them.

interface Names {
  /** A library of llama.cpp, by the name under which others need it. */
  readonly upstream: (name: string) => string;
  /** A library of svc itself. */
  readonly own: (name: string) => string;
}

const LINUX: Names = { upstream: (name) => `lib${name}.so.0`, own: (name) => `lib${name}.so` };
const MACOS: Names = { upstream: (name) => `lib${name}.0.dylib`, own: (name) => `lib${name}.dylib` };
const WINDOWS: Names = { upstream: (name) => `${name}.dll`, own: (name) => `${name}.dll` };

/** The names on a system, as process.platform calls it. */
export function libraryNames(system: NodeJS.Platform): Names {
  if (system === "win32") return WINDOWS;
  return system === "darwin" ? MACOS : LINUX;
}

/** The names on this system. */
export const { upstream, own } = libraryNames(process.platform);
