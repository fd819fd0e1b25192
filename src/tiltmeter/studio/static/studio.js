// What all pages of the studio do in the browser.
"use strict";

// A sentence in the place for errors, where it stays until the next request that succeeds; checks of what is being typed,
// whose answers come into its form, do not count.
function say(sentence) {
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = sentence;
  document.getElementById("message")?.replaceChildren(note);
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const message = document.getElementById("message");
  if (message && event.detail.xhr.status < 400 && !event.target.closest("form")) message.replaceChildren();
});

// A server that cannot be reached says so in the same place.
document.addEventListener("htmx:sendError", () => {
  say("The studio does not answer. Is it still running in its terminal? What was stored is kept.");
});

// An element with data-focus in new content is focused, so that the keyboard goes on where the person is.
document.addEventListener("htmx:afterSettle", (event) => {
  event.target.querySelector?.("[data-focus]")?.focus();
});
