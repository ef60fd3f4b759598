// File download and file selection.

/** Downloads a file. Its type is always octet-stream, so that the browser never opens it as a page of svc's origin. */
export function saveFile(name: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url));
}

/** Opens the file chooser; resolves with the selected file, never if the user cancels. */
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
