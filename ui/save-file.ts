// Hands bytes to the browser's download.

/** Saves a file on the reader's machine. Its type is never one that a browser would open as a page of ours. */
export function saveFile(name: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url));
}

/** Lets a person choose a file and gives its text; never resolves when they don't. */
export function chooseFile(accept: string): Promise<File> {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = accept;
  return new Promise((resolve) => {
    input.addEventListener("change", () => {
      const file = input.files?.[0];
      if (file !== undefined) resolve(file);
    });
    input.click();
  });
}
