/** How this very program is started again: compiled, the executable itself; from source, Bun and the script. */
export function ownCommand(): string[] {
  return Bun.main.startsWith("/$bunfs/") ? [process.execPath] : [process.execPath, Bun.main];
}
