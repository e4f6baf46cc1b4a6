// Live updates, times in the reader's zone, copy buttons. The pages can be read without it.
"use strict";

const body = document.body;
const SLOWEST = 900;

// -- times ------------------------------------------------------------------------------------

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

function ago(then) {
  const past = (Date.now() - then) / 1000;
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (past >= size) return `${Math.floor(past / size)} ${unit} ago`;
  }
  return "just now";
}

function showTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const then = new Date(time.dateTime);
    if (Number.isNaN(then.getTime())) continue;
    const isToday = then.toDateString() === new Date().toDateString();
    const text = !time.hasAttribute("data-exact") ? ago(then) : (isToday ? clock : exact).format(then);
    if (time.textContent !== text) time.textContent = text;
    if (!time.hasAttribute("data-exact")) time.title = exact.format(then);
  }
}

// -- live -------------------------------------------------------------------------------------

const known = new Map();
let busy = false;
let wanted = false;

function remember(root) {
  for (const part of root.querySelectorAll("[data-part][id]")) known.set(part.id, part.innerHTML);
}

function isBeingWrittenIn(part) {
  const at = document.activeElement;
  const fields = [...part.querySelectorAll("textarea, input[type=text], input:not([type])")];
  return (part.contains(at) && at !== part && at.matches("input, textarea, select")) ||
    fields.some((field) => field.value !== field.defaultValue);
}

function replace(part, fresh) {
  const open = new Set([...part.querySelectorAll("details[open][data-key]")].map((d) => d.dataset.key));
  const closed = new Set([...part.querySelectorAll("details:not([open])[data-key]")].map((d) => d.dataset.key));
  const tops = [...part.querySelectorAll(".scroll-y, .scroll")].map((s) => [s.scrollTop, s.scrollLeft]);
  const focus = part.contains(document.activeElement) ? document.activeElement : null;
  const at = focus ? [...part.querySelectorAll("a, button, summary, [tabindex]")].indexOf(focus) : -1;
  part.className = fresh.className;
  part.replaceChildren(...document.importNode(fresh, true).childNodes);
  for (const d of part.querySelectorAll("details[data-key]")) {
    if (open.has(d.dataset.key)) d.open = true;
    else if (closed.has(d.dataset.key)) d.open = false;
  }
  part.querySelectorAll(".scroll-y, .scroll").forEach((s, n) => {
    if (tops[n]) [s.scrollTop, s.scrollLeft] = tops[n];
  });
  if (at >= 0) part.querySelectorAll("a, button, summary, [tabindex]")[at]?.focus({ preventScroll: true });
}

async function refresh() {
  if (busy) { wanted = true; return; }
  busy = true;
  wanted = false;
  const begun = performance.now();
  try {
    const answer = await fetch(location.href, { headers: { "X-Live": "1" }, redirect: "error" });
    if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The server is gone for now; the stream says so.
  }
  // Never busier than half of the time.
  const pause = Math.max(SLOWEST / 3, performance.now() - begun);
  setTimeout(() => { busy = false; if (wanted) refresh(); }, pause);
}

function show(page) {
  document.title = page.title;
  const done = [];
  const late = [];
  for (const fresh of page.querySelectorAll("[data-part][id]")) {
    if (done.some((one) => one.contains(fresh))) continue;
    const part = document.getElementById(fresh.id);
    if (!part) {
      // New: it goes where it is on the fresh page, after the same neighbour.
      const before = fresh.previousElementSibling?.id;
      if (before) document.getElementById(before)?.after(document.importNode(fresh, true));
    } else if (known.get(fresh.id) === fresh.innerHTML) {
      continue;
    } else if (isBeingWrittenIn(part)) {
      late.push(fresh.id);
      continue;
    } else {
      replace(part, fresh);
    }
    done.push(fresh);
  }
  for (const part of document.querySelectorAll("[data-part][id]")) {
    if (!page.getElementById(part.id) && !isBeingWrittenIn(part)) part.remove();
  }
  known.clear();
  remember(page);
  for (const id of late) known.delete(id);
  lookAgain();
  showTimes();
  showCopyButtons();
}

// What goes on without a word in the journal is looked at again.
let again = 0;
function lookAgain() {
  clearTimeout(again);
  if (document.querySelector("[data-busy]")) again = setTimeout(refresh, 1000);
}

function follow(path) {
  const state = document.getElementById("link-state");
  const source = new EventSource(path);
  source.addEventListener("change", refresh);
  source.addEventListener("activity", refresh);
  // What was recorded between the page and the stream is in neither.
  source.onopen = () => { if (state) state.hidden = true; refresh(); };
  source.onerror = () => { if (state) { state.hidden = false; state.textContent = "not connected"; } };
  addEventListener("pagehide", () => source.close());
}

// -- copy -------------------------------------------------------------------------------------

function showCopyButtons() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll(".copy[hidden]")) button.hidden = false;
}

document.addEventListener("click", async (event) => {
  const path = event.target.closest?.(".as-path");
  if (path) { event.preventDefault(); usePath(path); return; }
  const button = event.target.closest?.(".copy");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1200);
});

// -- paths ------------------------------------------------------------------------------------

// A path goes where the reader is writing, or to the clipboard.
async function usePath(button) {
  const field = document.getElementById(button.dataset.into ?? "");
  if (field) {
    field.focus();
    field.setRangeText(button.dataset.copy, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  } else {
    await navigator.clipboard?.writeText(button.dataset.copy);
  }
  button.classList.add("used");
  setTimeout(() => button.classList.remove("used"), 900);
}

// -- the editor -------------------------------------------------------------------------------

// What is written is checked while it is written, as the button does it.
const editor = document.querySelector("[data-live-check]");
let checking = 0;
async function checkNow() {
  const answer = await fetch(editor.dataset.liveCheck, { method: "POST", body: new URLSearchParams(new FormData(editor)) });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("checked");
  if (fresh) document.getElementById("checked").replaceChildren(...document.importNode(fresh, true).childNodes);
}
editor?.addEventListener("input", () => {
  clearTimeout(checking);
  checking = setTimeout(() => checkNow().catch(() => {}), 400);
});

// -- deep links ---------------------------------------------------------------------------------

// A link to a finding or a node opens it.
function openTarget() {
  const at = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!at) return;
  for (let one = at; one; one = one.parentElement) if (one.localName === "details") one.open = true;
  at.scrollIntoView({ block: "start" });
}
addEventListener("hashchange", openTarget);

// A form is sent once.
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (event.target.method === "post" && button) setTimeout(() => { button.disabled = true; }, 0);
});

addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

remember(document);
lookAgain();
openTarget();
showTimes();
showCopyButtons();
setInterval(showTimes, 20000);
if (body.dataset.live) follow(body.dataset.live);
