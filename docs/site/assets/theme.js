// Sets the colours that the reader has chosen, before the page is drawn. The key in the
// storage is the one of the API references.
"use strict";
document.documentElement.classList.add("scripted");
try {
  const mode = localStorage.getItem("colorMode");
  if (mode === "dark" || mode === "light") document.documentElement.dataset.theme = mode;
} catch { /* without storage, the system's colours apply */ }
