import { expect, test } from "bun:test";
import { DEVICE_PROFILES, mixtureTokens, profileOf, profilePhrase } from "../../src/core/device-profile.ts";
import { placementPhrase } from "../../src/core/placement.ts";

test("the row for devices is for models that are there as a whole", () => {
  expect(profileOf(undefined)).toBe(DEVICE_PROFILES.cpu);
  expect(profileOf({ layers: 7, device_layers: 6, divided_layers: 0 })).toBe(DEVICE_PROFILES.cpu);
  expect(profileOf({ layers: 7, device_layers: 7, divided_layers: 0 })).toBe(DEVICE_PROFILES.device);
  // Experts on the CPU need its threads, and each row of a draft costs time there.
  expect(profileOf({ layers: 7, device_layers: 7, divided_layers: 5 })).toBe(DEVICE_PROFILES.cpu);
  expect(profilePhrase(DEVICE_PROFILES.cpu)).toContain("a thread for each core");
});

test("a placement in a phrase names its devices, and not the CPU among them", () => {
  const entry = (device: string) => ({
    device,
    description: "",
    weights_bytes: 0,
    cache_bytes: 0,
    compute_bytes: 0,
    estimated_bytes: 0,
  });
  const placement = { layers: 7, divided_layers: 0, devices: ["CUDA0", "CUDA1", "CPU"].map(entry) };
  expect(placementPhrase({ ...placement, device_layers: 7 })).toBe("on CUDA0 and CUDA1");
  expect(placementPhrase({ ...placement, device_layers: 3 })).toBe(
    "3 of 7 layers on CUDA0 and CUDA1, the rest on the CPU",
  );
  expect(placementPhrase({ ...placement, device_layers: 0 })).toBe("on the CPU");
  const divided = { ...placement, divided_layers: 5 };
  expect(placementPhrase({ ...divided, device_layers: 7 })).toBe("on CUDA0 and CUDA1, experts on the CPU");
  expect(placementPhrase({ ...divided, device_layers: 6 })).toBe(
    "6 of 7 layers on CUDA0 and CUDA1, experts and the rest on the CPU",
  );
});

test.each([
  ["no mixture", 0, 0, 1024],
  ["8 of 128 experts", 128, 8, 2048],
  ["4 of 32 experts", 32, 4, 1024],
  ["4 of 128 experts: no more than allowed", 128, 4, 2048],
])("micro-batches of %s", (_, count, used, tokens) => {
  expect(mixtureTokens(1024, 2048, { count, used })).toBe(tokens);
});
