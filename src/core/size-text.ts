/** A size for people, of files, disks and memory alike: `12.3 MB`, `2.50 GB`; in powers of ten, as the hub and systems show files. */
export function sizeText(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(2)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
