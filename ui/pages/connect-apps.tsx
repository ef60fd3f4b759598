// "Connect your apps": what connects coding agents and editors with this server, as `svc launch` does it.

import { useState } from "preact/hooks";
import { shownPath, type Target } from "../../src/clients/client.ts";
import { CLIENTS } from "../../src/clients/clients.ts";
import { fileText, startText } from "../../src/clients/text.ts";
import { serverAddress } from "../api/client.ts";
import { ofKind } from "../state/model-card.ts";
import { models } from "../state/models.ts";
import { prefs } from "../state/prefs.ts";
import { CodeBlock } from "../view/code-block.tsx";
import { SelectField } from "../view/fields.tsx";
import { Markdown } from "../view/markdown.tsx";
import { t } from "../texts/texts.ts";

const DEFAULT_MODEL = "default";
/** Context of a model that has not been loaded yet, tokens. */
const CONTEXT_TOKENS = 32_768;
/** In place of the key, which is not shown. */
const KEY = "YOUR_KEY";

/** The server as a configuration names it. */
function targetOf(model: string): Target {
  const texts = ofKind(models.value ?? [], "text");
  const card = texts.find(({ id }) => id === model) ?? texts[0];
  return {
    root: serverAddress(),
    model,
    key: prefs.value.apiKey === "" ? "none" : KEY,
    context: card?.context_length ?? CONTEXT_TOKENS,
    images: card?.capabilities?.vision === true,
  };
}

export function ConnectApps() {
  const [id, setId] = useState("claude");
  const [model, setModel] = useState(DEFAULT_MODEL);
  const client = CLIENTS.find((one) => one.id === id) ?? CLIENTS[0];
  if (client === undefined) return null;
  const target = targetOf(model);
  const connection = client.connect(target);
  const { file } = connection;
  const named = model === DEFAULT_MODEL ? [] : ["-m", model];
  const command = ["svc", "launch", id, ...named, "--url", target.root];
  const others = ofKind(models.value ?? [], "text").map((card) => [card.id, card.id] as const);
  return (
    <section class="card" aria-labelledby="connect-apps">
      <h2 id="connect-apps">{t.connect.title}</h2>
      <SelectField
        label={t.connect.app}
        value={id}
        onChange={setId}
        options={CLIENTS.map((one) => [one.id, one.name])}
      />
      <SelectField
        label={t.common.model}
        value={model}
        onChange={setModel}
        options={[[DEFAULT_MODEL, t.common.default], ...others]}
      />
      {target.context < client.needs.context && (
        <p class="faint">{t.connect.small(client.needs.context, target.context)}</p>
      )}
      <p>{t.connect.byCommand}</p>
      <CodeBlock language="sh" code={command.join(" ")} />
      {file !== undefined && (
        <>
          <p>{t.connect.byFile(shownPath(file))}</p>
          <CodeBlock language={file.format} code={fileText(file).trimEnd()} />
        </>
      )}
      <p>{t.connect.start}</p>
      <CodeBlock language="sh" code={startText(client, connection).trimEnd()} />
      <div class="faint" lang="en">
        <Markdown text={client.notes.join("\n\n")} isGrowing={false} />
      </div>
    </section>
  );
}
