// A form that is sent before the other scripts have come would be sent by the browser as a link, with its fields in the
// address. It waits for them instead. What was typed before they came, or what the browser filled in again, counts as typed
// when they have come. This script is not deferred, so it is here before any form.
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
