"use strict";
const form = document.getElementById("units");
const reader = document.getElementById("name");
const told = document.getElementById("told");
const key = `units ${form.dataset.print}`;
const units = [...form.querySelectorAll("article")].map((one) => one.id);

function labels() {
  return units.flatMap((unit) => {
    const chosen = form.querySelector(`input[name="${unit}"]:checked`);
    return chosen ? [{ unit, label: chosen.value }] : [];
  });
}

function tell() {
  told.textContent = `${labels().length} of ${units.length}`;
}

function restore() {
  try {
    const kept = JSON.parse(localStorage.getItem(key) || "{}");
    reader.value = kept.name || "";
    for (const { unit, label } of kept.labels || []) {
      const radio = form.querySelector(`input[name="${unit}"][value="${label}"]`);
      if (radio) radio.checked = true;
    }
  } catch {
    /* Nothing is kept where the browser keeps nothing. */
  }
  tell();
}

function keep() {
  tell();
  try {
    localStorage.setItem(key, JSON.stringify({ name: reader.value, labels: labels() }));
  } catch {
    /* As above. */
  }
}

function next() {
  const open = units.find((unit) => !form.querySelector(`input[name="${unit}"]:checked`));
  if (!open) return;
  document.getElementById(open).scrollIntoView();
  form.querySelector(`input[name="${open}"]`).focus({ preventScroll: true });
}

function save() {
  const called = reader.value.trim().toLowerCase().replace(/[^a-z0-9-]+/g, "-");
  if (!called || called === "key") {
    reader.focus();
    told.textContent = "Your name is needed for the file.";
    return;
  }
  const text = labels().map((one) => `${JSON.stringify(one)}\n`).join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  link.download = `${form.dataset.stem}.${called}${form.dataset.suffix}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

form.addEventListener("change", keep);
form.addEventListener("submit", (event) => event.preventDefault());
reader.addEventListener("change", keep);
document.getElementById("next").addEventListener("click", next);
document.getElementById("save").addEventListener("click", save);
restore();
