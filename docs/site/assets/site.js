// The search box, tabs, copy buttons and the switch between dark and light. Everything
// else works without this script.
"use strict";
(() => {
  const store = {
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { localStorage.setItem(key, value); } catch { /* not remembered */ } },
  };
  const make = (name, properties, ...children) => {
    const e = Object.assign(document.createElement(name), properties);
    e.append(...children);
    return e;
  };

  // Dark and light.
  const theme = document.querySelector(".theme");
  if (theme) {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const dark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
    const label = () => {
      theme.textContent = dark() ? "Light" : "Dark";
      theme.setAttribute("aria-label", dark() ? "Use light colours" : "Use dark colours");
    };
    theme.addEventListener("click", () => {
      const mode = dark() ? "light" : "dark";
      document.documentElement.dataset.theme = mode;
      store.set("colorMode", mode);
      label();
    });
    system.addEventListener("change", label);
    label();
    theme.hidden = false;
  }

  // Tabs: the same example in several languages. The choice applies to all of them.
  const groups = [...document.querySelectorAll(".tabs")];
  const choose = (name) => {
    for (const group of groups) {
      const tabs = [...group.querySelectorAll(".tab")];
      const chosen = tabs.find((t) => t.dataset.tab === name) || tabs.find((t) => !t.hidden) || tabs[0];
      tabs.forEach((tab, i) => {
        tab.hidden = tab !== chosen;
        const button = group.querySelectorAll("[role=tab]")[i];
        button.setAttribute("aria-selected", String(tab === chosen));
        button.tabIndex = tab === chosen ? 0 : -1;
      });
    }
  };
  groups.forEach((group, n) => {
    const list = make("div", { className: "tab-list" });
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "Language of the example");
    const tabs = [...group.querySelectorAll(".tab")];
    tabs.forEach((tab, i) => {
      tab.id = `tab-${n}-${i}`;
      tab.setAttribute("role", "tabpanel");
      tab.setAttribute("aria-label", tab.dataset.tab);
      const button = make("button", { type: "button", textContent: tab.dataset.tab });
      button.setAttribute("role", "tab");
      button.setAttribute("aria-controls", tab.id);
      button.addEventListener("click", () => {
        // The page stays where the reader is, although other examples change their height.
        const before = list.getBoundingClientRect().top;
        store.set("language", tab.dataset.tab);
        choose(tab.dataset.tab);
        reach();
        scrollBy(0, list.getBoundingClientRect().top - before);
      });
      list.append(button);
    });
    list.addEventListener("keydown", (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!step) return;
      const buttons = [...list.children];
      const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
      next.focus();
      next.click();
    });
    group.prepend(list);
    group.classList.add("ready");
  });
  choose(store.get("language"));

  // Copy buttons.
  if (navigator.clipboard) {
    for (const pre of document.querySelectorAll(".prose pre")) {
      const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(pre.textContent);
          button.textContent = "Copied";
        } catch {
          button.textContent = "Not copied";
        }
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
      const holder = make("div", { className: "copyable" });
      pre.replaceWith(holder);
      holder.append(pre, button);
    }
  }

  // Code and tables that scroll can be reached with the keyboard.
  const reach = () => {
    for (const e of document.querySelectorAll(".prose .scroll")) {
      if (e.scrollWidth > e.clientWidth) e.tabIndex = 0;
      else e.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", reach);
  addEventListener("load", reach);
  reach();

  // The section that the reader is in, in the list beside the page.
  const entries = new Map([...document.querySelectorAll(".toc a")].map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
  if (entries.size && "IntersectionObserver" in window) {
    const mark = () => {
      let current = null;
      for (const id of entries.keys()) {
        const heading = document.getElementById(id);
        if (heading && heading.getBoundingClientRect().top < 120) current = id;
      }
      for (const [id, a] of entries) {
        if (id === current) a.setAttribute("aria-current", "location");
        else a.removeAttribute("aria-current");
      }
    };
    const observer = new IntersectionObserver(mark, { rootMargin: "-120px 0px 0px 0px", threshold: [0, 1] });
    for (const id of entries.keys()) {
      const heading = document.getElementById(id);
      if (heading) observer.observe(heading);
    }
  }

  // Search. The index and MiniSearch are fetched when the box is used for the first time.
  const form = document.querySelector(".search");
  const input = form.querySelector("input");
  const panel = form.querySelector(".results");
  const status = panel.querySelector("p");
  const list = panel.querySelector("ol");
  const script = (src) => new Promise((resolve, reject) => {
    document.head.append(make("script", { src, onload: resolve, onerror: reject }));
  });
  let loading = null;
  const load = () => {
    loading ??= (async () => {
      const [sections] = await Promise.all([
        fetch(form.dataset.index).then((r) => { if (!r.ok) throw new Error(r.status); return r.json(); }),
        script(form.dataset.script),
      ]);
      const index = new window.MiniSearch({
        fields: ["page", "section", "text"],
        searchOptions: { boost: { section: 4, page: 2 }, prefix: (term) => term.length > 1, fuzzy: (term) => (term.length > 4 ? 0.15 : false), combineWith: "AND" },
      });
      index.addAll(sections);
      return { sections, index };
    })();
    loading.catch(() => { loading = null; });
    return loading;
  };

  // find returns the best sections with all words, or with any of them if none has all.
  // Sections that have the text as it was typed come first.
  const find = ({ sections, index }, query) => {
    const phrase = query.toLowerCase();
    const words = query.split(/[\s\p{P}]+/u).filter(Boolean).join(" ");
    const boostDocument = (id) => {
      const s = sections[id];
      if (s.section.toLowerCase().includes(phrase)) return 3;
      return s.text.toLowerCase().includes(phrase) ? 2 : 1;
    };
    let hits = index.search(words, { boostDocument });
    if (!hits.length) hits = index.search(words, { boostDocument, combineWith: "OR" });
    return hits.slice(0, 12).map((hit) => ({ section: sections[hit.id], terms: hit.terms }));
  };

  // excerpt returns the text around the first term that was found, with the terms marked.
  const excerpt = (text, terms) => {
    const found = new RegExp(terms.map((t) => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).sort((a, b) => b.length - a.length).join("|"), "giu");
    const first = Math.max(0, text.search(found));
    let start = Math.max(0, first - 60);
    if (start > 0) start = text.indexOf(" ", start) + 1;
    const part = text.slice(start, start + 170);
    const out = [];
    if (start > 0) out.push("… ");
    let end = 0;
    for (const match of part.matchAll(found)) {
      if (!match[0]) break;
      out.push(part.slice(end, match.index), make("mark", { textContent: match[0] }));
      end = match.index + match[0].length;
    }
    out.push(part.slice(end));
    if (start + 170 < text.length) out.push(" …");
    return out;
  };

  const show = async () => {
    const query = input.value.trim();
    if (!query) { panel.hidden = true; return; }
    let hits;
    try {
      hits = find(await load(), query);
    } catch {
      status.textContent = "The search could not be loaded. Try again.";
      list.replaceChildren();
      panel.hidden = false;
      return;
    }
    if (input.value.trim() !== query) return;
    status.textContent = hits.length ? (hits.length === 1 ? "1 result" : `${hits.length} results`) : `No page has "${query}". Try fewer or other words.`;
    list.replaceChildren(...hits.map(({ section, terms }) => make("li", {}, make("a", { href: section.url },
      make("strong", { textContent: section.section || section.page }),
      make("span", { className: "of", textContent: section.section ? section.page : "" }),
      make("span", { className: "excerpt" }, ...excerpt(section.text, terms))))));
    panel.hidden = false;
  };
  const close = () => { panel.hidden = true; };

  input.addEventListener("focus", () => { load().catch(() => {}); show(); });
  input.addEventListener("input", show);
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const first = list.querySelector("a");
    if (first && !panel.hidden) first.click();
  });
  form.addEventListener("keydown", (e) => {
    if (e.key === "Escape") { close(); input.focus(); panel.hidden = true; return; }
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!step || panel.hidden) return;
    const stops = [input, ...list.querySelectorAll("a")];
    const next = stops.indexOf(document.activeElement) + step;
    if (stops[next]) { stops[next].focus(); e.preventDefault(); }
  });
  form.addEventListener("focusout", (e) => { if (e.relatedTarget && !form.contains(e.relatedTarget)) close(); });
  list.addEventListener("click", (e) => { if (e.target.closest("a")) close(); });
  document.addEventListener("click", (e) => { if (!form.contains(e.target)) close(); });
  document.addEventListener("keydown", (e) => {
    const typing = e.target.closest && e.target.closest("input, textarea, select, [contenteditable]");
    if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); input.focus(); input.select(); }
  });
  form.hidden = false;
})();
