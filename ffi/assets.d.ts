// Files imported `with { type: "file" }`: the value is a path that Bun's file functions can read.

declare module "*.gguf" {
  const path: string;
  export default path;
}

declare module "*.zst" {
  const path: string;
  export default path;
}

declare module "*.wasm" {
  const path: string;
  export default path;
}
