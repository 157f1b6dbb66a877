// The door: finds names in the roster while people type, and scans tickets with the camera.
"use strict";

(() => {
  // A button that checks somebody in keeps the page. If the request fails, the page says so.
  const failed = () => {
    const trouble = document.getElementById("trouble");
    trouble.hidden = false;
    trouble.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("htmx:sendError", failed);
  document.addEventListener("htmx:responseError", failed);
  document.addEventListener("htmx:beforeRequest", () => { document.getElementById("trouble").hidden = true; });

  // As the server searches: without accents, and with the letters that most keyboards have.
  const letters = { ł: "l", ø: "o", đ: "d", ð: "d", ı: "i", ß: "ss", æ: "ae", œ: "oe", þ: "th" };
  const plain = (text) => text.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase().replace(/[łøđðıßæœþ]/g, (c) => letters[c]);

  const filter = (form) => {
    const list = document.getElementById(form.dataset.filter);
    const field = form.elements.q;
    if (!list) return;
    form.querySelector("[data-plain]").hidden = true;
    const show = () => {
      const words = plain(field.value).split(/\s+/);
      let shown = 0;
      for (const row of list.children) {
        const text = plain(row.querySelector(".name").textContent + " " + (row.querySelector(".by")?.textContent ?? ""));
        row.hidden = !words.every((word) => text.includes(word));
        if (!row.hidden) shown++;
      }
      list.hidden = shown === 0;
      document.getElementById("nobody").hidden = shown > 0;
      return shown;
    };
    field.addEventListener("input", () => {
      document.getElementById("said").textContent = field.dataset.shown + " " + show();
    });
    // Enter goes to the first button that checks in a name that is shown.
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      show();
      list.querySelector("li:not([hidden]) .in")?.focus();
    });
    // A row that was checked in is a new element.
    document.addEventListener("htmx:oobAfterSwap", show);
    if (field.value) show();
  };

  const camera = document.getElementById("camera");
  const again = 3000; // milliseconds without a ticket after which the same one is sent again

  // start shows the picture of the camera and sends the tickets that it sees.
  const start = async () => {
    const state = document.getElementById("camera-state");
    const view = document.getElementById("view");
    if (!navigator.mediaDevices) {
      state.textContent = camera.dataset.missing;
      return;
    }
    try {
      view.srcObject = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" }, audio: false });
      view.hidden = false;
      await view.play();
    } catch (error) {
      state.textContent = error.name === "NotFoundError" ? camera.dataset.missing : camera.dataset.denied;
      return;
    }
    const detector = await reader().catch(() => null);
    if (!detector) {
      view.srcObject.getTracks().forEach((track) => track.stop());
      view.hidden = true;
      state.textContent = camera.dataset.broken;
      return;
    }
    state.textContent = camera.dataset.ready;
    watch(view, detector);
  };

  // reader returns what reads QR codes: the browser, or a script where the browser cannot.
  const reader = async () => {
    const formats = "BarcodeDetector" in window ? await BarcodeDetector.getSupportedFormats().catch(() => []) : [];
    if (formats.includes("qr_code")) {
      return new BarcodeDetector({ formats: ["qr_code"] });
    }
    const own = await import(camera.dataset.reader);
    return new own.BarcodeDetector({ formats: ["qr_code"] });
  };

  const send = (form, code) => {
    form.elements.code.value = code.slice(0, 100);
    form.requestSubmit();
    if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.(80);
  };

  const watch = (view, detector) => {
    const form = document.getElementById("scan");
    let last = "", seen = 0;
    const look = async () => {
      const codes = view.readyState >= 2 ? await detector.detect(view).catch(() => []) : [];
      const code = codes[0]?.rawValue;
      // One ticket at a time: a ticket that is seen during a request is sent after it.
      if (code && !form.classList.contains("htmx-request")) {
        if (code !== last || Date.now() - seen > again) send(form, code);
        last = code;
        seen = Date.now();
      }
      setTimeout(look, 200);
    };
    look();
  };

  document.addEventListener("DOMContentLoaded", () => {
    for (const form of document.querySelectorAll("form[data-filter]")) filter(form);
    if (!camera) return;
    // The field can have another code by now, which somebody types.
    const field = document.getElementById("scan").elements.code;
    document.addEventListener("htmx:afterSwap", (event) => {
      if (field.value === event.detail.requestConfig.parameters.code) field.value = "";
    });
    start();
  });
})();
