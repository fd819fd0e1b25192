// A form that is sent before the other scripts have come would be sent by the browser as a link, with its fields in the
// address. It waits for them instead. This script is not deferred, so it is here before any form.
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
    if (waiting) waiting[0].requestSubmit(waiting[1]);
  }, { once: true });
})();
