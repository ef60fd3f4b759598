// Images and audio in the agent loop: resolved before a run starts, produced by tools, stored in sessions.

import { describe, expect, test } from "bun:test";
import { mcpToolset } from "../../src/agent/tools/mcp.ts";
import { pythonToolset } from "../../src/agent/tools/python.ts";
import type { InputPart } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import { defined } from "../../src/core/defined.ts";
import { ServiceError } from "../../src/core/error.ts";
import { MEDIA_BYTES_MAX } from "../../src/core/limits.ts";
import { ANY_MEDIA, type MediaRules } from "../../src/core/media.ts";
import type { MediaPart, Message } from "../../src/core/message.ts";
import { FetchError } from "../../src/net/public-fetch.ts";
import type { McpPart, McpTool } from "../../src/mcp/types.ts";
import {
  asking,
  calling,
  lastText,
  messagesOf,
  saying,
  scripted,
  testLoop,
  type TestLoopOptions,
} from "../helpers/agent.ts";
import { testStores } from "../helpers/app.ts";
import { CONFINED, fakePython } from "../helpers/executors.ts";
import { gif, jpeg, png, wav } from "../helpers/media-bytes.ts";
import { refusal } from "../helpers/refusal.ts";
import { said, user } from "../helpers/talk.ts";

const SEES: MediaRules = { ...ANY_MEDIA, modalities: ["image"] };
const media = async () => SEES;

const image = (bytes: Uint8Array): MediaPart => ({
  type: "image",
  data: Buffer.from(bytes).toString("base64"),
});

/** A question with one part before it. */
function showing(part: InputPart, sessionId?: string) {
  const content = [part, { type: "text", text: "What is it?" }] as const;
  return asking(defined({ sessionId }), {
    prompt: { messages: [{ role: "user", content }] },
  });
}

const far = {
  type: "media",
  modality: "image",
  source: { type: "remote", url: "https://a.b/c" },
  param: "p",
} as const;

describe("media of a request", () => {
  test("a URL is fetched in chunks, within the size limit of a medium", async () => {
    const { generate, requests } = scripted(saying("A square."));
    const bytesMax: number[] = [];
    const loop = testLoop({
      generate,
      media,
      fetchFile: async (_url, options) => {
        bytesMax.push(options.bytesMax);
        return { mimeType: "text/html", pieces: [png().subarray(0, 10), png().subarray(10)] };
      },
    });
    await loop.answer(showing(far));
    expect(bytesMax).toEqual([MEDIA_BYTES_MAX]);
    expect(messagesOf(requests[0])[0]?.content).toEqual([
      image(png()),
      { type: "text", text: "What is it?" },
    ]);
  });

  test("a failed fetch names the part", async () => {
    const { generate } = scripted();
    const fetchFile = () => Promise.reject(new FetchError("its server responded with HTTP status 404"));
    const { code, param, message } = await refusal(() =>
      testLoop({ generate, media, fetchFile }).answer(showing(far)),
    );
    expect({ code, param }).toEqual({ code: "invalid_request", param: "p" });
    expect(message).toBe("p could not be fetched: its server responded with HTTP status 404");
  });

  test("too many are refused before the first is fetched", async () => {
    const { generate } = scripted();
    const content = Array.from({ length: 3 }, (_, index) => ({ ...far, param: `p[${index}]` }));
    const loop = testLoop({ generate, media: async () => ({ ...SEES, imagesMax: 2 }) });
    const { param, message } = await refusal(() =>
      loop.answer(asking({}, { prompt: { messages: [{ role: "user", content }] } })),
    );
    expect(param).toBe("p[2]");
    expect(message).toContain("at most 2 images");
  });

  test("a text-only request does not wait for the model's facts", async () => {
    const { generate } = scripted(saying("Hi"));
    const loop = testLoop({ generate, media: () => Promise.reject(new Error("nobody asks")) });
    expect(await loop.answer(asking())).toHaveLength(4);
  });

  test("an unavailable model fails as a run on it would", async () => {
    const { generate } = scripted();
    const gone = new ServiceError("model_not_found", "there is no such model", { param: "model" });
    const error = await refusal(() =>
      testLoop({ generate, media: () => Promise.reject(gone) }).answer(showing(far)),
    );
    expect(error.code).toBe("model_not_found");
  });
});

test("media in results of a client's tools become notes where the model does not take them", async () => {
  const media = [
    ["image", "[image: this model cannot see images]"],
    ["audio", "[audio: this model cannot hear audio]"],
    ["video", "[video: this model cannot see images]"],
  ] as const;
  for (const [modality, note] of media) {
    const { generate, requests } = scripted(saying("So."));
    const loop = testLoop({ generate, media: async () => ({ ...ANY_MEDIA, modalities: [] }) });
    const shown = { ...far, modality };
    const messages = [
      { role: "assistant", content: [], toolCalls: [{ id: "c", name: "f", arguments: "{}" }] },
      { role: "tool", toolCallId: "c", content: [shown, { type: "text", text: "shown" }] },
    ] as const;
    await loop.answer(asking({}, { prompt: { messages } }));
    expect(messagesOf(requests[0])[1]?.content).toEqual([
      { type: "text", text: note },
      { type: "text", text: "shown" },
    ]);
  }
});

