// Keeps the selection of runs for a comparison while the list of runs is filtered.
"use strict";

(() => {
  const bar = document.getElementById("chosen");
  const list = bar.querySelector("ul");
  const chosen = new Map();

  function show() {
    list.replaceChildren(...[...chosen].map(([path, name]) => {
      const entry = document.createElement("li");
      const label = document.createElement("bdi");
      label.textContent = name;
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: "run", value: path });
      entry.append(label, field);
      return entry;
    }));
    bar.hidden = chosen.size === 0;
    const pairs = bar.querySelector("button.pairs");
    pairs.disabled = chosen.size < 2;
    pairs.textContent = chosen.size < 2 ? "Compare" : `Compare ${chosen.size} runs`;
    // A change is assessed on exactly two runs: the first chosen run is the one before the change.
    bar.querySelector("button[value=change]").disabled = chosen.size !== 2;
    bar.querySelector("p").textContent = chosen.size === 1 ? "Choose at least one more run." : "";
    for (const box of document.querySelectorAll("input.pick")) box.checked = chosen.has(box.value);
  }

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (!box.matches("input.pick")) return;
    if (box.checked) chosen.set(box.value, box.dataset.name);
    else chosen.delete(box.value);
    show();
  });
  bar.addEventListener("reset", () => { chosen.clear(); show(); });
  document.addEventListener("htmx:afterSettle", show);
  // The browser restores checked boxes after "back".
  window.addEventListener("pageshow", () => {
    for (const box of document.querySelectorAll("input.pick:checked")) chosen.set(box.value, box.dataset.name);
    show();
  });
})();
