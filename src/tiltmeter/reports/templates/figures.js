
"use strict";
// Draws the charts one after the other, and shows a tooltip for the mark under the pointer.
(() => {
  document.getElementById("unscripted").remove();
  const charts = JSON.parse(document.getElementById("charts").textContent);

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);

  // Names and values come from data, so they are set as text, never as markup.
  function showTooltip(_handler, event, _item, value) {
    if (value === null || value === undefined || value === "") {
      tip.hidden = true;
      return;
    }
    const list = document.createElement("dl");
    for (const [name, text] of Object.entries(value)) {
      const term = document.createElement("dt");
      term.textContent = name;
      const description = document.createElement("dd");
      const isolated = document.createElement("bdi");
      isolated.textContent = String(text);
      description.append(isolated);
      list.append(term, description);
    }
    tip.replaceChildren(list);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = (event.clientY + box.height + 24 > innerHeight ? event.clientY - box.height - 12 : event.clientY + 16) + "px";
  }
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  const options = {
    mode: "vega", renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip: showTooltip,
    // Charts are not allowed to load anything.
    loader: { load: () => Promise.reject(new Error("This page must not load files.")), sanitize: () => Promise.reject(new Error("This page must not open links.")) },
  };

  async function draw(elements) {
    for (const element of elements) {
      try {
        await vegaEmbed(element, charts[element.dataset.chart], options);
        element.dataset.drawn = "true";
      } catch (error) {
        element.classList.add("failed");
        element.textContent = "This figure could not be drawn: " + error.message;
      }
    }
  }

  // The width of a chart depends on the page, so a chart in a closed element is drawn when the element is opened.
  const folded = [...document.querySelectorAll("details:not([open]) [data-chart]")];
  for (const details of new Set(folded.map((chart) => chart.closest("details")))) {
    details.addEventListener("toggle", () => draw(details.querySelectorAll("[data-chart]:not([data-drawn])")));
  }
  draw([...document.querySelectorAll("[data-chart]")].filter((chart) => !folded.includes(chart)))
    .then(() => { document.documentElement.dataset.ready = "true"; });
})();
