
"use strict";
// The items: unpacked when somebody asks for them, then filtered and put in order. All text is set as text.
(() => {
  const packed = document.getElementById("packed");
  if (!packed) return;
  const PAGE = 20;
  const $ = (id) => document.getElementById(id);
  let items = [];
  let found = [];
  let shown = 0;

  async function unpack() {
    const bytes = Uint8Array.from(atob(packed.textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  const women = (stereotype) => /\bwomen\b/.test(stereotype);

  // Positive is towards the stereotype, whatever the scores are.
  function leanOf(set, scores, stereotype) {
    if (!scores) return null;
    if (set.unit === "ratio") return Math.log(scores[0] / scores[1]);
    if (set.unit === "difference") return scores[0] - scores[1];
    if (set.unit === "gender") return scores[0] === null ? 0 : (scores[0] === 1) === !women(stereotype) ? 1 : -1;
    return women(stereotype) ? -scores[0] : scores[0];
  }

  function spread(data) {
    const word = (place) => (place < 0 ? "" : data.words[place]);
    const all = [];
    for (const set of data.sets) {
      for (const [id, bias, target, stereotype, text, ...scores] of set.items) {
        const [context, ...texts] = text < 0 ? [""] : data.texts[text];
        const item = {
          set, id: word(id), bias: word(bias), target: word(target), stereotype: word(stereotype),
          context, texts, scores, order: all.length,
        };
        if (set.unit === "gender") item.texts = scores.map((some) => (some ? data.texts[some[1]][0] : ""));
        item.leans = scores.map((some) => leanOf(set, some, item.stereotype));
        item.hay = [item.id, item.bias, item.target, item.stereotype, context, ...item.texts].join("\n").toLocaleLowerCase();
        all.push(item);
      }
    }
    return all;
  }

  function fill(id, name, values) {
    const select = $(id);
    const distinct = [...new Set(values.filter(Boolean))];
    const numbered = (text) => parseInt(text, 10) || 0;
    distinct.sort((a, b) => numbered(a) - numbered(b) || a.localeCompare(b));
    select.replaceChildren(new Option(name, ""), ...distinct.map((value) => new Option(value, value)));
    select.closest("label").hidden = distinct.length < 2;
  }

  const place = (item) => (item.set.part === "all" ? item.set.benchmark : item.set.benchmark + ", " + item.set.part);

  function lean(item) {
    const model = $("by-model").value;
    const at = model ? item.set.models.indexOf(model) : item.leans.findIndex((value) => value !== null);
    return at < 0 ? { at: -1, value: null } : { at, value: item.leans[at] };
  }

  function filter() {
    const wanted = $("search").value.trim().toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const chosen = { set: $("by-set").value, language: $("by-language").value, bias: $("by-bias").value, target: $("by-target").value, stereotype: $("by-stereotype").value };
    found = items.filter((item) =>
      lean(item).value !== null
      && (!chosen.set || place(item) === chosen.set)
      && (!chosen.language || item.set.language === chosen.language)
      && (!chosen.bias || item.bias === chosen.bias)
      && (!chosen.target || item.target === chosen.target)
      && (!chosen.stereotype || item.stereotype === chosen.stereotype)
      && wanted.every((word) => item.hay.includes(word)));
    const order = $("by-order").value;
    const value = new Map(found.map((item) => [item, lean(item).value]));
    const by = {
      towards: (a, b) => value.get(b) - value.get(a),
      against: (a, b) => value.get(a) - value.get(b),
      even: (a, b) => Math.abs(value.get(a)) - Math.abs(value.get(b)),
      id: (a, b) => a.order - b.order,
    }[order];
    found.sort((a, b) => by(a, b) || a.order - b.order);
    const towards = found.filter((item) => value.get(item) > 0).length;
    $("count").textContent = found.length
      ? found.length.toLocaleString("en") + (found.length === 1 ? " item" : " items") + ", " + Math.round(100 * towards / found.length) + "% of them towards the stereotype"
      : "No item is like that.";
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

  function said(item, value) {
    if (item.set.unit === "gender") return value > 0 ? "by the stereotype" : value < 0 ? "against the stereotype" : "no gender";
    if (value === 0) return "even";
    const way = value > 0 ? " towards" : " against";
    const size = Math.abs(value);
    if (item.set.unit === "difference") return size.toPrecision(3) + way;
    const times = Math.exp(size);
    return (times >= 1000 ? "over 1,000" : times >= 100 ? times.toFixed(0) : times.toFixed(times < 1.1 ? 3 : 1)) + "×" + way;
  }

  const number = (score) => (Math.abs(score) >= 0.001 || score === 0 ? score.toPrecision(3) : score.toExponential(2));
  const side = (value) => (value > 0 ? "towards" : value < 0 ? "against" : "none");

  function candidate(item, scores, at, name) {
    const line = element("li", ["first", "second", "third"][at]);
    if (item.set.unit === "ratio") {
      const bar = element("span", "bar");
      bar.style.width = 100 * scores[at] / Math.max(...scores) + "%";
      line.append(bar);
    }
    if (at < 2 && scores.length > 1 && scores[at] > scores[1 - at]) line.classList.add("chosen");
    line.append(element("span", "role", name), element("span", "text", item.texts[at] ?? ""));
    line.append(element("span", "score", scores.length > at ? number(scores[at]) : ""));
    return line;
  }

  function card(item) {
    const { at, value } = lean(item);
    const scores = item.scores[at];
    const made = element("li", "item");
    const meta = element("div", "meta");
    meta.append(element("span", "badge " + side(value), said(item, value)));
    for (const text of [item.set.language, place(item), item.bias, item.target, item.stereotype]) if (text) meta.append(element("span", "", text));
    meta.append(element("span", "id", item.id));
    made.append(meta);
    if (item.context) made.append(element("p", "context", item.context.replaceAll("BLANK", "____")));
    const list = element("ul", "");
    if (item.set.unit === "gender") {
      item.set.models.forEach((name, place) => {
        if (!item.scores[place]) return;
        const line = element("li", "");
        line.append(element("span", "role", name), element("span", "text", item.texts[place]));
        line.append(element("span", "score", { 1: "masculine", 0: "feminine" }[item.scores[place][0]] ?? "no gender"));
        list.append(line);
      });
      made.append(list);
    } else if (item.set.unit === "signed") {
      if (item.texts.some(Boolean)) item.set.sides.forEach((name, place) => item.texts[place] && list.append(candidate(item, [], place, name)));
      made.append(list, element("p", "others", "masculine over feminine: " + Math.exp(scores[0]).toPrecision(3)));
    } else {
      item.set.roles.forEach((name, place) => list.append(candidate(item, scores, place, name)));
      made.append(list);
    }
    if (item.set.models.length > 1 && item.set.unit !== "gender") {
      const others = item.set.models.map((name, place) => (item.leans[place] === null ? "" : name + " " + said(item, item.leans[place]))).filter(Boolean);
      made.append(element("p", "others", others.join(" · ")));
    }
    return made;
  }

  function showMore() {
    $("list").append(...found.slice(shown, shown + PAGE).map(card));
    shown = Math.min(shown + PAGE, found.length);
    $("more").hidden = shown >= found.length;
    $("more").textContent = "Show more (" + (found.length - shown).toLocaleString("en") + " left)";
  }

  $("open-items").addEventListener("click", async () => {
    try {
      items = spread(await unpack());
    } catch (error) {
      $("gate").append(element("p", "note", "The items cannot be unpacked by this browser: " + error.message));
      return;
    }
    fill("by-model", "first of each", items.flatMap((item) => item.set.models));
    fill("by-set", "all", items.map(place));
    // Leans of different kinds cannot be put in one order, so one kind is chosen to begin with.
    if (new Set(items.map((item) => item.set.unit)).size > 1) {
      $("by-set").options[0].remove();
      $("by-set").value = place(items[0]);
    }
    fill("by-language", "all", items.map((item) => item.set.language));
    fill("by-bias", "all", items.map((item) => item.bias));
    fill("by-target", "all", items.map((item) => item.target));
    fill("by-stereotype", "all", items.map((item) => item.stereotype));
    $("gate").hidden = true;
    $("explorer").hidden = false;
    filter();
    $("search").focus({ preventScroll: true });
  });
  $("filters").addEventListener("input", filter);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("more").addEventListener("click", showMore);
})();
