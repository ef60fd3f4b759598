declare module "parse-prometheus-text-format" {
  export interface Family {
    readonly name: string;
    readonly help: string;
    readonly type: string;
    readonly metrics: readonly unknown[];
  }
  export default function parsePrometheusTextFormat(text: string): Family[];
}
