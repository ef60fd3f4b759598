// Facts and checks of a machine: the bodies of /v1/system/info and /v1/system/doctor, which the command line prints too.
// Never contains a path, a host name or a user of the machine.

import { type Static, Type } from "@sinclair/typebox";
import { COMPAT_MODES } from "./compat.ts";
import { ModelPlacement } from "./placement.ts";
import { bytes, nullable } from "./schema-fields.ts";

const Device = Type.Object({
  name: Type.String({ description: "Short name, as settings take it." }),
  description: Type.String({ description: "Full name, as its driver reports it." }),
  type: Type.Union([Type.Literal("cpu"), Type.Literal("gpu"), Type.Literal("other")], {
    description: "Kind of the device.",
  }),
  backend: Type.String({ description: "llama.cpp's back end for it." }),
  pci: Type.Optional(Type.String({ description: "Its PCI address, where known." })),
  memory_total: bytes("Total memory"),
  memory_free: bytes("Free memory when an engine saw it last"),
});

const SystemDevice = Type.Object(
  {
    ...Device.properties,
    models: Type.Array(
      Type.Object({
        id: Type.String({ description: "Model id." }),
        memory_bytes: bytes("The most that it takes of the device, as counted for eviction"),
      }),
      { description: "The loaded models that take memory of it; of main memory those of all kinds." },
    ),
  },
  { $id: "SystemDevice", description: "A device that computes models." },
);
export type SystemDevice = Static<typeof SystemDevice>;

/** Facts of a machine, from an engine process. */
export const EngineHost = Type.Object({
  llama_version: Type.String(),
  /** Such as `haswell`: which build of the CPU back end fits this processor best. */
  cpu_variant: nullable(Type.String(), "Build of the CPU back end in use; null if unknown."),
  cpu_features: Type.Array(Type.String(), { description: "Instruction sets that this build uses." }),
  kernels: Type.Array(Type.String(), { description: "Kernels of svc in use; see SVC_KERNELS." }),
  devices: Type.Array(Device),
  landlock_abi: nullable(
    Type.Integer({ minimum: 1 }),
    "Version of the kernel's Landlock; null if it has none.",
  ),
  backend_failures: Type.Array(Type.String(), {
    description: "Installed compute back ends that failed to load, with the reason.",
  }),
});
export type EngineHost = Static<typeof EngineHost>;

export const SystemUpstream = Type.Object(
  {
    upstream: Type.String({ description: "Host and port of its address." }),
    model: Type.String({ description: "Name of the model on the upstream." }),
    engine: nullable(
      Type.String(),
      "Server software, as detected from its model list; null until it has answered.",
    ),
    status: Type.Union([Type.Literal("healthy"), Type.Literal("cooling"), Type.Literal("unknown")], {
      description:
        "cooling: it failed and gets no requests during its cooldown. unknown: it has not answered yet.",
    }),
    in_flight: Type.Integer({ minimum: 0, description: "Requests in flight from this server." }),
    problem: nullable(Type.String(), "Why it gets no requests; null if it gets requests."),
    cooldown_left: nullable(
      Type.Number({ minimum: 0 }),
      "Seconds until a request tries it again; null while it gets requests.",
    ),
    last_error: nullable(Type.String(), "Its last failure since the start, even if it has recovered."),
    last_error_at: nullable(Type.Integer({ minimum: 0 }), "Time of its last failure, Unix seconds."),
  },
  { $id: "SystemUpstream", description: "A server that runs a model." },
);
export type SystemUpstream = Static<typeof SystemUpstream>;

const SystemModel = Type.Object(
  {
    id: Type.String({ description: "Model id." }),
    status: Type.String({ description: "Status, as `GET /v1/models` names it." }),
    architecture: nullable(Type.String(), "Null until the model is loaded, like all fields below."),
    size_bytes: nullable(Type.Integer({ minimum: 0 }), "Size of the weights."),
    memory_bytes: nullable(
      Type.Integer({ minimum: 0 }),
      "The most that the model takes with its cache, as counted for eviction.",
    ),
    resident_bytes: nullable(Type.Integer({ minimum: 0 }), "Resident memory of its process now."),
    context_tokens: nullable(Type.Integer({ minimum: 1 }), "Maximum length of a sequence."),
    kv_cells: nullable(Type.Integer({ minimum: 1 }), "Size of the KV cache in tokens, for all sequences."),
    threads: nullable(Type.Integer({ minimum: 1 }), "Decode threads."),
    placement: nullable(ModelPlacement, "Null also where it is on the CPU and no device was to choose."),
    device_fault: nullable(
      Type.String(),
      "The device that failed, if the model is on the CPU for that reason.",
    ),
    upstreams: Type.Optional(
      Type.Array(SystemUpstream, {
        description: "Upstream servers of the model; absent if it runs on this machine.",
      }),
    ),
  },
  { $id: "SystemModel", description: "A model as its engine runs it." },
);
export type SystemModel = Static<typeof SystemModel>;

