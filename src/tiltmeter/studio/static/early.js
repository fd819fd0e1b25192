// Delays a form that is submitted before the other scripts are loaded; otherwise the browser would submit it as a link with
// its fields in the URL. For text that was entered before, or restored by the browser, the event "taken" is sent later.
// This script is not deferred, so it runs before any form exists.
"use strict";

(() => {
  let waiting = null;

  function keep(event) {
    event.preventDefault();
    event.stopImmediatePropagation();
    waiting = [event.target, event.submitter];
  }

  document.addEventListener("submit", keep, true);
  document.addEventListener("htmx:load", () => {
    document.removeEventListener("submit", keep, true);
    for (const field of document.querySelectorAll("textarea, input[type=search]")) {
      if (field.value !== field.defaultValue) field.dispatchEvent(new Event("taken", { bubbles: true }));
    }
    if (waiting) waiting[0].requestSubmit(waiting[1]);
  }, { once: true });
})();
