// Usage page: one's own use of the server and its limits; for administrators that of all keys.

import { Download } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { messageOf, send, sendForJson } from "../api/client.ts";
import { saveFile } from "../save-file.ts";
import { isAdmin, loadMe, me, type UsageCounts } from "../state/me.ts";
import { notify } from "../state/toasts.ts";
import { Icon } from "../view/icon.tsx";
import { ConnectApps } from "./connect-apps.tsx";
import { PageFrame } from "./page-frame.tsx";
import { Problem } from "./problem.tsx";
import { t } from "../texts/texts.ts";

interface Row extends UsageCounts {
  readonly day: string;
  readonly key: string;
  readonly model: string;
}

interface UsageBody {
  readonly data: readonly Row[];
  readonly total: UsageCounts;
}

const COUNTS = [
  "requests",
  "prompt_tokens",
  "cached_tokens",
  "completion_tokens",
  "reasoning_tokens",
  "tool_calls",
  "compute_seconds",
] as const satisfies readonly (keyof UsageCounts)[];

const SPANS = [1, 7, 30, 365] as const;
const DAY_MS = 86_400_000;

export function UsagePage() {
  const [days, setDays] = useState<number>(30);
  const [body, setBody] = useState<UsageBody>();
  const [problem, setProblem] = useState<string>();
  const query = `v1/usage?from=${firstDay(days)}`;
  const name = me.value?.name;
  useEffect(() => void loadMe(), []);
  useEffect(() => {
    setBody(undefined); // of another person, perhaps
    sendForJson<UsageBody>(query).then(
      (found) => {
        setBody(found);
        setProblem(undefined);
      },
      (error: unknown) => setProblem(messageOf(error)),
    );
  }, [query, name]);
  return (
    <PageFrame label={t.pages.usage} isWide>
      {problem !== undefined && <Problem text={problem} />}
      <Account />
      <section class="card">
        <header>
          <h2>{isAdmin.value ? t.usage.all : t.usage.own}</h2>
          <span class="grow" />
          <select
            aria-label={t.usage.span}
            value={String(days)}
            onChange={({ currentTarget }) => setDays(Number(currentTarget.value))}
          >
            {SPANS.map((span) => (
              <option key={span} value={String(span)}>
                {t.usage.days(span)}
              </option>
            ))}
          </select>
          <button type="button" onClick={() => void saveTable(query)}>
            <Icon node={Download} /> {t.usage.csv}
          </button>
        </header>
        {body?.data.length === 0 && <p class="faint">{t.usage.nothing}</p>}
        {body !== undefined && body.data.length > 0 && <UsageTable body={body} />}
      </section>
      {!isAdmin.value && <ConnectApps />}
    </PageFrame>
  );
}

/** Who it is, with limits and what is used of them. */
function Account() {
  const account = me.value;
  if (account === undefined || account.name === null) return null;
  const { limits, usage_today: today } = account;
  const budget = limits.budget_tokens_per_day;
  const used = today.prompt_tokens + today.completion_tokens;
  const shown = [
    [t.usage.role, t.usage.roles[account.role]],
    [t.usage.today, t.usage.tokens(used, budget)],
    ...(["rpm", "tpm", "streams"] as const).flatMap((name) =>
      limits[name] === undefined ? [] : [[t.usage.limits[name], limits[name].toLocaleString(t.locale.dates)]],
    ),
  ];
  return (
    <section class="card">
      <h2>{account.name}</h2>
      <dl class="facts">
        {shown.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {budget !== undefined && (
        <progress max={budget} value={Math.min(used, budget)} aria-label={t.usage.today} />
      )}
    </section>
  );
}

function UsageTable({ body: { data, total } }: { readonly body: UsageBody }) {
  const number = (value: number): string =>
    value.toLocaleString(t.locale.dates, { maximumFractionDigits: 1 });
  const hasKeys = isAdmin.value;
  return (
    <div class="table-box" role="region" tabIndex={0} aria-label={t.usage.table}>
      <table class="usage">
        <thead>
          <tr>
            <th>{t.usage.day}</th>
            {hasKeys && <th>{t.usage.key}</th>}
            <th>{t.usage.model}</th>
            {COUNTS.map((name) => (
              <th key={name}>{t.usage.counts[name]}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.toReversed().map((row) => (
            <tr key={`${row.day} ${row.key} ${row.model}`}>
              <td>{row.day}</td>
              {hasKeys && <td>{row.key === "" ? "–" : row.key}</td>}
              <td>{row.model}</td>
              {COUNTS.map((name) => (
                <td key={name}>{number(row[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th colSpan={hasKeys ? 3 : 2}>{t.usage.total}</th>
            {COUNTS.map((name) => (
              <td key={name}>{number(total[name])}</td>
            ))}
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

async function saveTable(query: string): Promise<void> {
  try {
    const text = await (await send(`${query}&format=csv`)).text();
    saveFile("usage.csv", [text]);
  } catch (error) {
    notify(messageOf(error));
  }
}

/** The first of that number of days that end today, UTC. */
function firstDay(days: number): string {
  return new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
}
