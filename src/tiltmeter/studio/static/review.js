// Keyboard shortcuts of the page Review: data-key is the key of a button or field, data-does the action of a button.
"use strict";

(() => {
  const desk = () => document.getElementById("desk");
  const form = () => document.getElementById("item");
  const keys = document.getElementById("keys-on");
  const isTyping = (target) => target.closest?.("input:not([type=radio]):not([type=checkbox]), textarea, select") !== null;
  const start = () => desk()?.querySelector("[data-focus]");

  const press = (key) => {
    const found = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
    if (found?.matches("input, select")) found.focus();
    else if (found && !found.disabled) found.click();
    return Boolean(found);
  };

  const edit = () => {
    const texts = [...form().querySelectorAll("textarea.edited")];
    texts.forEach((text) => { text.hidden = false; });
    form().querySelector("[data-when-edited]")?.removeAttribute("hidden");
    texts[0]?.focus();
  };

  const showAsking = (isShown) => {
    document.getElementById("ask").hidden = !isShown;
    desk().querySelector("[data-does=ask]").setAttribute("aria-expanded", String(isShown));
  };

  const ask = () => {
    const asking = document.getElementById("ask");
    showAsking(asking.hidden);
    if (!asking.hidden) asking.querySelector("textarea").focus();
  };

  // Copies a proposal into its text, or restores the text if the proposal is chosen again.
  const take = (button) => {
    const text = [...form().querySelectorAll("textarea.edited")].find((one) => one.name === `text:${button.dataset.field}`);
    const isTaken = text.value === button.dataset.text;
    text.value = isTaken ? text.dataset.before : button.dataset.text;
    text.hidden = text.value === text.dataset.before;
    text.dispatchEvent(new Event("taken", { bubbles: true }));
  };

  // Marks the proposal that is equal to the text as pressed.
  const markProposals = () => {
    for (const button of form()?.querySelectorAll(".proposal") ?? []) {
      const text = [...form().querySelectorAll("textarea.edited")].find((one) => one.name === `text:${button.dataset.field}`);
      button.setAttribute("aria-pressed", String(text.value === button.dataset.text));
    }
  };
  for (const change of ["input", "taken", "htmx:afterSettle"]) document.addEventListener(change, markProposals);
  markProposals();

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (!button || !desk()?.contains(button)) return;
    if (button.dataset.does === "edit") edit();
    if (button.dataset.does === "ask") ask();
    if (button.classList.contains("proposal")) take(button);
  });

  // A decision that discards typed texts must be pressed twice.
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-leaves]");
    const isEdited = button && [...form().querySelectorAll("textarea.edited")].some((text) => text.value !== (text.dataset.stored ?? text.defaultValue));
    if (!isEdited || button.dataset.leaves === "sure") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    button.dataset.leaves = "sure";
    say(document.querySelector("meta[name=text-discards]").content);
  }, true);
  document.addEventListener("input", () => {
    for (const button of document.querySelectorAll("[data-leaves]")) button.dataset.leaves = "";
  });

  // A key works if keys are enabled, no text field has the focus and no modifier is pressed. Enter on a button or link keeps its
  // usual meaning.
  const on = (key) => (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    if (!keys?.checked || event.repeat || event.defaultPrevented || isTyping(target)) return;
    if (key === "Enter" && target.closest("a, button, summary, input")) return;
    if (press(key)) event.preventDefault();
  };

  const help = (event) => {
    on("?")(event);
    const list = document.getElementById("keys");
    if (event.defaultPrevented) (list.open ? list.querySelector("summary") : start())?.focus();
  };

  // Moves the focus to the next or previous row of a list.
  const move = (step) => (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    const rows = [...document.querySelectorAll("[data-row]")];
    if (!rows.length || !keys?.checked || isTyping(target)) return;
    const now = rows.indexOf(document.activeElement);
    rows[now < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, now + step))].focus();
    event.preventDefault();
  };

  const submit = (event) => {
    const own = event.target instanceof Element ? event.target.closest("form") : null;
    const chosen = own ?? form();
    if (!chosen || !desk()?.contains(chosen)) return;
    event.preventDefault();
    // htmx sends the name of the clicked button, so the form is submitted by a click.
    (chosen.querySelector("[data-when-edited]:not([hidden])") ?? chosen.querySelector("[data-submit]"))?.click();
  };

  const leave = (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (!target || !desk()?.contains(target) || !isTyping(target)) return;
    if (target.closest("#ask")) showAsking(false);
    (start() ?? document.body).focus();
  };

  const bindings = { "$mod+Enter": submit, "Control+Enter": submit, Escape: leave, "?": help, "Shift+?": help };
  bindings.Enter = on("Enter");
  // Letters are matched by character; on keyboards with other scripts, such as Greek, by position.
  for (const key of "edaupncbfgsx") {
    bindings[key] = on(key);
    bindings[`Key${key.toUpperCase()}`] = (event) => { if (!/^[a-z]$/i.test(event.key)) on(key)(event); };
  }
  // Digits are matched by position, because some keyboards need Shift for them.
  for (const digit of "123456789") {
    for (const code of [`Digit${digit}`, `Shift+Digit${digit}`, `Numpad${digit}`]) bindings[code] = on(digit);
  }
  bindings["/"] = bindings["Shift+/"] = on("/");
  bindings.j = move(1);
  bindings.k = move(-1);
  if (navigator.platform.startsWith("Mac") === false) delete bindings["$mod+Enter"];
  window.tinykeys.tinykeys(window, bindings);

  // Keys can be disabled; the browser stores the choice.
  const STORED = "tiltmeter-studio-keys";
  const showKeys = () => {
    if (!keys) return;
    document.documentElement.dataset.keys = keys.checked ? "on" : "off";
    for (const one of document.querySelectorAll("[data-key]")) {
      if (keys.checked) one.setAttribute("aria-keyshortcuts", one.dataset.key);
      else one.removeAttribute("aria-keyshortcuts");
    }
  };
  if (keys) {
    try { keys.checked = localStorage.getItem(STORED) !== "off"; } catch { /* a browser that stores nothing */ }
    keys.addEventListener("change", () => {
      try { localStorage.setItem(STORED, keys.checked ? "on" : "off"); } catch { /* a browser that stores nothing */ }
      showKeys();
    });
    document.addEventListener("htmx:afterSettle", showKeys);
    showKeys();
  }

  // Enter must not submit the form from a single-line field such as a comment; only Ctrl+Enter does.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && event.target.matches?.("#desk input:not([type=radio])")) event.preventDefault();
  });

  // Measures the time of a decision. Gaps without input that are longer than PAUSE are pauses and do not count.
  const PAUSE = 60000;
  let active = 0;
  let last = performance.now();
  const count = () => {
    const now = performance.now();
    if (now - last <= PAUSE && !document.hidden) active += now - last;
    last = now;
  };
  for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "input"]) {
    document.addEventListener(name, count, { capture: true, passive: true });
  }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      const now = performance.now();
      if (now - last <= PAUSE) active += now - last;
    }
    last = performance.now();
  });
  document.addEventListener("htmx:configRequest", (event) => {
    if (!event.target.matches?.("form[data-timed]")) return;
    count();
    event.detail.parameters.seconds = (active / 1000).toFixed(2);
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target !== desk()) return;
    active = 0;
    last = performance.now();
  });

  // Only htmx may send forms.
  document.addEventListener("submit", (event) => {
    if (desk()?.contains(event.target)) event.preventDefault();
  });

  // Moves the focus to the field of a missing reason.
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.xhr?.status !== 400) return;
    const empty = [...document.querySelectorAll("#desk [data-reason]")].find((field) => !field.value.trim());
    empty?.focus();
  });

  // The heading of the item gets the focus when the page opens, so that shortcuts work at once.
  if (document.activeElement === document.body) start()?.focus();
})();
