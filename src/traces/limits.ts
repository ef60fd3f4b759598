// Limits of traces, with their units and sources.

/** Traces for the web interface, and spans of each: rounds of tools can be many. */
export const TRACES_MAX = 200;
export const TRACE_SPANS_MAX = 200;
/** Spans that wait for the collector; those beyond it are dropped, which the log says. */
export const EXPORT_QUEUE_MAX = 4096;
/** Spans of one export. */
export const EXPORT_BATCH_MAX = 512;
/** Time between exports, and time for one, milliseconds: the defaults of OpenTelemetry. */
export const EXPORT_EVERY_MS = 5000;
export const EXPORT_TIMEOUT_MS = 10_000;
