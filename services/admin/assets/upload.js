// JavaScript sends files to the media service in parts. The dashboard begins and completes an upload; its
// forms have the texts of this script.
"use strict";

// tries is how often a part is sent before the upload stops and waits for the person.
const tries = 4;

// Upload is a form that uploads: its file, the upload, and the request in progress.
class Upload {
  constructor(form) {
    this.form = form;
    this.path = new URL(form.getAttribute("action"), location.href).pathname;
    this.field = form.querySelector("input[type=file]");
    this.bar = form.querySelector("progress");
    this.amount = form.querySelector("[data-amount]");
    this.begin = form.querySelector("button:not([type])");
    this.again = form.querySelector("[data-continue]");
    this.stop = form.querySelector("[data-cancel]");
    form.addEventListener("submit", (event) => { event.preventDefault(); this.start(); });
    this.again.addEventListener("click", () => this.run());
    this.stop.addEventListener("click", () => this.cancel());
  }

  // say shows a text of the form, or another text.
  say(name, text = this.form.dataset[name]) {
    this.form.querySelector(".said").textContent = text;
  }

  // show shows the buttons of a state: choosing, sending, joining or stopped.
  show(state) {
    this.begin.hidden = state !== "choosing";
    this.field.disabled = state !== "choosing";
    this.again.hidden = state !== "stopped";
    this.stop.hidden = state !== "stopped" && state !== "sending";
    this.bar.hidden = this.amount.hidden = state === "choosing";
    this.leaving(state === "sending" || state === "joining");
  }

  // leaving makes the browser ask before the page is left during an upload.
  leaving(on) {
    if (on === Boolean(this.guard)) return;
    if (on) {
      this.guard = (event) => event.preventDefault();
      addEventListener("beforeunload", this.guard);
    } else {
      removeEventListener("beforeunload", this.guard);
      this.guard = null;
    }
  }

  // key names the upload of the chosen file, which a reloaded page continues.
  key() {
    return [this.path, this.form.dataset.upload, this.file.name, this.file.size, this.file.lastModified].join("|");
  }

  // post sends a form to the dashboard and returns its answer.
  async post(path, fields) {
    const body = new URLSearchParams(new FormData(this.form));
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    const response = await fetch(path, {method: "POST", body});
    if (!(response.headers.get("Content-Type") || "").startsWith("application/json")) throw new Refusal("failed");
    const answer = await response.json();
    if (answer.error) throw new Refusal("", answer.error);
    return answer;
  }

  async start() {
    this.file = this.field.files[0];
    if (!this.file) return this.say("choose");
    const most = Number(this.form.dataset.most);
    if (most && this.file.size > most) return this.say("tooLarge");
    this.upload = null;
    await this.run();
  }

  // run begins or continues the upload, up to its end.
  async run() {
    const job = this.job = {};
    this.show("sending");
    this.say("sending");
    try {
      const known = this.upload ? this.upload.id : sessionStorage.getItem(this.key()) || "";
      this.upload = await this.post(this.path, {
        name: this.file.name, type: this.file.type, size: this.file.size, upload: known, _key: fresh(this.form),
      });
      sessionStorage.setItem(this.key(), this.upload.id);
      this.check(job);
      await this.send(job);
      await this.complete(job);
    } catch (error) {
      if (this.job === job) this.halt(error);
    }
  }

  // check throws if the upload was cancelled since a job began.
  check(job) {
    if (this.job !== job) throw new Refusal("cancelled");
  }

  // send sends the parts that the media service does not have.
  async send(job) {
    const {parts, partSize, received = []} = this.upload;
    const there = new Set(received);
    for (let n = 1; n <= parts; n++) {
      if (!there.has(n)) {
        await this.sendPart(job, n, this.file.slice((n - 1) * partSize, n * partSize), (n - 1) * partSize);
      }
      this.progress(Math.min(n * partSize, this.file.size));
    }
  }

