// Keeps the Overview fresh: asks for what changed since the number it has seen, puts texts into their nodes, and says how old they are.
// The age counts from the moment at which the figures were so, not from the last attempt.
"use strict";
(function () {
  const page = document.getElementById("console");
  if (!page) return;
  const words = page.dataset, root = document.documentElement;
  const charts = document.getElementById("charts");
  const zone = charts.dataset.zone, language = root.lang;
  const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: zone });
  const say = (name, places) => Object.entries(places || {}).reduce((text, [place, value]) => text.replaceAll("{" + place + "}", value), words["say" + name[0].toUpperCase() + name.slice(1)]);

  // ---- age
  const fresh = document.getElementById("fresh"), bar = document.getElementById("bar");
  let seq = words.seq, out = false, failures = 0, answered = performance.now();
  let soAt = Date.now() - Number(fresh.dataset.age) * 1000;
  let used = performance.now();
  const seconds = (ms) => Math.max(0, Math.floor(ms / 1000));
  function tellAge() {
    const age = Date.now() - soAt, silence = performance.now() - answered, at = clock.format(new Date(soAt));
    fresh.querySelector("[data-fresh]").textContent = say(out || failures || age > pause() + 3000 ? "away" : pause() > 1500 ? "slow" : "live", { age: seconds(age) });
    fresh.classList.toggle("is-live", age < 3000 && !out);
    const waits = pause() + 3000;
    root.classList.toggle("is-old", age > waits);
    root.classList.toggle("is-gone", age > waits + 7000);
    if (age > waits + 7000) document.querySelectorAll(".tile .figure").forEach((node) => put(node, say("none", { at })));
    if (out) return;
    const text = silence > waits + 3000 ? say("old", { age: seconds(silence), at }) : age > waits + 7000 ? say("stale", { age: seconds(age), at }) : "";
    if (bar.textContent !== text) bar.textContent = text;
    bar.hidden = !text;
  }
  function put(node, text) {
    if (node.textContent !== text) node.textContent = text;
    if (text === "?") node.dataset.nothing = "unknown"; else delete node.dataset.nothing;
  }

  // ---- what is so now
  const findings = document.getElementById("findings"), chip = document.getElementById("findings-changed");
  const spoken = document.getElementById("light-spoken");
  let pending = null, light = document.querySelector(".light")?.className;
  function swap(html) {
    findings.innerHTML = html;
    pending = null;
    chip.hidden = true;
  }
  const busy = () => findings.matches(":hover") || findings.contains(document.activeElement) || (getSelection().anchorNode && findings.contains(getSelection().anchorNode) && !getSelection().isCollapsed);
  chip.addEventListener("click", () => { if (pending) swap(pending); });
  for (const event of ["pointerleave", "focusout"]) findings.addEventListener(event, () => setTimeout(() => { if (pending && !busy()) swap(pending); }, 0));

  function show(answer) {
    seq = answer.seq;
    soAt = Date.now() - answer.age_s * 1000;
    const now = "light light-" + answer.light;
    if (now !== light || !busy()) swap(answer.findings_html); else { pending = answer.findings_html; chip.hidden = false; }
    if (now !== light) spoken.textContent = answer.word + ". " + (findings.querySelector(".finding strong")?.textContent ?? "");
    light = now;
    document.title = (answer.count ? "⚠ " + answer.count + " · " : "") + words.title;
    const icon = { maintenance: "notice" }[answer.light] ?? answer.light;
    const href = page.getAttribute("data-icon-" + icon);
    const favicon = document.getElementById("favicon");
    if (href && favicon.getAttribute("href") !== href) favicon.setAttribute("href", href);
    document.querySelectorAll("[data-v]").forEach((node) => { const text = answer.values[node.dataset.v]; if (text !== undefined) put(node, text); });
    document.querySelectorAll("[data-m]").forEach((node) => {
      const mark = answer.marks[node.dataset.m];
      if (mark === undefined || node.classList.contains("mark-" + mark)) return;
      node.className = "mark mark-" + mark;
      node.querySelector("use").setAttribute("href", "#shape-" + mark);
    });
  }

  // ---- asking. Once a second while somebody looks, every five otherwise, once a minute in the background, later and later after errors.
  function pause() {
    if (failures) return Math.min(30000, 1000 * 2 ** Math.min(failures, 5)) * (0.75 + Math.random() / 2);
    if (document.hidden) return 60000;
    return performance.now() - used < 60000 ? 1000 : 5000;
  }
  let timer = 0, asking = false;
  function soon(ms) { clearTimeout(timer); timer = setTimeout(ask, ms); }
  async function ask() {
    if (asking || out) return;
    asking = true;
    try {
      const answer = await fetch(words.now + "?seq=" + encodeURIComponent(seq) + "&dbsvr=" + encodeURIComponent(words.dbsvr), { signal: AbortSignal.timeout(8000), headers: { Accept: "application/json" }, redirect: "error" });
      if (answer.status === 401) { loggedOut(); return; }
      if (answer.status === 200) { show(await answer.json()); failures = 0; answered = performance.now(); if (!document.hidden) await history(false); }
      else if (answer.status === 204) { failures = 0; answered = performance.now(); }
      else failures++;
    } catch { failures++; }
    finally { asking = false; tellAge(); if (!out) soon(pause()); }
  }
  function loggedOut() {
    out = true;
    bar.replaceChildren(say("out", { at: clock.format(new Date()) }) + " ");
    const link = document.createElement("a");
    link.href = words.login;
    link.textContent = words.sayLogin;
    bar.append(link);
    bar.hidden = false;
  }
  for (const event of ["pointermove", "pointerdown", "keydown", "scroll"]) {
    addEventListener(event, () => { const rested = performance.now() - used >= 60000; used = performance.now(); if (rested) soon(0); }, { passive: true });
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { used = performance.now(); soon(0); } });

  // ---- history: only the steps that are newer than those we have
  const drawn = [...document.querySelectorAll("[data-chart]")].map((figure) => new TasksysChart(figure, say, zone, language));
  let view = charts.dataset.window, kept = null, asked = 0, drawing = false;
  const EVERY = { 1: 1900, 10: 5000, 60: 20000, 600: 60000 };
  async function history(anew) {
    if (drawing || (!anew && performance.now() - asked < (kept ? EVERY[kept.step] : 1000))) return;
    drawing = true;
    asked = performance.now();
    const wanted = view, since = anew || !kept?.at.length ? "" : "&since=" + kept.at[kept.at.length - 1];
    try {
      const answer = await fetch(charts.dataset.series + "?window=" + wanted + "&dbsvr=" + encodeURIComponent(charts.dataset.dbsvr) + since, { signal: AbortSignal.timeout(8000), redirect: "error" });
      if (answer.status !== 200 || wanted !== view) return;
      const given = await answer.json();
      const same = since && kept && Object.keys(given.charts).every((key) => given.charts[key].series.map((one) => one.key).join() === kept.charts[key]?.series.map((one) => one.key).join());
      if (since && !same) { kept = null; return; }
      kept = same ? joined(kept, given) : given;
      document.getElementById("history-note").textContent = given.note;
      draw();
    } catch { /* the next one tries again; the bar says when there is no answer at all */ }
    finally { drawing = false; if (wanted !== view) history(true); }
  }
  function joined(old, newer) {
    const from = newer.now - newer.window - newer.step;
    let skip = 0;
    while (skip < old.at.length && old.at[skip] < from) skip++;
    const after = (a, b) => a.slice(skip).concat(b);
    const both = {};
    for (const [key, chart] of Object.entries(newer.charts)) both[key] = { series: chart.series, columns: chart.columns.map((column, index) => after(old.charts[key].columns[index], column)) };
    return { ...newer, at: after(old.at, newer.at), rows: after(old.rows, newer.rows), charts: both };
  }
  function draw() {
    const windows = words.sayWindows.split("|"), names = ["5m", "1h", "24h", "7d"];
    const caption = say("step", { step: kept.step, window: windows[names.indexOf(view)], zone });
    for (const chart of drawn) {
      const step = chart.figure.querySelector("[data-step]");
      if (step.textContent !== caption) step.textContent = caption;
      chart.show({ ...kept.charts[chart.figure.dataset.chart], at: kept.at, rows: kept.rows, step: kept.step, window: kept.window, now: kept.now });
    }
  }
  document.getElementById("windows").addEventListener("click", (event) => {
    const link = event.target.closest("[data-window]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    view = link.dataset.window;
    document.querySelectorAll("[data-window][aria-current]").forEach((other) => { if (other !== charts) other.removeAttribute("aria-current"); });
    link.setAttribute("aria-current", "true");
    const address = new URL(link.href);
    window.history.replaceState(null, "", address);
    document.querySelectorAll("[data-link]").forEach((other) => { const to = new URL(other.href); to.searchParams.set("window", view); other.href = to; });
    kept = null;
    history(true);
  });
  const again = () => drawn.forEach((chart) => chart.redraw(true));
  new MutationObserver(again).observe(root, { attributeFilter: ["class"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);

  // ---- small things
  document.querySelectorAll("[data-copy]").forEach((button) => {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", async () => { await navigator.clipboard.writeText(button.dataset.copy); button.textContent = words.sayCopied; });
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.querySelectorAll(".gloss[open]").forEach((gloss) => gloss.removeAttribute("open"));
  });
  document.addEventListener("click", (event) => {
    document.querySelectorAll(".gloss[open]").forEach((gloss) => { if (!gloss.contains(event.target)) gloss.removeAttribute("open"); });
  });
  const dialog = document.getElementById("keys"), on = document.getElementById("keys-on"), help = document.getElementById("help");
  const allowed = () => { try { return localStorage.getItem("tasksys_keys") !== "off"; } catch { return true; } };
  on.checked = allowed();
  on.addEventListener("change", () => { try { localStorage.setItem("tasksys_keys", on.checked ? "on" : "off"); } catch { /* lasts for this page */ } });
  help.hidden = false;
  help.addEventListener("click", () => dialog.showModal());
  let went = 0;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]") || !on.checked) return;
    if (event.key === "?") dialog.showModal();
    else if (event.key === "g") { went = performance.now(); return; }
    else if (performance.now() - went < 1500 && event.key === "o") location.href = words.overview;
    else if (performance.now() - went < 1500 && event.key === "t") location.href = words.tasks;
    went = 0;
  });

  tellAge();
  setInterval(() => { if (!document.hidden) tellAge(); }, 500);
  history(true);
  soon(500);
})();
