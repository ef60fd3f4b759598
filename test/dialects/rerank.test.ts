import { describe, expect, test } from "bun:test";
import { RANK_DOCUMENTS_MAX } from "../../src/dialects/shared/limits.ts";
import { parseRerankRequest } from "../../src/dialects/rerank/request.ts";
import { rerankBody } from "../../src/dialects/rerank/response.ts";
import { type Rule, testRules } from "../helpers/rules.ts";

const BODY = { query: "cats", documents: ["dogs", { text: "a cat", title: "Cat" }, "a lion"] };

describe("request", () => {
  test("query and documents alone take all defaults, as do nulls", () => {
    const meaning = {
      request: {
        model: "default",
        query: "cats",
        documents: ["dogs", "a cat", "a lion"],
        truncate: false,
      },
      top: 3,
      withDocuments: false,
    };
    expect(parseRerankRequest(BODY)).toEqual(meaning);
    const nulls = {
      model: null,
      top_n: null,
      return_documents: null,
      max_tokens_per_doc: null,
      truncate_sequence: null,
    };
    expect(parseRerankRequest({ ...BODY, ...nulls })).toEqual(meaning);
  });

  test("converts every field", () => {
    const fields = {
      model: "m",
      top_n: 2,
      return_documents: true,
      max_tokens_per_doc: 5,
      truncate_sequence: true,
    };
    expect(parseRerankRequest({ ...BODY, ...fields })).toMatchObject({
      request: { model: "m", documentTokens: 5, truncate: true },
      top: 2,
      withDocuments: true,
    });
  });
});

const RULES: readonly Rule[] = [
  [{ documents: ["a"] }, "missing_field", "query", "required"],
  [{ query: "", documents: ["a"] }, "invalid_request", "query", "empty"],
  [{ query: "a" }, "missing_field", "documents", "required"],
  [{ query: "a", documents: [] }, "invalid_request", "documents", "empty"],
  [{ query: "a", documents: ["b", ""] }, "invalid_request", "documents[1]", "empty"],
  [{ query: "a", documents: [{ title: "b" }] }, "missing_field", "documents[0].text", "required"],
  [{ query: "a", documents: [5] }, "invalid_request", "documents[0]", "a number"],
  [
    { query: "a", documents: Array(RANK_DOCUMENTS_MAX + 1).fill("b") },
    "invalid_request",
    "documents",
    `${RANK_DOCUMENTS_MAX}`,
  ],
  [{ ...BODY, top_n: 0 }, "invalid_request", "top_n", "at least 1"],
  [{ ...BODY, max_tokens_per_doc: 0 }, "invalid_request", "max_tokens_per_doc", "at least 1"],
];
describe("refused", () => testRules(parseRerankRequest, RULES));

describe("response", () => {
  const scores = { scores: [0.5, 0.9, 0.5], promptTokens: 7 };
  const named = { id: "rerank-1", model: "tiny" };

  test("lists the most relevant documents first, ties in request order", () => {
    expect(rerankBody(scores, parseRerankRequest(BODY), named)).toEqual({
      id: "rerank-1",
      object: "list",
      model: "tiny",
      results: [
        { index: 1, relevance_score: 0.9 },
        { index: 0, relevance_score: 0.5 },
        { index: 2, relevance_score: 0.5 },
      ],
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
  });

  test("has top_n results, with texts if requested", () => {
    const call = parseRerankRequest({ ...BODY, top_n: 1, return_documents: true });
    expect(rerankBody(scores, call, named).results).toEqual([
      { index: 1, relevance_score: 0.9, document: { text: "a cat" } },
    ]);
  });
});
