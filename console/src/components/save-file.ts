/** Saves bytes as a file of the person's, as a link with `download` would. */
export function saveFile(bytes: Blob, name: string): void {
  const url = URL.createObjectURL(bytes);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Browsers read it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
