// Keys of the room Review. A button says by data-key which key presses it, by data-does what else it does.
"use strict";

(() => {
  const desk = () => document.getElementById("desk");
  const form = () => document.getElementById("item");
  const isTyping = (target) => target.closest?.("input:not([type=radio]):not([type=checkbox]), textarea, select") !== null;

  const press = (key) => {
    const button = [...(desk()?.querySelectorAll("[data-key]") ?? [])].find((one) => one.dataset.key === key);
    if (button && !button.disabled) button.click();
    return Boolean(button);
  };

  const edit = () => {
    const texts = [...form().querySelectorAll("textarea.edited")];
    texts.forEach((text) => { text.hidden = false; });
    form().querySelector("[data-when-edited]")?.removeAttribute("hidden");
    texts[0]?.focus();
  };

  const ask = (button) => {
    const asking = document.getElementById("ask");
    asking.hidden = !asking.hidden;
    button.setAttribute("aria-expanded", String(!asking.hidden));
    if (!asking.hidden) asking.querySelector("textarea").focus();
  };

  const help = () => {
    const dialog = document.getElementById("help");
    if (dialog.open) dialog.close(); else dialog.showModal();
  };

  // A proposal is put into its text, and taken back if it is chosen again.
  const take = (button) => {
    const text = [...form().querySelectorAll("textarea.edited")].find((one) => one.name === `text:${button.dataset.field}`);
    const isTaken = text.value === button.dataset.text;
    text.value = isTaken ? text.dataset.before : button.dataset.text;
    text.hidden = text.value === text.dataset.before;
    for (const other of form().querySelectorAll(".proposal")) {
      if (other.dataset.field === button.dataset.field) other.setAttribute("aria-pressed", String(other.dataset.text === text.value));
    }
    text.dispatchEvent(new Event("taken", { bubbles: true }));
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (!button || !desk()?.contains(button)) return;
    if (button.dataset.does === "edit") edit();
    if (button.dataset.does === "ask") ask(button);
    if (button.dataset.does === "help") help();
    if (button.classList.contains("proposal")) take(button);
  });

  // A key acts unless somebody is typing, or a dialog is open; Enter is left to what has the focus.
  const on = (key) => (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.repeat || event.defaultPrevented || isTyping(target) || document.querySelector("dialog[open]")) return;
    if (key === "Enter" && target.closest("a, button, summary")) return;
    if (press(key)) event.preventDefault();
  };

  const submit = (event) => {
    const own = event.target instanceof Element ? event.target.closest("form") : null;
    const chosen = own ?? form();
    if (!chosen || !desk()?.contains(chosen)) return;
    event.preventDefault();
    // A click, since htmx sends the name of a button that was clicked. A form without such a button has several answers.
    (chosen.querySelector("[data-when-edited]:not([hidden])") ?? chosen.querySelector("[data-submit]"))?.click();
  };

  const leave = (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (!target || !desk()?.contains(target) || !isTyping(target)) return;
    if (target.closest("#ask")) document.getElementById("ask").hidden = true;
    (desk().querySelector("[data-focus]") ?? document.body).focus();
  };

  const comment = (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    const field = form()?.querySelector("input[name=comment]");
    if (!field || isTyping(target) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    field.focus();
  };

  const bindings = { "$mod+Enter": submit, "Control+Enter": submit, Escape: leave, c: comment, "?": on("?"), "Shift+?": on("?") };
  bindings.Enter = on("Enter");
  // Letters by what is written on the key; on keyboards of other scripts, by where it is.
  for (const key of "edaupn") {
    bindings[key] = on(key);
    bindings[`Key${key.toUpperCase()}`] = (event) => { if (!/^[a-z]$/i.test(event.key)) on(key)(event); };
  }
  bindings.KeyC = (event) => { if (!/^[a-z]$/i.test(event.key)) comment(event); };
  // Digits by where they are: on some keyboards they need Shift.
  for (const digit of "123456789") {
    for (const code of [`Digit${digit}`, `Shift+Digit${digit}`, `Numpad${digit}`]) bindings[code] = on(digit);
  }
  if (navigator.platform.startsWith("Mac") === false) delete bindings["$mod+Enter"];
  window.tinykeys.tinykeys(window, bindings);

  // In a text that is one line in the form (a comment, a reason), Enter would submit: only Ctrl+Enter does.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && event.target.matches?.("#desk input:not([type=radio])")) event.preventDefault();
  });

  // htmx sends the forms; before it knows one, nothing is sent.
  document.addEventListener("submit", (event) => {
    if (desk()?.contains(event.target)) event.preventDefault();
  });

  // A decision that lacks a reason leads to the field for it.
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.xhr?.status !== 400) return;
    const empty = [...document.querySelectorAll("#desk [data-reason]")].find((field) => !field.value.trim());
    empty?.focus();
  });

  // The heading of the item has the focus when the page opens, so that keys act at once.
  document.querySelector("#desk [data-focus]")?.focus();
})();
