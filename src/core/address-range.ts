// Addresses and ranges in settings, of proxies.

import { isIP } from "node:net";

const BITS: Readonly<Record<number, number>> = { 4: 32, 6: 128 };

/** Whether a text is an IP address or a CIDR range: `10.0.0.5`, `10.0.0.0/8`, `fd00::/8`. */
export function isAddressRange(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const most = BITS[isIP(address)];
  if (most === undefined || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
}
