// System page: information about the server's machine, and its diagnostics.

import { CircleCheck, CircleX, TriangleAlert } from "lucide";
import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { DoctorReport } from "../../src/core/system.ts";
import type { LoggedLine } from "../../src/core/telemetry.ts";
import { messageOf, sendForJson, sendIfAvailable } from "../api/client.ts";
import { formatBytes } from "../format.ts";
import { notify } from "../state/toasts.ts";
import { Icon } from "../view/icon.tsx";
import { ConnectApps } from "./connect-apps.tsx";
import { PageFrame } from "./page-frame.tsx";
import { Traces } from "./traces.tsx";
import { Problem } from "./problem.tsx";
import { t } from "../texts/texts.ts";

type Tree = Readonly<Record<string, unknown>>;

export function SystemPage() {
  const [info, setInfo] = useState<Tree>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    sendIfAvailable<Tree>("v1/system/info").then(
      (found) => {
        setInfo(found);
        if (found === undefined) setProblem(t.system.unavailable);
      },
      (error: unknown) => setProblem(messageOf(error)),
    );
  }, []);
  return (
    <PageFrame label={t.pages.system}>
      {problem !== undefined && <Problem text={problem} />}
      {info !== undefined && (
        <>
          <Doctor />
          {sections(info).map(([name, value]) => (
            <Section key={name} name={name} value={value} />
          ))}
        </>
      )}
      <Traces />
      <ConnectApps />
      <Log />
      <p class="faint">
        {t.system.endpoints} <a href="../docs">{t.system.apiDocs}</a>.
      </p>
    </PageFrame>
  );
}

/** Lines of the server's log of the last day. */
function Log() {
  const [lines, setLines] = useState<readonly LoggedLine[]>([]);
  const load = (): void => {
    sendIfAvailable<{ readonly lines: readonly LoggedLine[] }>("ui/day/log").then(
      (found) => setLines(found?.lines ?? []),
      (error: unknown) => notify(messageOf(error)),
    );
  };
  useEffect(load, []);
  return (
    <section class="card">
      <header>
        <h2>{t.system.log}</h2>
        <span class="grow" />
        <button type="button" onClick={load}>
          {t.system.refresh}
        </button>
      </header>
      {lines.length === 0 ? (
        <p class="faint">{t.system.nothingLogged}</p>
      ) : (
        <pre class="output" role="region" tabIndex={0} aria-label={t.system.logLabel}>
          {lines
            .map(({ at, text }) => `${new Date(at * 1000).toLocaleString(t.locale.dates)}  ${text}`)
            .join("\n")}
        </pre>
      )}
    </section>
  );
}

function Section({ name, value }: { readonly name: string; readonly value: unknown }) {
  const items = Array.isArray(value) ? value : [value];
  if (items.length === 0) return null;
  return (
    <section class="card">
      <h2>{labelOf(name)}</h2>
      {items.map((item: unknown) => (isTree(item) ? <Table tree={item} /> : <p>{shown(name, item)}</p>))}
    </section>
  );
}

function Table({ tree }: { readonly tree: Tree }) {
  return (
    <dl class="facts">
      {Object.entries(tree).map(([name, value]) => (
        <div key={name}>
          <dt>{labelOf(name)}</dt>
          <dd>
            {isTree(value) ? (
              <Table tree={value} />
            ) : isTrees(value) ? (
              value.map((tree) => <Table tree={tree} />)
            ) : (
              shown(name, value)
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const STATUS_ICONS = { pass: CircleCheck, warn: TriangleAlert, fail: CircleX } as const;

function Doctor() {
  const [checks, setChecks] = useState<DoctorReport["checks"]>();
  const [isBusy, setBusy] = useState(false);
  const runChecks = async (): Promise<void> => {
    setBusy(true);
    try {
      const report = await sendForJson<DoctorReport>("v1/system/doctor", { method: "POST" });
      setChecks(report.checks);
    } catch (error) {
      notify(messageOf(error));
    }
    setBusy(false);
  };
  return (
    <section class="card">
      <header>
        <h2>{t.system.diagnostics}</h2>
        <span class="grow" />
        <button type="button" disabled={isBusy} onClick={() => void runChecks()}>
          {t.system.run}
        </button>
      </header>
      {checks !== undefined && (
        <ul class="checks">
          {checks.map(({ name, status, detail, fix }) => (
            <li key={name} class={status}>
              <Icon node={STATUS_ICONS[status]} />
              <div>
                <strong>{labelOf(name)}</strong> <span class="off-screen">{t.system.status[status]}</span>{" "}
                {detail}
                {fix !== null && <p class="faint">{fix}</p>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTrees(value: unknown): value is readonly Tree[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTree);
}

/** Sections of the information; the first section has all values outside of sections. */
function sections(info: Tree): readonly (readonly [string, unknown])[] {
  const { build, ...parts } = info;
  const single = Object.entries(parts).filter(([, value]) => typeof value !== "object");
  const others = Object.entries(parts).filter(([, value]) => typeof value === "object");
  return [["svc", { ...Object.fromEntries(single), ...(isTree(build) ? build : {}) }], ...others];
}

/** `memory_total` → Memory total. */
function labelOf(name: string): string {
  const known = t.system.names[name];
  if (known !== undefined) return known;
  const text = name.replace(/_bytes$/, "").replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function shown(name: string, value: unknown): ComponentChild {
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return value.length === 0 ? "–" : value.map(String).join(", ");
  if (typeof value === "number" && /bytes|memory/.test(name)) return formatBytes(value);
  if (typeof value === "boolean") return value ? t.common.yes : t.common.no;
  return typeof value === "string" ? value : JSON.stringify(value);
}