  // sendPart sends a part, several times if the connection fails.
  async sendPart(job, n, part, before) {
    const digest = await digestOf(part);
    for (let attempt = 1; ; attempt++) {
      this.check(job);
      try {
        await this.put(`${this.upload.partUrl}/${n}`, part, digest, before);
        if (attempt > 1) this.say("sending");
        return;
      } catch (error) {
        if (error instanceof Refusal || attempt === tries) throw error;
        this.say("retrying");
        await pause(1000 * 2 ** attempt);
      }
    }
  }

  // put sends the bytes of a part. It rejects with a Refusal if sending them again cannot help.
  put(url, part, digest, before) {
    return new Promise((resolve, reject) => {
      const request = this.request = new XMLHttpRequest();
      request.open("PUT", url);
      if (digest) request.setRequestHeader("Content-Digest", digest);
      request.upload.onprogress = (event) => this.progress(before + event.loaded);
      request.onerror = request.ontimeout = () => reject(new Error("connection"));
      request.onabort = () => reject(new Refusal("cancelled"));
      request.onload = () => {
        if (request.status >= 200 && request.status < 300) return resolve();
        const name = {400: "damaged", 401: "expired", 403: "expired", 404: "expired", 409: "expired", 410: "expired", 413: "tooLarge", 415: "wrongType"}[request.status];
        reject(name ? new Refusal(name) : new Error(`status ${request.status}`));
      };
      request.send(part);
    });
  }

  // complete waits until the parts are joined, and opens the next page.
  async complete(job) {
    this.show("joining");
    this.say("joining");
    for (;;) {
      const answer = await this.post(`${this.path}/${this.upload.id}/complete`, {});
      if (answer.next) {
        this.forget();
        this.leaving(false);
        location.assign(answer.next);
        return;
      }
      await pause(1000);
      this.check(job);
    }
  }

  // forget removes what a reloaded page would continue.
  forget() {
    sessionStorage.removeItem(this.key());
  }

  // halt says why the upload stopped. It can be continued, unless it was refused for good.
  halt(error) {
    if (!(error instanceof Refusal)) {
      this.say("stopped");
      return this.show("stopped");
    }
    this.say(error.name, error.text || this.form.dataset[error.name]);
    if (error.name === "damaged" || error.name === "failed") return this.show("stopped");
    this.forget();
    this.upload = null;
    this.show("choosing");
  }

  // cancel stops the request in progress, and removes what has arrived.
  async cancel() {
    this.job = null;
    if (this.request) this.request.abort();
    try {
      if (this.upload) await this.post(`${this.path}/${this.upload.id}/cancel`, {});
      this.say("cancelled");
    } catch (error) {
      this.say("", error.text || this.form.dataset.failed);
    }
    this.forget();
    this.upload = null;
    this.show("choosing");
  }

  progress(sent) {
    this.bar.value = 100 * sent / this.file.size;
    this.amount.textContent = `${size(sent)} ${this.form.dataset.of} ${size(this.file.size)}`;
  }
}

// Refusal is an answer that says why an upload does not continue: a text of the form, or other words.
class Refusal extends Error {
  constructor(name, text = "") {
    super(text || name);
    this.name = name;
    this.text = text;
  }
}

// fresh returns a key for a form that is sent again on purpose.
function fresh(form) {
  const key = form.querySelector("[name=_key]");
  const letters = "0123456789abcdefghjkmnpqrstvwxyz";
  const random = crypto.getRandomValues(new Uint8Array(key.value.length));
  return Array.from(random, (byte) => letters[byte % letters.length]).join("");
}

// digestOf returns the Content-Digest of bytes; "" where the browser has no WebCrypto, without TLS.
async function digestOf(part) {
  if (!globalThis.crypto || !crypto.subtle) return "";
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", await part.arrayBuffer()));
  return `sha-256=:${btoa(String.fromCharCode(...sum))}:`;
}

// size prints a number of bytes as the pages do.
function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; unit++) bytes /= 1000;
  return `${bytes.toFixed(unit < 2 ? 0 : 1)} ${units[unit]}`;
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

for (const form of document.querySelectorAll("form[data-upload]")) new Upload(form);
