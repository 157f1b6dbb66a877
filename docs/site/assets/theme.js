// Sets the colours that the reader has chosen, before the page is drawn. The key is the
// one of the API references.
"use strict";
try {
  const mode = localStorage.getItem("colorMode");
  if (mode === "dark" || mode === "light") document.documentElement.dataset.theme = mode;
} catch { /* without storage, the system's colours apply */ }
