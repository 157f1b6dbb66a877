// JavaScript counts the rows of an export while they arrive, and keeps a file between the steps of an import. Without
// it, the browser shows the progress of the download, and people choose the file of an import again.
"use strict";

// inMemory is the largest number of rows that are kept in memory until the file is complete. Larger files are written
// to the disk where the browser allows it; all other browsers download them as usual.
const inMemory = 10000;

const numbers = new Intl.NumberFormat(document.documentElement.lang);

// RowCounter counts the rows of CSV in chunks of bytes: line breaks outside of quotes.
class RowCounter {
  rows = -1; // without the header
  quoted = false;

  add(bytes) {
    for (const byte of bytes) {
      if (byte === 34) this.quoted = !this.quoted;
      else if (byte === 10 && !this.quoted) this.rows++;
    }
  }
}

// destination returns where the file is written to: an object with write, close and abort; null if the browser
// downloads it itself. It throws an AbortError if the person cancels the choice of a file.
async function destination(link, name) {
  const found = Number(link.dataset.found);
  if (found && found < inMemory) {
    const parts = [];
    return {
      write: (bytes) => { parts.push(bytes); },
      close: () => save(new Blob(parts, {type: "text/csv"}), name),
      abort: () => {},
    };
  }
  if (!window.showSaveFilePicker) return null;
  const file = await window.showSaveFilePicker({suggestedName: name});
  return file.createWritable();
}

// save downloads a file that is in memory.
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// nameOf returns the name of the file of a response.
function nameOf(response) {
  return /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") || "")?.[1] || "export.csv";
}

async function download(link, box) {
  const said = box.querySelector(".said");
  let file = null;
  try {
    const kind = new URL(link.href).searchParams;
    file = await destination(link, [kind.get("what"), kind.get("from"), kind.get("to")].join("-") + ".csv");
  } catch (error) {
    if (error.name === "AbortError") return;
  }
  if (!file) return location.assign(link.href);
  const counter = new RowCounter();
  const total = Number(link.dataset.total);
  let shown = 0;
  try {
    const response = await fetch(link.href);
    if (!response.ok || response.redirected || !response.body) {
      await file.abort();
      return location.assign(link.href); // the page says why
    }
    const reader = response.body.getReader();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      counter.add(value);
      await file.write(value);
      if (Date.now() - shown > 500) {
        shown = Date.now();
        const of = total ? " / " + numbers.format(total) : "";
        said.textContent = box.dataset.written + " " + numbers.format(Math.max(counter.rows, 0)) + of;
      }
    }
    await file.close();
    said.textContent = box.dataset.done + " " + numbers.format(Math.max(counter.rows, 0));
  } catch {
    await Promise.resolve(file.abort()).catch(() => {});
    said.textContent = box.dataset.failed;
  }
}

for (const box of document.querySelectorAll("[data-export]")) {
  const link = box.querySelector("a[data-found]");
  let busy = false;
  link?.addEventListener("click", async (event) => {
    event.preventDefault();
    if (busy) return;
    busy = true;
    await download(link, box);
    busy = false;
  });
}

// kept is the file of the import that was last chosen.
let kept = null;

async function send(form, submitter) {
  const box = form.closest("[data-import]");
  const body = new FormData(form);
  const chosen = form.querySelector("input[type=file]").files[0];
  if (chosen) kept = chosen;
  body.delete("file");
  body.append("file", kept || new File([], ""));
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  try {
    const response = await fetch(submitter?.getAttribute("formaction") || form.getAttribute("action"), {method: "POST", body});
    if (response.redirected) return location.assign(response.url);
    if ((response.headers.get("Content-Type") || "").startsWith("text/csv")) {
      save(await response.blob(), nameOf(response));
      return;
    }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.querySelector("[data-import]");
    if (!fresh) throw new Error("not the page");
    box.replaceWith(fresh);
    const heading = fresh.querySelector("h3, .wrong") || fresh;
    heading.tabIndex = -1;
    heading.focus();
  } catch {
    box.querySelector(".said").textContent = box.dataset.failed;
  } finally {
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  }
}

document.addEventListener("submit", (event) => {
  if (!event.target.closest("[data-import]")) return;
  event.preventDefault();
  send(event.target, event.submitter);
});
