// Reach of IP addresses: the one table of networks for fetches of untrusted URLs and for the network guard of tools. An IPv4
// address inside an IPv6 address counts as itself. Sources: IANA's special-purpose registries, RFC 6890, documentation of clouds.

/**
 * `public`: the internet. `local`: a private network, which tools may reach and fetches may not. `machine`: the machine itself.
 * `never`: neither tools nor fetches, such as link-local addresses, metadata services of clouds and addresses of no machine.
 */
export type Reach = "public" | "local" | "machine" | "never";

/** Networks by address and length in bits, the narrower before the wider. */
const IPV4: readonly (readonly [network: string, bits: number, reach: Reach])[] = [
  ["0.0.0.0", 8, "machine"],
  ["127.0.0.0", 8, "machine"],
  ["168.63.129.16", 32, "never"], // Azure's host
  ["100.100.100.200", 32, "never"], // Alibaba Cloud's metadata
  ["169.254.0.0", 16, "never"], // link-local, most clouds' metadata
  ["192.0.0.0", 24, "never"], // protocol assignments, Oracle Cloud's metadata
  ["192.88.99.0", 24, "never"], // relays of 6to4
  ["224.0.0.0", 3, "never"], // multicast, reserved, broadcast
  ["10.0.0.0", 8, "local"],
  ["100.64.0.0", 10, "local"], // carriers and overlay networks
  ["172.16.0.0", 12, "local"],
  ["192.168.0.0", 16, "local"],
  ["198.18.0.0", 15, "local"], // benchmarks, and proxies that resolve names to it
  ["192.0.2.0", 24, "local"], // documentation, and networks of virtual machines
  ["198.51.100.0", 24, "local"],
  ["203.0.113.0", 24, "local"],
  ["0.0.0.0", 0, "public"],
];

/** The same for IPv6; groups of an address that are missing at its end are 0. */
const IPV6: readonly (readonly [groups: readonly number[], bits: number, reach: Reach])[] = [
  [[], 127, "machine"], // ::, ::1
  [[0xfd00, 0xec2], 32, "never"], // Amazon's metadata, names and credentials
  [[0xfd20, 0xce], 32, "never"], // Google Cloud's
  [[0xfd00, 0xc1], 32, "never"], // Oracle Cloud's
  [[0xfd00, 0x42], 32, "never"], // Scaleway's
  [[0x64, 0xff9b, 1], 48, "never"], // local translation to IPv4, in any of six forms
  [[0x64, 0xff9b], 96, "local"], // translation to IPv4
  [[0x100], 64, "never"], // discarded
  [[0x2001], 32, "local"], // Teredo
  [[0x2001], 23, "never"], // protocol assignments
  [[0x2001, 0xdb8], 32, "local"], // documentation
  [[0x3fff], 20, "local"],
  [[0x2002], 16, "local"], // 6to4
  [[0xfc00], 7, "local"],
  [[0xfe80], 10, "never"], // link-local
  [[0xff00], 8, "never"], // multicast
  [[0x2000], 3, "public"],
  [[], 0, "local"],
];

const NETWORKS: Readonly<Record<4 | 16, readonly (readonly [Uint8Array, number, Reach])[]>> = {
  4: IPV4.map(([text, bits, reach]) => [Uint8Array.from(text.split("."), Number), bits, reach]),
  16: IPV6.map(([groups, bits, reach]) => [bytesOf(groups), bits, reach]),
};

/** Reach of an address of 4 or 16 bytes. */
export function reachOf(address: Uint8Array): Reach {
  if (address.byteLength !== 16) return ownReach(address, 4);
  const own = ownReach(address, 16);
  if (own === "never" || own === "machine") return own;
  const inner = embeddedAddresses(address).map(reachOf);
  if (inner.some((reach) => reach === "never" || reach === "machine")) return "never";
  return inner.length > 0 ? "local" : own;
}

/** IPv4 addresses in an IPv6 address, to which a tunnel or translator could send its packets. */
export function embeddedAddresses(address: Uint8Array): readonly Uint8Array[] {
  const starts = (groups: readonly number[], bits: number): boolean =>
    isWithin(address, bytesOf(groups), bits);
  const last = address.subarray(12);
  const isTail =
    starts([], 96) || // IPv4-compatible
    starts([0, 0, 0, 0, 0, 0xffff], 96) || // IPv4-mapped
    starts([0, 0, 0, 0, 0xffff], 96) || // IPv4-translated
    starts([0x64, 0xff9b], 96);
  return [
    ...(isTail || isIsatap(address) ? [last] : []),
    ...(starts([0x2002], 16) ? [address.subarray(2, 6)] : []),
    // Teredo: the server, and the client with its bits inverted.
    ...(starts([0x2001], 32) ? [address.subarray(4, 8), last.map((byte) => byte ^ 0xff)] : []),
  ];
}

/** RFC 5214: 0000:5efe or 0200:5efe before the IPv4 address. */
function isIsatap(address: Uint8Array): boolean {
  const [universal = 0, second, third, fourth] = address.subarray(8, 12);
  return (universal & ~0x03) === 0 && second === 0 && third === 0x5e && fourth === 0xfe;
}

function ownReach(address: Uint8Array, bytes: 4 | 16): Reach {
  const found = NETWORKS[bytes].find(([network, bits]) => isWithin(address, network, bits));
  return found?.[2] ?? "never";
}

function isWithin(address: Uint8Array, network: Uint8Array, bits: number): boolean {
  const whole = bits >> 3;
  for (let index = 0; index < whole; index++) if (address[index] !== network[index]) return false;
  const shift = 8 - (bits & 7);
  return shift === 8 || (address[whole] ?? 0) >> shift === (network[whole] ?? 0) >> shift;
}

function bytesOf(groups: readonly number[]): Uint8Array {
  return Uint8Array.from({ length: 16 }, (_, index) => {
    const group = groups[index >> 1] ?? 0;
    return index % 2 === 0 ? group >> 8 : group & 0xff;
  });
}
