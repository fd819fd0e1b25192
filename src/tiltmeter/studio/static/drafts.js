// Drafts: keeps text that was typed but not sent while other items are shown, and restores it with its item.
"use strict";

(() => {
  const desk = document.getElementById("desk");
  if (!desk) return;
  const drafts = new Map(); // the text that was not sent, by the name of its form
  const first = new WeakMap(); // the content of a form when it appeared
  const sent = new WeakMap(); // the content of a form when it was sent
  const awaited = new WeakMap(); // drafts of reasons whose fields are loaded with the check

  const forms = () => [...desk.querySelectorAll("form")];
  const fields = (form) => [...form.elements].filter((field) => field.name && field.matches("textarea, select, input:not([type=hidden])"));
  const values = (form, valueOf = (field) => field.value) => Object.fromEntries(fields(form).map((field) => [field.name, valueOf(field)]));
  const said = (form, valueOf) => JSON.stringify(Object.entries(values(form, valueOf)).filter(([, value]) => value));
  // The server may return a text that it did not store.
  const isGivenBack = (field) => field.dataset.stored !== undefined && field.value !== field.dataset.stored;
  const isChanged = (form) => (first.has(form) && first.get(form) !== said(form)) || fields(form).some(isGivenBack);
  // Identifies a form of an item, independent of its text.
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

  const textOf = (name) => document.querySelector(`meta[name=text-${name}]`).content;

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
    if (returned.length) tell(textOf("restored"));
    else if (isKept) tell(textOf("kept"));
    isKept = false;
  });

  window.addEventListener("beforeunload", (event) => {
    if (drafts.size || forms().some(isChanged)) event.preventDefault();
  });

  // Text may have been typed before this script was loaded.
  const atFirst = (field) => (field.matches("select") ? field.value : field.defaultValue);
  for (const form of forms()) first.set(form, said(form, atFirst));
})();
