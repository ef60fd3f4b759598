// Numbers of the code style, read by the linter's configuration and by AGENTS.md through `npm run generate`.

/** Limits of sources; tests are exempt from the length of functions and files. */
export const STYLE = {
  fileLines: 400,
  functionLines: 70,
  parameters: 5,
  nesting: 4,
  commitSubjectChars: 72,
} as const;
