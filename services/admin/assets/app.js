// What the pages gain from JavaScript: copying, showing a password, sending a
// choice at once, and values of a chart under the pointer. Everything works
// without it.
"use strict";

function say(text) {
  const live = document.getElementById("said");
  if (live) live.textContent = text;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy) {
    const source = document.getElementById(button.dataset.copy);
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(source.value || source.textContent);
      button.textContent = "Copied";
      say("Copied");
    } catch {
      const range = document.createRange();
      range.selectNodeContents(source);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected";
      say("Selected: press Ctrl and C to copy");
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  }
  if (button.dataset.reveal) {
    const field = document.getElementById(button.dataset.reveal);
    const hidden = field.type === "password";
    field.type = hidden ? "text" : "password";
    button.textContent = hidden ? "Hide" : "Show";
    button.setAttribute("aria-pressed", String(hidden));
  }
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-send]")) event.target.form.requestSubmit();
});

// A form that was sent is not sent again before its answer is there. Who comes back
// to the page can send it again.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "true";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// Parts that need JavaScript are hidden until it runs.
document.addEventListener("DOMContentLoaded", () => {
  for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;
});

document.addEventListener("pointerover", (event) => {
  const bar = event.target.closest("[data-tip]");
  if (!bar) return;
  const tip = bar.closest("figure").querySelector(".tip");
  if (tip) tip.textContent = bar.dataset.tip;
});
