// Keys of the pages: j and k move through items, o opens the one in focus. Letters typed into a field stay letters.

export function typing() {
  const at = document.activeElement;
  return Boolean(at && (at.matches("input:not([type=checkbox]), textarea, select") || at.isContentEditable));
}

export function keys({ items, ...acts }) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (typing() && event.key !== "Escape")) return;
    const act = acts[event.key] ?? moves(items)[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function moves(items) {
  const go = (by) => {
    const all = items();
    const at = all.indexOf(document.activeElement);
    all[Math.min(Math.max(at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by, 0), all.length - 1)]?.focus();
  };
  return items ? { j: () => go(1), k: () => go(-1), o: () => document.activeElement?.click() } : {};
}
