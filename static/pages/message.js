// A message that was opened by a citation: the cited words are brought into view; j, k and o move in the thread.

import { keys } from "./keys.js";

const cited = document.getElementById("cited");
if (cited) {
  cited.scrollIntoView({ block: "center" });
  cited.focus({ preventScroll: true });
}
keys({ items: () => [...document.querySelectorAll("[data-open]")] });
