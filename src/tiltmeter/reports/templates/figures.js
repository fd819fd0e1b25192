
"use strict";
// Draws the charts one after the other, and says what a mark is when it is pointed at or touched.
(() => {
  document.getElementById("unscripted").remove();
  const charts = JSON.parse(document.getElementById("charts").textContent);

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);

  // Names and values come from data: they are set as text, never as markup.
  function tell(_handler, event, _item, value) {
    if (value === null || value === undefined || value === "") {
      tip.hidden = true;
      return;
    }
    const list = document.createElement("dl");
    for (const [name, said] of Object.entries(value)) {
      const term = document.createElement("dt");
      term.textContent = name;
      const text = document.createElement("dd");
      const isolated = document.createElement("bdi");
      isolated.textContent = String(said);
      text.append(isolated);
      list.append(term, text);
    }
    tip.replaceChildren(list);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = (event.clientY + box.height + 24 > innerHeight ? event.clientY - box.height - 12 : event.clientY + 16) + "px";
  }
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  const options = {
    mode: "vega", renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip: tell,
    // Nothing is to be loaded, whatever a chart says.
    loader: { load: () => Promise.reject(new Error("Nothing is loaded.")), sanitize: () => Promise.reject(new Error("No links.")) },
  };

  async function draw(places) {
    for (const place of places) {
      try {
        await vegaEmbed(place, charts[place.dataset.chart], options);
        place.dataset.drawn = "true";
      } catch (error) {
        place.classList.add("failed");
        place.textContent = "This figure could not be drawn: " + error.message;
      }
    }
  }

  // A chart takes its width from the page, so one that is folded away is drawn when it is opened.
  const folded = [...document.querySelectorAll("details:not([open]) [data-chart]")];
  for (const details of new Set(folded.map((place) => place.closest("details")))) {
    details.addEventListener("toggle", () => draw(details.querySelectorAll("[data-chart]:not([data-drawn])")));
  }
  draw([...document.querySelectorAll("[data-chart]")].filter((place) => !folded.includes(place)))
    .then(() => { document.documentElement.dataset.ready = "true"; });
})();
