// Code for all pages of the studio.
"use strict";

// Shows a sentence in the message line until the next successful request; checks while typing do not remove it.
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

document.addEventListener("htmx:sendError", () => {
  say(document.querySelector("meta[name=text-unreachable]").content);
});

// Moves the focus to an element with data-focus in new content.
document.addEventListener("htmx:afterSettle", (event) => {
  event.target.querySelector?.("[data-focus]")?.focus();
});
