// Prints the CycloneDX bill of materials of a release: npm packages from package-lock.json that are part of the executable, and
// the native libraries of prebuilt/.   bun scripts/sbom.ts [PLATFORM]

import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import packageFile from "../package.json";
import lock from "../package-lock.json";

interface LockEntry {
  readonly version?: string;
  readonly license?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

/** The part of a platform's manifest that this reads. */
interface Manifest {
  readonly archives: Readonly<
    Record<string, { readonly upstream: string; readonly files: readonly NativeFile[] }>
  >;
}

interface NativeFile {
  readonly name: string;
  readonly sha256: string;
}

const platform = process.argv[2] ?? `${process.platform}-${process.arch}`;
const prebuilt = new URL(`../prebuilt/${platform}/manifest.json`, import.meta.url);
const manifest = (await Bun.file(prebuilt).json()) as Manifest;

const bom = new Models.Bom();
const root = new Models.Component(Enums.ComponentType.Application, packageFile.name, {
  version: packageFile.version,
  description: packageFile.description,
  bomRef: `svc@${packageFile.version}`,
});
root.licenses.add(licenseOf(packageFile.license));
bom.metadata.component = root;
bom.metadata.timestamp = new Date(Number(process.env["SOURCE_DATE_EPOCH"] ?? Date.now() / 1000) * 1000);

for (const component of [...npmComponents(), ...nativeComponents()]) {
  bom.components.add(component);
  root.dependencies.add(component.bomRef);
}
const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
console.log(serializer.serialize(bom, { sortLists: true, space: 2 }));

function npmComponents(): readonly Models.Component[] {
  const packages: Readonly<Record<string, LockEntry>> = lock.packages;
  return Object.entries(packages).flatMap(([path, entry]) => {
    const isBun = path === "node_modules/bun"; // the runtime inside the executable
    const isShipped = entry.dev !== true && entry.devOptional !== true && entry.optional !== true;
    if (path === "" || (!isShipped && !isBun)) return [];
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    const version = entry.version ?? "";
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    const component = new Models.Component(Enums.ComponentType.Library, name, {
      version,
      purl,
      bomRef: `${purl}#${path}`,
    });
    if (entry.license !== undefined) component.licenses.add(licenseOf(entry.license));
    const [, sha512] = /^sha512-(.+)$/.exec(entry.integrity ?? "") ?? [];
    if (sha512 !== undefined)
      component.hashes.set(Enums.HashAlgorithm["SHA-512"], Buffer.from(sha512, "base64").toString("hex"));
    return [component];
  });
}

function nativeComponents(): readonly Models.Component[] {
  return Object.entries(manifest.archives).flatMap(([archive, { upstream, files }]) =>
    files.map(({ name, sha256 }) => {
      const component = new Models.Component(Enums.ComponentType.File, name, {
        description: upstream,
        bomRef: `native:${archive}/${name}`,
      });
      component.hashes.set(Enums.HashAlgorithm["SHA-256"], sha256);
      return component;
    }),
  );
}

function licenseOf(text: string): Models.LicenseExpression | Models.SpdxLicense {
  return text.includes(" ") ? new Models.LicenseExpression(text) : new Models.SpdxLicense(text);
}
