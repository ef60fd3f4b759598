// Files that the bundler copies beside the page, by their addresses.

declare module "pdfjs-dist/build/pdf.worker.min.mjs" {
  const address: string;
  export default address;
}

declare module "@mermaid-js/tiny/dist/mermaid.tiny.js" {
  const address: string;
  export default address;
}
