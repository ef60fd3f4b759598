// What the bundler makes of files that are no code of ours.

declare module "*.py" {
  const text: string;
  export default text;
}
