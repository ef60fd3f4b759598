// Addresses as they may be shown: without a name and a password in them.

/** The address without what stands before its host. */
export function shownAddress(address: string): string {
  return address.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1");
}
