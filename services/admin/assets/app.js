// JavaScript adds copying, showing a password, printing, submitting a choice when it changes, scrolling
// to the present, and the values of a chart under the pointer. Every page works without it.
"use strict";

// texts are the words of this script, in the language of the page.
const texts = () => document.getElementById("said").dataset;

function say(text) {
  document.getElementById("said").textContent = text;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy) {
    const source = document.getElementById(button.dataset.copy);
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(source.value || source.textContent);
      button.textContent = texts().copied;
      say(texts().copied);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(source);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = texts().selected;
      say(texts().press);
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  }
  if (button.dataset.print !== undefined) print();
  if (button.dataset.reveal) {
    const field = document.getElementById(button.dataset.reveal);
    const hidden = field.type === "password";
    field.type = hidden ? "text" : "password";
    button.textContent = hidden ? texts().hide : texts().show;
    button.setAttribute("aria-pressed", String(hidden));
  }
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-send]")) event.target.form.requestSubmit();
});

// A form cannot be submitted again before its response arrives. After returning to the page,
// it can be.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "true";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// Elements that need JavaScript are hidden until it runs.
document.addEventListener("DOMContentLoaded", () => {
  for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;
});

// A page of a day or a week opens at the present, unless its address names another place. The focus does not
// move.
addEventListener("load", () => {
  if (location.hash || scrollY > 0) return;
  const now = [...document.querySelectorAll("[data-now]")].find((e) => e.checkVisibility());
  if (!now) return;
  const box = now.closest(".scroll");
  const past = (end) => now.getBoundingClientRect().bottom - end;
  if (box && past(box.getBoundingClientRect().bottom) > 0) {
    box.scrollTop += past(box.getBoundingClientRect().bottom) + box.clientHeight / 2;
  }
  if (past(innerHeight) > 0) scrollBy(0, past(innerHeight) + innerHeight / 2);
});

document.addEventListener("pointerover", (event) => {
  const bar = event.target.closest("[data-tip]");
  if (!bar) return;
  const tip = bar.closest("figure").querySelector(".tip");
  if (tip) tip.textContent = bar.dataset.tip;
});
