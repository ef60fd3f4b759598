// Drivers of graphics cards without their back end: a line at the start, and what `svc doctor --fix` installs.

import { readNvidiaCards } from "../../ffi/nvml.ts";
import { codeProblem } from "../backends/card-code.ts";
import { BACKENDS, type BackendKind } from "../backends/catalog.ts";
import { installedBackends } from "../backends/store.ts";
import type { Settings } from "../config/settings.ts";
import { type CardDriver, loadedDrivers } from "../core/card-drivers.ts";

/** A back end to install, and whose driver is here. */
export interface BackendAdvice {
  readonly kind: BackendKind;
  readonly maker: string;
}

/** The loaded drivers; Vulkan is the back end for cards that CUDA's library does not run on. */
export function usableDrivers(drivers = loadedDrivers(), readCards = readNvidiaCards): readonly CardDriver[] {
  return drivers.map((driver) => {
    const kind = BACKENDS.find(({ name }) => name === driver.backend);
    if (kind?.code === undefined || codeProblem(kind, readCards()) === undefined) return driver;
    return { ...driver, backend: "vulkan" };
  });
}

/** Back ends for the loaded drivers, one for each; none where one is installed. */
export function missingBackends(
  cacheDir: string,
  drivers: readonly CardDriver[] = usableDrivers(),
): readonly BackendAdvice[] {
  if (installedBackends(cacheDir).length > 0) return [];
  const advice = drivers.flatMap(({ maker, backend }) => {
    const kind = BACKENDS.find(({ name }) => name === backend);
    return kind === undefined ? [] : [{ kind, maker }];
  });
  return advice.filter(({ kind }, index) => advice.findIndex((other) => other.kind === kind) === index);
}

/** The line at the start of a server or chat whose models could use a card; undefined where there is nothing to say. */
export function startHint(
  { models }: Pick<Settings, "models">,
  cacheDir: string,
  drivers: readonly CardDriver[] = usableDrivers(),
): string | undefined {
  const mayUse = models.some(
    ({ kind, device }) => kind !== "upstream" && !device.cpu && device.device_layers !== 0,
  );
  const [first] = missingBackends(
    cacheDir,
    drivers.filter(({ isForCards }) => isForCards),
  );
  if (!mayUse || first === undefined) return undefined;
  return `An ${first.maker} card and its driver are here; \`svc backend install ${first.kind.name}\` would use it.`;
}
