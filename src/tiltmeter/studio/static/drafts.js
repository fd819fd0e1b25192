// What was typed on the desk and not sent: it is kept while other items are shown, and comes again with its item.
"use strict";

(() => {
  const desk = document.getElementById("desk");
  if (!desk) return;
  const drafts = new Map(); // by form
  const first = new WeakMap(); // what a form held when it came
  const sent = new WeakMap(); // and when it was sent
  const awaited = new WeakMap(); // reasons whose fields come with the check

  const forms = () => [...desk.querySelectorAll("form")];
  const fields = (form) => [...form.elements].filter((field) => field.name && field.matches("textarea, select, input:not([type=hidden])"));
  const values = (form, valueOf = (field) => field.value) => Object.fromEntries(fields(form).map((field) => [field.name, valueOf(field)]));
  const said = (form, valueOf) => JSON.stringify(Object.entries(values(form, valueOf)).filter(([, value]) => value));
  // The server may give back what it did not store.
  const isGivenBack = (field) => field.dataset.stored !== undefined && field.value !== field.dataset.stored;
  const isChanged = (form) => (first.has(form) && first.get(form) !== said(form)) || fields(form).some(isGivenBack);
  // The same form of the same item, whatever its text is by now.
  const nameOf = (form) => JSON.stringify([form.getAttribute("hx-post"),
    ...[...form.querySelectorAll("input[type=hidden]:not([name=shown], [name=seen])")].map((field) => field.value)]);

  const putBack = (form, draft) => {
    awaited.set(form, draft);
    for (const field of fields(form)) {
      if (!(field.name in draft) || field.value === draft[field.name]) continue;
      field.value = draft[field.name];
      field.hidden = form.hidden = false;
      field.closest("details")?.setAttribute("open", "");
      form.querySelector("[data-when-edited]")?.removeAttribute("hidden");
      field.dispatchEvent(new Event("taken", { bubbles: true }));
    }
    desk.querySelector(`[aria-controls="${form.id}"]`)?.setAttribute("aria-expanded", String(!form.hidden));
  };

  const tell = (sentence) => {
    const place = document.getElementById("said");
    place.textContent = `${place.textContent} ${sentence}`.trim();
  };

  let isKept = false;
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (forms().includes(event.detail.elt)) sent.set(event.detail.elt, said(event.detail.elt));
  });
  desk.addEventListener("htmx:beforeSwap", (event) => {
    if (event.target !== desk || event.detail.xhr.status >= 400) return;
    const unsent = forms().filter((form) => isChanged(form) && !(event.detail.requestConfig.elt === form && sent.get(form) === said(form)));
    for (const form of unsent) drafts.set(nameOf(form), values(form));
    isKept = unsent.length > 0;
  });
  desk.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "check") {
      const draft = awaited.get(event.target.closest("form")) ?? {};
      for (const field of event.target.querySelectorAll("[data-reason]")) field.value ||= draft[field.name] ?? "";
    }
    if (event.target !== desk) return;
    const returned = forms().filter((form) => drafts.has(nameOf(form)));
    for (const form of forms()) first.set(form, said(form));
    for (const form of returned) {
      const draft = drafts.get(nameOf(form));
      drafts.delete(nameOf(form));
      putBack(form, draft);
    }
    if (returned.length) tell("What you had typed here is here again.");
    else if (isKept) tell("What you had typed is kept; it comes again with its item.");
    isKept = false;
  });

  window.addEventListener("beforeunload", (event) => {
    if (drafts.size || forms().some(isChanged)) event.preventDefault();
  });

  // Somebody may have typed before this script came.
  const atFirst = (field) => (field.matches("select") ? field.value : field.defaultValue);
  for (const form of forms()) first.set(form, said(form, atFirst));
})();
