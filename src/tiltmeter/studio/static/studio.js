// What all pages of the studio do in the browser.
"use strict";

// An error stays until the next request that succeeds.
document.addEventListener("htmx:beforeSwap", (event) => {
  const message = document.getElementById("message");
  if (message && event.detail.xhr.status < 400) message.replaceChildren();
});

// A server that cannot be reached says so in the same place.
document.addEventListener("htmx:sendError", () => {
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = "The studio does not answer. Is it still running in its terminal? What was stored is kept.";
  document.getElementById("message")?.replaceChildren(note);
});

// An element with data-focus in new content is focused, so that the keyboard goes on where the person is.
document.addEventListener("htmx:afterSettle", (event) => {
  event.target.querySelector?.("[data-focus]")?.focus();
});
