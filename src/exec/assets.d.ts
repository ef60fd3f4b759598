// Types of assets that the bundler embeds.

declare module "*.py" {
  const text: string;
  export default text;
}