const Mechanism = Type.Union([Type.Literal("works"), Type.Literal("fails"), Type.Literal("absent")], {
  description: "fails: present, but not permitted here.",
});

export const Sandbox = Type.Object(
  {
    bubblewrap: Mechanism,
    user_namespaces: Mechanism,
    seccomp: Mechanism,
    network_guard: Mechanism,
    control_groups: Type.Union([Type.Literal("works"), Type.Literal("fails"), Type.Literal("absent")], {
      description:
        "Whether cgroup v2 can enforce the caps of tools. fails: creating a group is not permitted; absent: version 1, or another system.",
    }),
    landlock_abi: EngineHost.properties.landlock_abi,
  },
  { $id: "SystemSandbox", description: "Available mechanisms for the confinement of tools." },
);
export type Sandbox = Static<typeof Sandbox>;

export const SystemInfo = Type.Object(
  {
    version: Type.String({ description: "Version of svc." }),
    compat: Type.Union(
      COMPAT_MODES.map((mode) => Type.Literal(mode)),
      {
        description: "Whether requests that the interface refuses and clients send are refused or served.",
      },
    ),
    build: Type.Object(
      {
        runtime: Type.String({ description: "Name and version of the JavaScript runtime." }),
        llama: nullable(Type.String(), "Version of llama.cpp; null until an engine has started."),
      },
      { description: "What svc was built with." },
    ),
    os: Type.Object(
      {
        platform: Type.String({ description: "Kind of system: `linux`." }),
        release: Type.String({ description: "Release of its kernel." }),
        arch: Type.String({ description: "Instruction set: `x64`, `arm64`." }),
      },
      { description: "The operating system." },
    ),
    cpu: Type.Object(
      {
        model: Type.String({ description: "Its name." }),
        logical_cores: Type.Integer({ description: "Number of hardware threads.", minimum: 1 }),
        variant: EngineHost.properties.cpu_variant,
        features: EngineHost.properties.cpu_features,
      },
      { description: "The processor." },
    ),
    memory: Type.Object(
      {
        total_bytes: bytes("Total memory of the machine"),
        available_bytes: bytes("Memory available to programs"),
        limit_bytes: nullable(
          Type.Integer({ minimum: 0 }),
          "Memory limit of the container; null if it has none.",
        ),
        process_bytes: bytes("Resident memory of the serving process"),
      },
      { description: "Main memory." },
    ),
    devices: Type.Array(SystemDevice, { description: "Those of all engines, each once; the CPU last." }),
    sandbox: Sandbox,
    models: Type.Array(SystemModel),
  },
  { $id: "SystemInfo", description: "The machine, the server and its models." },
);
export type SystemInfo = Static<typeof SystemInfo>;

export const DoctorCheck = Type.Object(
  {
    name: Type.String({ description: "What was checked." }),
    status: Type.Union([Type.Literal("pass"), Type.Literal("warn"), Type.Literal("fail")], {
      description: "Whether it passed.",
    }),
    detail: Type.String({ description: "Result of the check." }),
    fix: nullable(Type.String(), "How to fix it; null if there is nothing to fix."),
  },
  { $id: "DoctorCheck", description: "A check of the installation." },
);
export type DoctorCheck = Static<typeof DoctorCheck>;

export const DoctorReport = Type.Object(
  {
    ok: Type.Boolean({ description: "True if no check failed." }),
    checks: Type.Array(DoctorCheck),
  },
  { $id: "DoctorReport", description: "Result of all checks." },
);
export type DoctorReport = Static<typeof DoctorReport>;
