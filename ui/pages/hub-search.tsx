// Search of the hub: repositories, their models with size and fit, and downloads.

import { ChevronRight, Download, Search } from "lucide";
import { useEffect, useState } from "preact/hooks";
import type { HubFit, HubModelChoice, HubRepository, HubRepositoryDetails } from "../../src/core/hub.ts";
import { messageOf } from "../api/client.ts";
import { formatBytes, formatCount, formatTokens, plural } from "../format.ts";
import { loadRepository, pull, pulls, searchHub, use } from "../state/hub.ts";
import { Icon } from "../view/icon.tsx";
import { Problem } from "./problem.tsx";

/** Pause in typing after which the hub is asked, milliseconds. */
const PAUSE_MS = 400;

const SORTS = [
  ["downloads", "Most downloaded"],
  ["trending", "Trending"],
  ["likes", "Most liked"],
  ["updated", "Newest"],
] as const;

export function HubSearch() {
  const [words, setWords] = useState("");
  const [sort, setSort] = useState("downloads");
  const { found, problem, isBusy } = useSearch(words.trim(), sort);
  return (
    <section class="card" aria-label="Find models">
      <header>
        <h2>Find models</h2>
        {isBusy && (
          <span class="faint" role="status">
            Searching…
          </span>
        )}
      </header>
      <form class="options" role="search" onSubmit={(event) => event.preventDefault()}>
        <label class="search-box">
          <Icon node={Search} size={16} />
          <input
            type="search"
            aria-label="Search the hub"
            placeholder="Search the hub: qwen3, gemma, coder…"
            value={words}
            onInput={({ currentTarget }) => setWords(currentTarget.value)}
          />
        </label>
        <select
          aria-label="Order"
          value={sort}
          onChange={({ currentTarget }) => setSort(currentTarget.value)}
        >
          {SORTS.map(([value, label]) => (
            <option value={value}>{label}</option>
          ))}
        </select>
      </form>
      {problem !== undefined && <Problem text={problem} />}
      {found?.length === 0 && <p class="faint">No repository with GGUF files has these words in its name.</p>}
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
  }, [words, sort]);
  return { found, problem, isBusy };
}

function Repository({ repository }: { readonly repository: HubRepository }) {
  const [isOpen, setOpen] = useState(false);
  const { id, access, downloaded, architecture, parameters, context_length: context } = repository;
  const { downloads, license } = repository;
  const facts = [
    parameters === null ? "" : `${formatCount(parameters)} parameters`,
    architecture ?? "",
    context === null ? "" : `context ${formatTokens(context)}`,
    plural(downloads, "download"),
    license ?? "",
  ];
  return (
    <li>
      <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="repository-name">{id}</span>
        {downloaded && <span class="badge loaded">downloaded</span>}
        {access !== "public" && <span class="badge">{access}</span>}
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
  useEffect(() => {
    loadRepository(id).then(setDetails, (error: unknown) => setProblem(messageOf(error)));
  }, [id, isEnded]);
  if (problem !== undefined) return <Problem text={problem} />;
  if (details === undefined)
    return (
      <p class="faint" role="status">
        Loading the files…
      </p>
    );
  if (details.models.length === 0) return <p class="faint">This repository has no model that svc can run.</p>;
  return (
    <ul class="model-choices">
      {details.models.map((choice) => (
        <Choice key={choice.id} choice={choice} />
      ))}
    </ul>
  );
}

const FITS: Readonly<Record<HubFit, readonly [string, string]>> = {
  fits: ["fits", "Fits into the memory that is free now."],
  tight: ["tight", "Fits once other models and programs leave the memory."],
  too_large: ["too large", "Does not fit into this machine."],
  unknown: ["unknown fit", "The file does not tell how much memory it needs."],
};

function Choice({ choice }: { readonly choice: HubModelChoice }) {
  const { id, quantization, files, fit, is_default: isDefault, projector, draft } = choice;
  const [label, title] = FITS[fit];
  const also = [projector === null ? "" : "sees or hears", draft === null ? "" : "with a draft model"];
  const facts = [
    formatBytes(choice.size_bytes),
    choice.memory_bytes === null ? "" : `${formatBytes(choice.memory_bytes)} of memory`,
    ...also,
  ];
  return (
    <li>
      <strong>{quantization ?? files[0]}</strong>
      {isDefault && <span class="badge">recommended</span>}
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
        Use
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
      aria-label={running ? undefined : `Download ${id}, ${size}`}
      disabled={running || isBusy || choice.fit === "too_large"}
      onClick={() => void start()}
    >
      <Icon node={Download} size={15} /> {running ? "Downloading" : size}
    </button>
  );
}
