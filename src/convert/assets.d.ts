// Assets that the bundler embeds.

declare module "*.zst" {
  const path: string;
  export default path;
}