describe("media of tools", () => {
  const python = (images: readonly string[], options: Partial<TestLoopOptions> = {}) => {
    const toolsets = [pythonToolset(fakePython({ images }), CONFINED)];
    const { generate, requests } = scripted(calling(["svc_execute_python", { code: "1" }]), saying("Nice."));
    const loop = testLoop({ generate, toolsets, media, ...options });
    return { loop, requests, answer: () => loop.answer(asking({ sessionId: "s", python: true })) };
  };
  const figure = png(5, 5).toBase64();

  test("a model with image input gets a figure, before the text of the result", async () => {
    const { answer, requests } = python([figure]);
    const events = await answer();
    expect(events.find(({ type }) => type === "tool_complete")).toMatchObject({ images: [figure] });
    const [seen, ...words] = messagesOf(requests[1]).at(-1)?.content ?? [];
    expect(seen).toEqual({ type: "image", data: figure });
    expect(words).toHaveLength(1);
    expect(lastText(requests[1])).not.toContain("cannot see");
    const prompt = requests[0]?.prompt;
    const told = prompt?.type === "chat" ? prompt.tools[0]?.description : "";
    expect(told).toContain("you are shown them with the result");
  });

  test("unreadable media and media over the limit are withheld", async () => {
    const bomb = png(5, 5);
    bomb.set([0, 1, 0, 0], 16); // 65536 wide
    bomb.set([0, 1, 0, 0], 20);
    const rules = async () => ({ ...SEES, imagesMax: 1 });
    const { answer, requests } = python([bomb.toBase64(), "aGVsbG8=", figure, figure], { media: rules });
    await answer();
    const last = messagesOf(requests[1]).at(-1)?.content ?? [];
    expect(last.filter(({ type }) => type === "image")).toEqual([{ type: "image", data: figure }]);
    expect(lastText(requests[1])).toEndWith(
      "[3 images were produced and shown to the user. No more are given to you: unreadable, or the limits of this request are reached.]",
    );
  });

  test("images of MCP servers are passed in any format; audio only to a model with audio input", async () => {
    const parts: readonly McpPart[] = [
      { type: "binary", kind: "image", mimeType: "image/jpeg", data: jpeg() },
      { type: "binary", kind: "audio", mimeType: "audio/wav", data: wav(0.01) },
    ];
    const tool: McpTool = {
      server: "camera",
      name: "camera_look",
      description: "Looks.",
      parameters: { type: "object" },
      strict: false,
      call: async () => ({ isError: false, parts }),
    };
    const { generate, requests } = scripted(calling(["camera_look", {}]), saying("A cat."));
    await testLoop({ generate, media, toolsets: [mcpToolset(() => [tool])] }).answer(asking());
    const last = messagesOf(requests[1]).at(-1)?.content ?? [];
    expect(last[0]).toEqual(image(jpeg()));
    expect(last).toHaveLength(2);
    expect(lastText(requests[1])).toContain("You cannot hear audio.");
  });
});

describe("sessions", () => {
  const drawn: readonly Message[] = [
    user("Draw."),
    { role: "assistant", content: [], toolCalls: [{ id: "c", name: "f", arguments: "{}" }] },
    { role: "tool", toolCallId: "c", name: "f", content: [image(png()), { type: "text", text: "done" }] },
    said("Here."),
  ];

  /** What the model is given when a session of this conversation goes on. */
  async function continued(messages: readonly Message[], rules: MediaRules) {
    const { generate, requests } = scripted(saying("Hi"));
    const stores = testStores();
    stores.sessions(SERVER).put("s", messages);
    const loop = testLoop({ generate, ...stores, media: async () => rules });
    await loop.answer(asking({ sessionId: "s" }, { prompt: { messages: [user("And?")] } }));
    return messagesOf(requests[0]);
  }

  test("an image of a tool is kept", async () => {
    expect((await continued(drawn, SEES))[2]).toEqual(drawn[2]);
  });

  test("a model without image input gets a note about the image", async () => {
    const [, , told] = await continued(drawn, { ...SEES, modalities: [] });
    expect(told?.content).toEqual([
      { type: "text", text: "[1 image was produced and shown to the user. You cannot see images.]" },
      { type: "text", text: "done" },
    ]);
  });

  test("images of the user count before those of tools", async () => {
    const own: Message = { role: "user", content: [image(gif()), { type: "text", text: "Mine." }] };
    const messages = await continued([...drawn, own, said("Yes.")], { ...SEES, imagesMax: 1 });
    expect(messages[2]?.content[0]?.type).toBe("text");
    expect(messages[4]).toEqual(own);
  });

  test("images are stored, and count with those of the next request", async () => {
    const stores = testStores();
    const { generate } = scripted(saying("A square."));
    const inline = { ...far, source: { type: "inline", data: png().toBase64() } } as const;
    await testLoop({ generate, ...stores, media }).answer(showing(inline, "s"));
    const [asked] = stores.sessions(SERVER).get("s") ?? [];
    expect(asked?.content).toEqual([image(png()), { type: "text", text: "What is it?" }]);

    const again = scripted(saying("Another."));
    const other = { ...far, source: { type: "inline", data: gif().toBase64() } } as const;
    const messages = [
      { role: "user", content: [other, { type: "text", text: "What is it?" }] },
      said("A square."),
      user("Sure?"),
    ] as const;
    const loop = testLoop({ generate: again.generate, ...stores, media });
    await loop.answer(asking({ sessionId: "s" }, { prompt: { messages } }));
    expect(messagesOf(again.requests[0])[0]?.content[0]).toEqual(image(gif()));
  });
});
