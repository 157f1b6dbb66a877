// Shows the reference that the page describes in data-configuration. This script runs
// before Scalar's own.
"use strict";
// Zod, which Scalar uses, would otherwise probe whether scripts from text are allowed;
// the content security policy forbids them and reports the probe.
globalThis.__zod_globalConfig = { jitless: true };
document.addEventListener("DOMContentLoaded", () => {
  const element = document.getElementById("reference");
  const configuration = JSON.parse(element.dataset.configuration);
  element.replaceChildren();
  window.Scalar.createApiReference(element, configuration);
});
