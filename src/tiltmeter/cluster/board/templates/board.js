"use strict";
// Sorting, filters and paging of the tables of the board. The page contains the first view as HTML; later views are built
// here from the packed data (format: cluster/board/site_pages.py). Data are only inserted as text, never as markup.
(() => {
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const tables = [...document.querySelectorAll("section.table")].map((section) => ({
    section, first: 0, sorted: -1, ascending: true, limit: 0, columns: [], rows: new Map(),
  }));
  let data = null;

  async function unpack() {
    const bytes = Uint8Array.from(atob($("packed").textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function make(name, text, className) {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  }

  function shape(name, attributes) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  const BARE = document.createElement("td");
  {
    const svg = shape("svg", { class: "ruler", viewBox: "-6 0 212 20", role: "img" });
    svg.append(
      shape("path", { class: "base", d: "M0 10H200" }), shape("path", { class: "ideal", d: "M100 1V19" }),
      shape("path", { class: "interval", d: "M0 10H0" }), shape("circle", { cx: "0", cy: "10", r: "5" }),
    );
    BARE.append(make("span", "", "strong"), " ", make("small", ""), svg, make("span", "", "badge"));
  }

  // Builds a table cell from a packed cell: [model, value, interval, low, high, at, verdict, remarks, value to sort by, distance].
  function cellOf(cell) {
    if (!cell) {
      const empty = make("td", undefined, "empty");
      empty.append(make("span", "not measured", "unseen"));
      return empty;
    }
    const [, value, interval, low, high, at, verdict, remarks] = cell;
    const [mark, tone, side] = data.verdicts[verdict];
    const filled = BARE.cloneNode(true);
    const [strong, small, svg, badge] = filled.children;
    strong.textContent = value;
    if (interval) {
      small.textContent = interval;
    } else {
      small.previousSibling.remove();
      small.remove();
    }
    svg.setAttribute("class", "ruler " + side);
    svg.setAttribute("aria-label", side);
    svg.children[2].setAttribute("d", `M${low} 10H${high}`);
    svg.children[3].setAttribute("cx", at);
    badge.textContent = mark;
    badge.className = "badge " + tone;
    for (const remark of remarks) filled.append(" ", make("small", remark));
    return filled;
  }

  // Allow a line break between a benchmark and its part.
  function placeOf(name) {
    const place = make("bdi");
    for (const [number, piece] of name.split("/").entries()) {
      if (number) place.append("/", make("wbr"));
      place.append(piece);
    }
    return place;
  }

  function headOf(column, number) {
    const head = make("th");
    head.scope = "col";
    const button = make("button");
    button.type = "button";
    button.dataset.column = number;
    button.append(placeOf(column.place), " ", make("span", column.language), " ", make("small", column.measure));
    if (column.extra) button.append(" ", make("small", column.extra));
    head.append(button);
    if (column.reference) {
      const reference = make("small", "reference ");
      reference.append(make("bdi", column.reference));
      head.append(" ", reference);
    }
    return head;
  }

  function rowOf(table, model) {
    const [name, page, family] = data.models[model];
    const row = make("tr");
    const head = make("th");
    head.scope = "row";
    const link = make("a");
    link.href = data.root + page;
    link.append(make("bdi", name));
    head.append(link);
    if (family) head.append(" ", make("small", family));
    row.append(head, ...shownOf(table).map((column) => cellOf(column.byModel.get(model))));
    return row;
  }

  const shownOf = (table) => table.columns.slice(table.first, table.first + data.shownColumns);

  // Returns the models of a table that match the filters, sorted; models without a value in the sorted column are last.
  function modelsOf(table) {
    const columns = shownOf(table);
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const family = $("by-family")?.value ?? "";
    const models = [];
    for (const [number, [name, , ownFamily]] of data.models.entries()) {
      if (family && ownFamily !== family) continue;
      if (words.length && !words.every((word) => name.toLowerCase().includes(word))) continue;
      if (columns.some((column) => column.byModel.has(number))) models.push(number);
    }
    const sign = table.ascending ? 1 : -1;
    if (table.sorted < 0) return table.ascending ? models : models.reverse();
    const column = columns[table.sorted];
    const field = $("by-order").value === "distance" ? 9 : 8;
    const key = (model) => column.byModel.get(model)?.[field];
    return models.sort((a, b) => {
      const [left, right] = [key(a), key(b)];
      // Models without a value, or without a distance because the value cannot be ordered, are last.
      if (left == null || right == null) return (left == null) - (right == null) || a - b;
      return sign * (left - right) || a - b;
    });
  }

  function drawRows(table) {
    const models = modelsOf(table);
    const body = table.section.querySelector("tbody");
    const rows = models.slice(0, table.limit).map((model) => {
      if (!table.rows.has(model)) table.rows.set(model, rowOf(table, model));
      return table.rows.get(model);
    });
    body.replaceChildren(...rows);
    table.section.querySelector(".more").hidden = models.length <= table.limit;
    for (const [number, head] of [...table.section.querySelectorAll("thead th")].entries()) {
      if (number - 1 === table.sorted) head.setAttribute("aria-sort", table.ascending ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
    table.count = models.length;
  }

  function drawColumns(table) {
    const head = table.section.querySelector("thead tr");
    head.replaceChildren(head.firstElementChild, ...shownOf(table).map(headOf));
    table.section.querySelector("table").className = "board columns-" + shownOf(table).length;
    table.rows.clear();
    drawPager(table);
    drawRows(table);
  }

  function drawPager(table) {
    const last = Math.min(table.first + data.shownColumns, table.columns.length);
    const all = table.columns.length;
    table.section.querySelector(".range").textContent =
      last - table.first === all ? `${all} ${all === 1 ? "column" : "columns"}` : `Columns ${table.first + 1}–${last} of ${all}`;
    table.section.querySelector(".previous").hidden = table.first === 0;
    table.section.querySelector(".next").hidden = last === all;
  }

  function showCount() {
    const visible = tables.filter((table) => !table.section.hidden && table.count);
    const models = visible.reduce((sum, table) => sum + table.count, 0);
    const columns = visible.reduce((sum, table) => sum + table.columns.length, 0);
    $("count").textContent = visible.length
      ? `${models} ${models === 1 ? "row" : "rows"} and ${columns} ${columns === 1 ? "column" : "columns"} match.`
      : "No model matches; change the filters.";
  }

  function choose(table, number) {
    const place = $("by-place")?.value ?? "";
    const language = $("by-language")?.value ?? "";
    table.columns = data.sections[number].columns.filter((column) =>
      (place ? column.place === place || (column.benchmark === place && column.summary) : column.summary) &&
      (!language || column.code === language));
    table.first = 0;
    table.sorted = -1;
    table.ascending = true;
    table.limit = data.shownRows;
  }

  function filter() {
    for (const [number, table] of tables.entries()) {
      const wanted = $("by-section")?.value ?? "";
      choose(table, number);
      table.section.hidden = !table.columns.length || (wanted !== "" && wanted !== String(number));
      if (!table.section.hidden) drawColumns(table);
      table.section.hidden ||= table.count === 0;
    }
    showCount();
  }

  function search() {
    for (const table of tables) {
      if (!table.columns.length) continue;
      drawRows(table);
      const wanted = $("by-section")?.value ?? "";
      table.section.hidden = !table.count || (wanted !== "" && wanted !== String(tables.indexOf(table)));
    }
    showCount();
  }

  async function start() {
    data = await unpack();
    for (const section of data.sections) {
      for (const column of section.columns) column.byModel = new Map(column.cells.map((cell) => [cell[0], cell]));
    }
    for (const [number, table] of tables.entries()) {
      choose(table, number);
      // Reuse the rows in the HTML, which are equal to the rows that this script would build.
      const rows = [...table.section.querySelectorAll("tbody tr")];
      if (!rows.length) {
        drawColumns(table);
      } else {
        const models = modelsOf(table);
        for (const [place, row] of rows.entries()) table.rows.set(models[place], row);
        table.count = models.length;
        table.section.querySelector(".more").hidden = models.length <= table.limit;
        drawPager(table);
      }
      table.section.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (!button) return;
        if (button.dataset.column !== undefined) {
          const column = Number(button.dataset.column);
          table.ascending = table.sorted === column ? !table.ascending : true;
          table.sorted = column;
          drawRows(table);
        } else if (button.matches(".more")) {
          table.limit += data.shownRows;
          drawRows(table);
        } else {
          table.first += button.matches(".next") ? data.shownColumns : -data.shownColumns;
          table.sorted = -1;
          table.ascending = true;
          drawColumns(table);
          button.hidden ? table.section.querySelector(".scroll").focus() : button.focus();
        }
      });
    }
    $("filters").hidden = false;
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    $("search").addEventListener("input", search);
    $("by-family")?.addEventListener("change", search);
    $("by-order").addEventListener("change", search);
    for (const id of ["by-place", "by-language", "by-section"]) $(id)?.addEventListener("change", filter);
    document.documentElement.dataset.ready = "true";
  }

  $("unscripted").remove();
  start().catch(() => {
    $("count").textContent = "This browser cannot unpack the data, so the tables cannot be sorted or filtered; use a newer browser, or the downloads.";
  });
})();
