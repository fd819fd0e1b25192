// Updates the queue of runs with server-sent events.
"use strict";

(() => {
  const place = document.querySelector("[data-events]");
  const news = document.getElementById("job-news");
  let source = null;

  // Replaces only changed elements, so that a button does not disappear while the user presses it.
  function update(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    const list = document.getElementById("jobs");
    const fresh = template.content.getElementById("jobs");
    const same = list.children.length === fresh.children.length
      && [...fresh.children].every((job, place) => job.id && job.id === list.children[place].id);
    if (!same) {
      announce(list, fresh);
      swap(list, fresh);
      return;
    }
    for (const job of [...fresh.children]) {
      const old = document.getElementById(job.id);
      if (old.dataset.state !== job.dataset.state) {
        announce(old.parentElement, fresh);
        swap(old, job);
      } else {
        const [before, after] = [old.querySelector(".live"), job.querySelector(".live")];
        if (before.innerHTML !== after.innerHTML) before.innerHTML = after.innerHTML;
      }
    }
  }

  // htmx.swap also removes the internal data of htmx about the old elements.
  function swap(old, fresh) {
    const focused = old.contains(document.activeElement) ? document.activeElement.id : null;
    const job = old.contains(document.activeElement) ? document.activeElement.closest("li")?.id : null;
    htmx.swap(old, fresh.outerHTML, { swapStyle: "outerHTML", settleDelay: 0 });
    if (focused === null) return;
    const again = (focused && document.getElementById(focused)) || (job && document.querySelector(`#${job} h3`));
    again?.focus();
  }

  function announce(list, fresh) {
    const before = new Map([...list.children].map((job) => [job.id, job.dataset.state]));
    const changed = [...fresh.children].filter((job) => job.id && before.get(job.id) !== job.dataset.state);
    if (changed.length) news.textContent = changed.map((job) => `${job.dataset.name}: ${job.dataset.state}`).join(". ");
  }

  function listen() {
    if (source || document.hidden) return;
    source = new EventSource(place.dataset.events);
    source.addEventListener("jobs", (event) => update(event.data));
  }

  // Hidden pages close their connection, because browsers allow only a few.
  function pause() {
    source?.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? pause() : listen()));
  window.addEventListener("pagehide", pause);
  window.addEventListener("pageshow", listen);
  listen();
})();
