// /ask with script: the page follows its run, and is used by keyboard. Mail only ever becomes text, never markup.

import { keys, typing } from "./keys.js";

const form = document.getElementById("ask");
const result = document.getElementById("result");
const query = document.getElementById("query");
let following = null;

function put(tag, text, into, className) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  into.append(made);
  return made;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

// As the finished page says it: 14 Mar 2026, on the sender's own clock.
function day(moment) {
  const [year, month, date] = (moment || "").slice(0, 10).split("-");
  return date ? `${Number(date)} ${MONTHS[month - 1]} ${year}` : "";
}

const WORDS = {
  called: (data) => (data.arguments?.query ? `searching: ${data.arguments.query}` : `calling ${data.tool}`),
  found: (data) => `${data.tool === data.phase ? "" : data.tool + ": "}${data.total} found, ${(data.admitted ?? []).length} new (${data.took_ms} ms)`,
  asked: (data) => `asking ${data.model}`,
  replied: (data) => (data.fault ? `no usable reply: ${data.fault}` : `reply after ${(data.took_ms / 1000).toFixed(1)} s`),
  drafted: () => "a draft was made",
  verified: (data) => `checked: ${data.kept} kept, ${data.removed} removed`,
  cut: (data) => `stopped by a limit: ${data.limit}`,
  finished: () => "finished",
};

function step(data) {
  const list = result.querySelector("[data-steps]");
  const words = WORDS[data.event];
  if (list && words) put("li", `${data.phase ? data.phase + " · " : ""}${words(data)}`, list);
}

function evidence(data) {
  const list = result.querySelector("[data-evidence]");
  if (!list) return;
  for (const item of data.evidence) {
    if (item.withheld) continue;
    const row = put("li", "", list);
    put("p", item.subject || "(no subject)", row, "subject").dir = "auto";
    const about = `${item.from.name || ""} <${item.from.address}> · ${day(item.sent_at || item.received_at)}`;
    put("p", about, row, "quiet").dir = "auto";
    const excerpt = item.excerpts[0];
    if (excerpt) put("blockquote", excerpt.text, row).dir = "auto";
  }
  result.querySelector("[data-count]").textContent = list.children.length;
}

async function finish(page) {
  const response = await fetch(page, { headers: { Accept: "text/html" } });
  const whole = new DOMParser().parseFromString(await response.text(), "text/html");
  stop();
  // Escaped by the server's templates: what is taken over is our own page.
  result.replaceChildren(...whole.getElementById("result").childNodes);
  document.querySelector(".history").replaceWith(whole.querySelector(".history"));
  result.tabIndex = -1;
  result.focus({ preventScroll: true });
}

function stop() {
  following?.source.close();
  clearInterval(following?.clock);
  following = null;
  result.removeAttribute("aria-busy");
}

function follow({ events, cancel, page }) {
  result.setAttribute("aria-busy", "true");
  result.replaceChildren(document.getElementById("waiting").content.cloneNode(true));
  const began = Date.now();
  const clock = setInterval(() => {
    const shown = result.querySelector("[data-clock]");
    if (shown) shown.textContent = Math.round((Date.now() - began) / 1000);
  }, 1000);
  const source = new EventSource(events);
  following = { source, clock, cancel };
  source.addEventListener("step", (event) => step(JSON.parse(event.data)));
  source.addEventListener("evidence", (event) => {
    const data = JSON.parse(event.data);
    step(data);
    evidence(data);
  });
  source.addEventListener("done", () => finish(page));
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) finish(page);
  });
  result.querySelector("[data-cancel-button]").addEventListener("click", cancelRun);
}

async function cancelRun() {
  if (!following) return;
  const body = new FormData();
  body.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
  await fetch(following.cancel, { method: "POST", body, redirect: "manual" });
}

function refused(words) {
  result.replaceChildren();
  put("p", `! ${words}`, result, "state warning outcome").setAttribute("role", "alert");
}

form.addEventListener("submit", async (event) => {
  if (event.submitter?.value === "search") return;
  event.preventDefault();
  stop();
  const body = new FormData(form);
  body.set("do", "ask");
  let response;
  try {
    response = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
  } catch {
    refused("The service could not be reached. Try again.");
    return;
  }
  if (response.status === 202) {
    const run = await response.json();
    history.pushState({}, "", run.page);
    follow(run);
  } else if (response.headers.get("Content-Type")?.includes("json")) {
    refused((await response.json()).problem);
  } else {
    refused("This was not sent. Load the page again, and send it once more.");
  }
});

window.addEventListener("popstate", () => location.reload());

query.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit(form.querySelector("button[name=do]"));
  }
});

keys({
  "/": () => query.focus(),
  Escape: () => (following ? cancelRun() : typing() && document.activeElement.blur()),
  items: () => [...result.querySelectorAll("[data-open]")],
});

if (result.dataset.events) follow(result.dataset);
