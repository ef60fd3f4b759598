// What searching the web means to those who ask for it; how it is done is the rest of this folder's business.

/** Hosts that may be read, each with its subdomains. */
export interface DomainFilter {
  /** Empty: all. */
  readonly allowed: readonly string[];
  readonly blocked: readonly string[];
}

/** How much text results may have. */
export interface TextBudget {
  readonly tokensMax: number;
  /** Tokens of a text. Never rejects. */
  readonly count: (text: string) => Promise<number>;
}

export interface WebRequest {
  readonly filter: DomainFilter;
  readonly budget: TextBudget;
}

/** A page that was found, as far as the budget let it be told. */
export interface WebResult {
  readonly title: string;
  /** Of the search engine; may be "". */
  readonly description: string;
  readonly url: string;
  /** Passages of the page; "" where it could not be read. */
  readonly content: string;
}

export interface WebPageText {
  /** Where redirects led. */
  readonly url: string;
  readonly content: string;
}

/** The web, as far as models are let out into it. */
export interface Web {
  /**
   * Finds pages and what they say on a query; a query that is an address is that page. Best page first. Throws
   * SearchFailure.
   */
  search(query: string, ask: WebRequest, signal: AbortSignal): Promise<readonly WebResult[]>;
  /** What the page of an address says, from its beginning. Throws SearchFailure. */
  read(url: string, ask: WebRequest, signal: AbortSignal): Promise<WebPageText>;
}
