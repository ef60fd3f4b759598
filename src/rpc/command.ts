// Arguments of `svc rpc-worker`.

export interface RpcWorkerCommand {
  readonly host: string;
  readonly port: number;
  /** As token_source: env:NAME, path:FILE or literal:TOKEN. */
  readonly tokenSource?: string;
  /** Paths of PEM files. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** Threads of the CPU device; absent: as many as a model on the CPU gets. */
  readonly threads?: number;
}
