// Search of the hub: repositories, their models with size and fit, and downloads.

import { ChevronRight, Download, Search } from "lucide";
import { useEffect, useState } from "preact/hooks";
import type { HubFit, HubModelChoice, HubRepository, HubRepositoryDetails } from "../../src/core/hub.ts";
import { messageOf } from "../api/client.ts";
import { formatBytes, formatCount, formatNumber, formatTokens } from "../format.ts";
import { loadRepository, pull, pulls, searchHub, use } from "../state/hub.ts";
import { Icon } from "../view/icon.tsx";
import { Problem } from "./problem.tsx";
import { t } from "../texts/texts.ts";

/** Pause in typing after which the hub is asked, milliseconds. */
const PAUSE_MS = 400;

const sorts = () =>
  [
    ["downloads", t.models.byDownloads],
    ["trending", t.models.byTrend],
    ["likes", t.models.byLikes],
    ["updated", t.models.byDate],
  ] as const;

export function HubSearch() {
  const [words, setWords] = useState("");
  const [sort, setSort] = useState("downloads");
  const { found, problem, isBusy, retry } = useSearch(words.trim(), sort);
  return (
    <section class="card" aria-label={t.models.find}>
      <header>
        <h2>{t.models.find}</h2>
        {isBusy && (
          <span class="faint" role="status">
            {t.models.searching}
          </span>
        )}
      </header>
      <form class="options" role="search" onSubmit={(event) => event.preventDefault()}>
        <label class="search-box">
          <Icon node={Search} size={16} />
          <input
            type="search"
            aria-label={t.models.search}
            placeholder={t.models.searchHint}
            value={words}
            onInput={({ currentTarget }) => setWords(currentTarget.value)}
          />
        </label>
        <select
          aria-label={t.models.order}
          value={sort}
          onChange={({ currentTarget }) => setSort(currentTarget.value)}
        >
          {sorts().map(([value, label]) => (
            <option value={value}>{label}</option>
          ))}
        </select>
      </form>
      {problem !== undefined && <Problem text={problem} onRetry={retry} />}
      {found?.length === 0 && <p class="faint">{t.models.noRepository}</p>}
      <ul class="repositories">
        {found?.map((repository) => (
          <Repository key={repository.id} repository={repository} />
        ))}
      </ul>
    </section>
  );
}

/** Asks the hub once typing pauses; nothing is sent before something is typed. */
function useSearch(words: string, sort: string) {
  const [found, setFound] = useState<readonly HubRepository[]>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (words === "") return setFound(undefined);
    const abort = new AbortController();
    const search = async (): Promise<void> => {
      setBusy(true);
      try {
        setFound(await searchHub(words, sort, abort.signal));
        setProblem(undefined);
      } catch (error) {
        if (abort.signal.aborted) return;
        setProblem(messageOf(error));
      }
      setBusy(false);
    };
    const timer = setTimeout(() => void search(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [words, sort, attempt]);
  return { found, problem, isBusy, retry: () => setAttempt((before) => before + 1) };
}

function Repository({ repository }: { readonly repository: HubRepository }) {
  const [isOpen, setOpen] = useState(false);
  const { id, access, downloaded, architecture, parameters, context_length: context } = repository;
  const { downloads, license } = repository;
  const facts = [
    parameters === null ? "" : t.models.parameters(formatCount(parameters)),
    architecture ?? "",
    context === null ? "" : t.models.context(formatTokens(context)),
    t.count.download(downloads),
    license ?? "",
  ];
  return (
    <li>
      <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="repository-name">{id}</span>
        {downloaded && <span class="badge loaded">{t.models.downloaded}</span>}
        {access !== "public" && <span class="badge">{t.models.access[access]}</span>}
        <Icon node={ChevronRight} size={15} />
      </button>
      <p class="faint">{facts.filter((fact) => fact !== "").join(" · ")}</p>
      {isOpen && <Choices id={id} />}
    </li>
  );
}

function Choices({ id }: { readonly id: string }) {
  const [details, setDetails] = useState<HubRepositoryDetails>();
  const [problem, setProblem] = useState<string>();
  const isEnded = pulls.value.filter(({ status }) => status === "completed").length;
  const load = (): void => {
    setProblem(undefined);
    loadRepository(id).then(setDetails, (error: unknown) => setProblem(messageOf(error)));
  };
  useEffect(load, [id, isEnded]);
  if (problem !== undefined) return <Problem text={problem} onRetry={load} />;
  if (details === undefined)
    return (
      <p class="faint" role="status">
        {t.models.loadingFiles}
      </p>
    );
  if (details.models.length === 0) return <p class="faint">{t.models.nothingToRun}</p>;
  return (
    <>
      <p class="faint">{sentence(details.estimate.reason)}</p>
      <ul class="model-choices">
        {details.models.map((choice) => (
          <Choice
            key={choice.id}
            choice={choice}
            isRecommended={choice.id === details.estimate.recommended}
          />
        ))}
      </ul>
    </>
  );
}

/** Why a model is recommended, as the server says it in all places. */
function sentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}

const fits = (): Readonly<Record<HubFit, readonly [string, string]>> => ({
  fits: [t.models.fits, t.models.fitsWhy],
  tight: [t.models.tight, t.models.tightWhy],
  too_large: [t.models.tooLarge, t.models.tooLargeWhy],
  unknown: [t.models.unknownFit, t.models.unknownFitWhy],
});

function Choice({
  choice,
  isRecommended,
}: {
  readonly choice: HubModelChoice;
  readonly isRecommended: boolean;
}) {
  const { id, quantization, files, fit, projector, draft, tokens_per_second: speed } = choice;
  const { context_fits: context } = choice;
  const [label, title] = fits()[fit];
  const also = [projector === null ? "" : t.models.seesOrHears, draft === null ? "" : t.models.withDraft];
  const facts = [
    formatBytes(choice.size_bytes),
    choice.memory_bytes === null ? "" : t.models.ofMemory(formatBytes(choice.memory_bytes)),
    t.models.quality[choice.quality],
    context === null || context === 0 ? "" : t.models.contextFits(formatTokens(context)),
    speed === null ? "" : t.models.expectedSpeed(formatNumber(speed.low), formatNumber(speed.high)),
    ...also,
  ];
  return (
    <li>
      <strong>{quantization ?? files[0]}</strong>
      {isRecommended && <span class="badge">{t.models.recommended}</span>}
      <span class={`badge fit-${fit}`} title={title}>
        {label}
      </span>
      <span class="faint grow">{facts.filter((fact) => fact !== "").join(" · ")}</span>
      <ChoiceButton choice={choice} id={id} />
    </li>
  );
}

function ChoiceButton({ choice, id }: { readonly choice: HubModelChoice; readonly id: string }) {
  const [isBusy, setBusy] = useState(false);
  const running = pulls.value.some(
    ({ model, status }) => model === id && (status === "downloading" || status === "queued"),
  );
  if (choice.downloaded) {
    return (
      <button type="button" onClick={() => use(id)}>
        {t.models.use}
      </button>
    );
  }
  const start = async (): Promise<void> => {
    setBusy(true);
    await pull(id);
    setBusy(false);
  };
  const size = formatBytes(choice.download_bytes);
  return (
    <button
      type="button"
      aria-label={running ? undefined : t.models.downloadSized(id, size)}
      disabled={running || isBusy || choice.fit === "too_large"}
      onClick={() => void start()}
    >
      <Icon node={Download} size={15} /> {running ? t.models.downloading : size}
    </button>
  );
}
