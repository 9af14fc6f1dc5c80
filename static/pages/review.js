// The review queue by keyboard: r, w, u judge the current sentence, n and p move. After a verdict the next one is current.

import { keys } from "./keys.js";

const items = [...document.querySelectorAll("[data-item]")];
let current = 0;

function show(number, move = true) {
  if (!items.length) return;
  items[current]?.classList.remove("current");
  current = Math.min(Math.max(number, 0), items.length - 1);
  items[current].classList.add("current");
  if (move) items[current].focus();
}

function judge(key) {
  items[current]?.querySelector(`[data-key=${key}]`)?.click();
}

items.forEach((item, number) => {
  const next = items[number + 1];
  const field = item.querySelector("[data-next]");
  if (field && next) field.value = next.id.slice(1);
  item.addEventListener("focusin", () => show(number, false));
});

const named = items.findIndex((item) => `#${item.id}` === location.hash);
show(Math.max(named, 0), named >= 0);
keys({
  r: () => judge("r"),
  w: () => judge("w"),
  u: () => judge("u"),
  n: () => show(current + 1),
  p: () => show(current - 1),
  Escape: () => items[current]?.focus(),
});
