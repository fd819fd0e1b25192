
"use strict";
// The items of the report are unpacked when the reader opens them, then filtered and sorted. Text from data is never
// inserted as markup. The format of the packed data is described in reports/item_explorer.py.
(() => {
  const packed = document.getElementById("packed");
  if (!packed) return;
  const PAGE = 20;
  const $ = (id) => document.getElementById(id);
  let items = [];
  let matching = [];
  let shown = 0;

  async function unpack() {
    const bytes = Uint8Array.from(atob(packed.textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // Returns the preference of one model for an item, positive towards the stereotype.
  function preferenceOf(set, scores, direction) {
    if (!scores) return null;
    if (set.unit === "ratio") return Math.log(scores[0] / scores[1]);
    if (set.unit === "difference") return scores[0] - scores[1];
    if (set.unit === "choices") return (scores[0][0] - scores[0][1]) * direction;
    if (set.unit === "influence") return scores[scores.length - 1];
    if (set.unit === "gender") return scores[0] === null ? 0 : (scores[0] === 1 ? 1 : -1) * direction;
    return scores[0] * direction;
  }

  // Returns an object for each packed item [id, text, direction, attribute values, scores of each model].
  function itemsOf(data) {
    const word = (index) => (index < 0 ? "" : data.words[index]);
    const all = [];
    for (const set of data.sets) {
      for (const [number, [id, text, direction, values, ...scores]] of set.items.entries()) {
        const [context, ...texts] = text < 0 ? [""] : data.texts[text];
        const item = {
          set, id: word(id), context, texts, scores, order: all.length, tokens: set.tokens?.[number] ?? [],
          attributes: Object.fromEntries(set.attributes.map((name, index) => [name, word(values[index])])),
        };
        if (set.unit === "choices") {
          item.answers = scores.map((answer) => (answer ? answer[1].map(([asked, reply]) => [word(asked), data.texts[reply][0]]) : []));
          item.scores = scores.map((answer) => (answer ? answer[0] : 0));
        }
        if (set.unit === "influence") item.scores = scores.map((answer) => (answer ? answer.slice(0, -1) : 0));
        if (set.unit === "gender") item.texts = scores.map((answer) => (answer ? data.texts[answer[1]][0] : ""));
        item.preferences = scores.map((answer) => preferenceOf(set, answer, direction));
        item.searched = [item.id, ...Object.values(item.attributes), context, ...item.texts].join("\n").toLocaleLowerCase();
        all.push(item);
      }
    }
    return all;
  }

  // Sets the options of a filter, and hides the filter if it has fewer than two values.
  function fillSelect(id, first, values) {
    const select = $(id);
    const distinct = [...new Set(values.filter(Boolean))];
    const numbered = (text) => parseInt(text, 10) || 0;
    distinct.sort((a, b) => numbered(a) - numbered(b) || a.localeCompare(b));
    select.replaceChildren(new Option(first, ""), ...distinct.map((value) => new Option(value, value)));
    select.closest("label").hidden = distinct.length < 2;
  }

  const attributeNames = () => [...new Set(items.flatMap((item) => item.set.attributes))];

  // Adds a filter for each attribute of the items.
  function addAttributeFilters() {
    for (const name of attributeNames()) {
      const label = document.createElement("label");
      const words = name.replaceAll("_", " ");
      const select = document.createElement("select");
      select.id = "attribute-" + name;
      label.append(words.charAt(0).toUpperCase() + words.slice(1), select);
      $("by-order").closest("label").before(label);
      fillSelect(select.id, "all", items.map((item) => item.attributes[name]));
    }
  }

  const benchmarkOf = (item) => (item.set.part === "all" ? item.set.benchmark : item.set.benchmark + ", " + item.set.part);

  // Returns the preference on an item of the chosen model, or of the first model that scored the item.
  function preference(item) {
    const model = $("by-model").value;
    const at = model ? item.set.models.indexOf(model) : item.preferences.findIndex((value) => value !== null);
    return at < 0 ? { at: -1, value: null } : { at, value: item.preferences[at] };
  }

  function filter() {
    const wanted = $("search").value.trim().toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const chosen = { set: $("by-set").value, language: $("by-language").value };
    const attributes = attributeNames().map((name) => [name, $("attribute-" + name).value]).filter(([, value]) => value);
    matching = items.filter((item) =>
      preference(item).value !== null
      && (!chosen.set || benchmarkOf(item) === chosen.set)
      && (!chosen.language || item.set.language === chosen.language)
      && attributes.every(([name, value]) => item.attributes[name] === value)
      && wanted.every((word) => item.searched.includes(word)));
    const order = $("by-order").value;
    const value = new Map(matching.map((item) => [item, preference(item).value]));
    const by = {
      towards: (a, b) => value.get(b) - value.get(a),
      against: (a, b) => value.get(a) - value.get(b),
      even: (a, b) => Math.abs(value.get(a)) - Math.abs(value.get(b)),
      id: (a, b) => a.order - b.order,
    }[order];
    matching.sort((a, b) => by(a, b) || a.order - b.order);
    const towards = matching.filter((item) => value.get(item) > 0).length;
    $("count").textContent = matching.length
      ? matching.length.toLocaleString("en") + (matching.length === 1 ? " item" : " items") + ", " + Math.round(100 * towards / matching.length) + "% of them towards the stereotype"
      : "No item matches.";
    shown = 0;
    $("list").replaceChildren();
    showMore();
  }

  function element(tag, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) {
      const isolated = document.createElement("bdi");
      isolated.textContent = text;
      made.append(isolated);
    }
    return made;
  }

  // Returns a model's preference on an item as text, such as "2.5× towards".
  function describePreference(item, value) {
    if (item.set.unit === "gender") return value > 0 ? "follows the stereotype" : value < 0 ? "against the stereotype" : "no gender";
    if (value === 0) return "even";
    const side = value > 0 ? " towards" : " against";
    const size = Math.abs(value);
    if (item.set.unit === "difference") return size.toPrecision(3) + side;
    if (item.set.unit === "influence") return "moves the measure by " + size.toPrecision(2) + side;
    if (item.set.unit === "choices") return (100 * size).toFixed(0) + " points" + side;
    const times = Math.exp(size);
    return (times >= 1000 ? "over 1,000" : times >= 100 ? times.toFixed(0) : times.toFixed(times < 1.1 ? 3 : 1)) + "×" + side;
  }

  const number = (score) => (Math.abs(score) >= 0.001 || score === 0 ? score.toPrecision(3) : score.toExponential(2));
  const sideOf = (value) => (value > 0 ? "towards" : value < 0 ? "against" : "none");

  function buildCandidateLine(item, scores, at, name) {
    const line = element("li", ["first", "second", "third"][at]);
    if (item.set.unit === "ratio" || item.set.unit === "choices") {
      const bar = element("span", "bar");
      bar.style.width = 100 * scores[at] / (item.set.unit === "choices" ? 1 : Math.max(...scores)) + "%";
      line.append(bar);
    }
    if (at < 2 && scores.length > 1 && scores[at] > scores[1 - at]) line.classList.add("chosen");
    line.append(element("span", "role", name), element("span", "text", item.texts[at] ?? ""));
    line.append(element("span", "score", scores.length > at ? number(scores[at]) : ""));
    return line;
  }

  // Returns an element that lists the replies of a chat model to an item, each with its prompt and outcome.
  function replies(item, at) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = item.answers[at].length.toLocaleString("en") + " answers";
    const list = element("ul", "replies");
    for (const [asked, reply] of item.answers[at]) {
      const line = element("li", "");
      line.append(element("span", "role", asked), element("span", "text", reply || "(empty)"));
      list.append(line);
    }
    details.append(summary, list);
    return details;
  }

  // Returns an element with the tokens of both sentences and their log-probabilities; less probable tokens are darker.
  function tokens(item, at) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Token by token";
    details.append(summary);
    item.tokens[at].forEach((side, index) => {
      const known = side.filter(([, value]) => value !== null);
      const parts = side.filter(([, , begins]) => !begins).length;
      const line = element("p", "tokens");
      for (const [text, value, begins] of side) {
        const made = element("span", "token" + (begins ? " begins" : "") + (value === null ? " unasked" : ""), text);
        if (value !== null) made.style.setProperty("--unlikely", Math.min(1, -value / 12).toFixed(2));
        made.title = value === null ? "not scored" : "log-probability " + value.toFixed(2);
        made.append(element("small", "", value === null ? "" : value.toFixed(1)));
        line.append(made);
      }
      const sum = known.reduce((total, [, value]) => total + value, 0);
      const facts = [known.length + " tokens scored", "sum " + sum.toFixed(2), Math.round(100 * parts / side.length) + "% of all tokens continue a word"];
      details.append(element("p", "role", item.set.sides[index] + ": " + facts.join(", ")), line);
    });
    return details;
  }

  function buildCard(item) {
    const { at, value } = preference(item);
    const scores = item.scores[at];
    const made = element("li", "item");
    const meta = element("div", "meta");
    meta.append(element("span", "badge " + sideOf(value), describePreference(item, value)));
    for (const text of [item.set.language, benchmarkOf(item), ...Object.values(item.attributes)]) if (text) meta.append(element("span", "", text));
    meta.append(element("span", "id", item.id));
    made.append(meta);
    if (item.context) made.append(element("p", "context", item.context.replaceAll("BLANK", "____")));
    const list = element("ul", "");
    if (item.set.unit === "gender") {
      item.set.models.forEach((name, index) => {
        if (!item.scores[index]) return;
        const line = element("li", "");
        line.append(element("span", "role", name), element("span", "text", item.texts[index]));
        line.append(element("span", "score", { 1: "masculine", 0: "feminine" }[item.scores[index][0]] ?? "no gender"));
        list.append(line);
      });
      made.append(list);
    } else if (item.set.unit === "signed" || item.set.roles.length === 1) {
      if (item.texts.some(Boolean)) item.set.sides.forEach((name, index) => item.texts[index] && list.append(buildCandidateLine(item, [], index, name)));
      const score = item.set.unit === "signed" ? "masculine over feminine: " + Math.exp(scores[0]).toPrecision(3) : item.set.roles[0] + ": " + number(scores[0]);
      made.append(list, element("p", "others", score));
    } else {
      item.set.roles.forEach((name, index) => list.append(buildCandidateLine(item, scores, index, name)));
      made.append(list);
    }
    if (item.set.unit === "choices") made.append(replies(item, at));
    if (item.tokens[at]) made.append(tokens(item, at));
    if (item.set.models.length > 1 && item.set.unit !== "gender") {
      const others = item.set.models.map((name, index) => (item.preferences[index] === null ? "" : name + " " + describePreference(item, item.preferences[index]))).filter(Boolean);
      made.append(element("p", "others", others.join(" · ")));
    }
    return made;
  }

  function showMore() {
    $("list").append(...matching.slice(shown, shown + PAGE).map(buildCard));
    shown = Math.min(shown + PAGE, matching.length);
    $("more").hidden = shown >= matching.length;
    $("more").textContent = "Show more (" + (matching.length - shown).toLocaleString("en") + " left)";
  }

  $("open-items").addEventListener("click", async () => {
    try {
      items = itemsOf(await unpack());
    } catch (error) {
      $("gate").append(element("p", "note", "This browser cannot unpack the items: " + error.message));
      return;
    }
    fillSelect("by-model", "first available", items.flatMap((item) => item.set.models));
    fillSelect("by-set", "all", items.map(benchmarkOf));
    // Preferences in different units cannot be sorted together, so one benchmark is selected first.
    if (new Set(items.map((item) => item.set.unit)).size > 1) {
      $("by-set").options[0].remove();
      $("by-set").value = benchmarkOf(items[0]);
    }
    fillSelect("by-language", "all", items.map((item) => item.set.language));
    addAttributeFilters();
    $("gate").hidden = true;
    $("explorer").hidden = false;
    filter();
    $("search").focus({ preventScroll: true });
  });
  $("filters").addEventListener("input", filter);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("more").addEventListener("click", showMore);
})();
