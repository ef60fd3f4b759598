// Interface of web search for the agent.

import type { Caller } from "../core/caller.ts";
import type { Hit } from "../reader/protocol.ts";

/** Permitted and blocked hosts, each with its subdomains. */
export interface DomainFilter {
  /** Empty: all. */
  readonly allowed: readonly string[];
  readonly blocked: readonly string[];
}

/** Token budget of results. */
export interface TextBudget {
  readonly tokensMax: number;
  /** Tokens of a text. Never rejects. */
  readonly count: (text: string) => Promise<number>;
}

export interface WebRequest {
  /** On whose behalf models of this server rank what is found. */
  readonly caller: Caller;
  readonly filter: DomainFilter;
  readonly budget: TextBudget;
}

/** A page that was found, cut to the budget. */
export interface WebResult extends Hit {
  /** Passages of the page; "" if it could not be read. */
  readonly content: string;
}

export interface WebPageText {
  /** Final URL, after redirects. */
  readonly url: string;
  readonly content: string;
}

/** Web access of models. */
export interface Web {
  /**
   * Finds pages and their passages for a query, best first; a URL as the query reads that page. Throws SearchFailure.
   */
  search(query: string, ask: WebRequest, signal: AbortSignal): Promise<readonly WebResult[]>;
  /** Text of a page, from its start. Throws SearchFailure. */
  read(url: string, ask: WebRequest, signal: AbortSignal): Promise<WebPageText>;
}
