"use strict";

/* Charts */

function drawCharts() {
  const data = JSON.parse(document.getElementById("charts-data").textContent);
  const options = { actions: false, renderer: "svg", ast: true };
  for (const [name, spec] of Object.entries(data.charts)) {
    const place = document.getElementById(name);
    const labelLimit = Math.max(105, Math.min(210, place.clientWidth * 0.36));
    const { axis, legend, title } = data.config;
    const config = {
      ...data.config, axis: { ...axis, labelLimit }, title: { ...title, limit: place.clientWidth },
      legend: { ...legend, columns: place.clientWidth < 440 ? 2 : 4 },
    };
    inOneLine(spec, place.clientWidth - labelLimit);
    vegaEmbed(place, spec, { ...options, config }).catch((error) => {
      place.textContent = "This chart could not be drawn: " + error.message;
    });
  }
}

/* Give names of a legend a line of their own only where there is no room for all in one. */
function inOneLine(spec, room) {
  for (const { encoding } of spec.layer) {
    const names = encoding.color && encoding.color.legend && encoding.color.scale.domain;
    if (names && names.reduce((sum, name) => sum + 6.5 * String(name).length + 24, 0) <= room) encoding.color.legend.columns = names.length;
  }
}

/* Light and dark */

function followTheme() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const tell = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", isDark() ? "Change to light colours" : "Change to dark colours"); };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; tell(); });
  prefersDark.addEventListener("change", tell);
  tell();
}

/* Elements: whatever data hold is text, never markup */

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

const isolated = (text) => element("bdi", null, text);

function shown(value, digits) {
  if (value == null) return "-";
  if (digits) return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return value.toExponential(1);
  return value.toLocaleString("en-US", { maximumFractionDigits: size < 10 ? 3 : 2 });
}

/* The table of rules */

const COLUMNS = [
  { key: "antecedent", heading: "Words + objects" },
  { key: "answer", heading: "Answer" },
  { key: "rule_count", heading: "Rows", number: true, minor: true },
  { key: "confidence", heading: "Confidence", number: true, digits: 3 },
  { key: "lift", heading: "Lift", number: true, digits: 1, minor: true },
  { key: "val_confidence", heading: "On validation", number: true, digits: 3, minor: true },
  { key: "q_value_by", heading: "q", number: true, minor: true },
  { key: "verdict", heading: "Verdict", minor: true },
];
const MEASURES = [
  ["rule_count", "rows with the answer"], ["antecedent_count", "rows where it fires"],
  ["val_rule_count", "validation rows with the answer"], ["val_antecedent_count", "validation rows where it fires"],
  ["confidence_low", "confidence, 95% from"], ["confidence_high", "confidence, 95% to"],
  ["val_confidence", "validation confidence"], ["val_confidence_low", "validation, 95% from"],
  ["val_confidence_high", "validation, 95% to"], ["lift", "lift"], ["leverage", "leverage"],
  ["q_value_by", "q (Benjamini and Yekutieli)"], ["improvement", "improvement on shorter rules"],
  ["modality_gain", "gain over one kind of items"], ["shrinkage", "shrinkage on validation rows"],
];
const VERDICT_TINTS = { real: "green", redundant: "sky", prior: "amber", unstable: "purple", chance: "grey" };
const PAGE = 50;

function ruleTable(place) {
  const data = JSON.parse(document.getElementById(place.dataset.rules + "-data").textContent);
  const columns = data.columns;
  const texts = data.texts;
  const count = columns.rule_id.length;
  if (!count) return;
  const kinds = [["antecedent_words", "word"], ["antecedent_objects", "object"], ["antecedent_attributes", "attribute"]]
    .filter(([name]) => columns[name]);
  const itemsOf = (row) => kinds.flatMap(([name, kind]) => columns[name][row].map((one) => [texts[one], kind]));
  const words = Array.from({ length: count }, (_, row) => itemsOf(row).map(([text]) => text).join(" + "));
  const haystack = words.map((text, row) => (text + "  " + texts[columns.answer[row]]).toLowerCase());
  const value = (key, row) => {
    if (key === "antecedent") return words[row];
    if (key === "answer" || key === "verdict" || key === "modality") return texts[columns[key][row]];
    return columns[key][row];
  };
  const headings = COLUMNS.filter(({ key }) => key === "antecedent" || columns[key]);
  const state = { sort: null, descending: false, page: 0, rows: [], open: new Set() };

  const distinct = (key) => columns[key] ? [...new Set(columns[key])].map((one) => texts[one]).filter(Boolean).sort() : [];
  const choice = (label, key, names) => {
    const select = element("select", { onchange: filter }, element("option", { value: "" }, "all"), ...names.map((name) => element("option", { value: name }, name)));
    return { key, select, label: names.length > 1 ? element("label", null, label, select) : null };
  };
  const search = element("input", { type: "search", placeholder: texts[columns.answer[0]], autocomplete: "off", spellcheck: "false", oninput: filter });
  const choices = [choice("Kind", "modality", distinct("modality")), choice("Verdict", "verdict", distinct("verdict"))];
  const models = columns.exploited_by ? [...new Set(columns.exploited_by.flat())].map((one) => texts[one]) : [];
  const used = element("select", { onchange: filter }, element("option", { value: "" }, "all rules"), ...models.map((name) => element("option", { value: name }, name)));
  const least = element("input", { type: "number", min: 0, max: 1, step: 0.05, placeholder: "0", oninput: filter });
  const told = element("p", { class: "count", role: "status", "aria-live": "polite" });
  const body = element("tbody");
  const heads = headings.map((column) => element("th", { scope: "col", class: [column.number ? "number" : "", column.minor ? "minor" : ""].join(" ").trim() || null },
    element("button", { type: "button", onclick: () => sortBy(column) }, column.heading)));
  const table = element("table", { "aria-label": "Rules" }, element("thead", null, element("tr", null, ...heads)), body);
  const previous = element("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const next = element("button", { type: "button", onclick: () => turn(1) }, "Next");
  const where = element("span");

  function filter() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = choices.filter(({ select }) => select.value).map(({ key, select }) => [key, texts.indexOf(select.value)]);
    const minimum = parseFloat(least.value) || 0;
    const model = used.value ? texts.indexOf(used.value) : -1;
    state.rows = [];
    for (let row = 0; row < count; row += 1) {
      if (columns.confidence[row] < minimum) continue;
      if (chosen.some(([key, one]) => columns[key][row] !== one)) continue;
      if (model >= 0 && !columns.exploited_by[row].includes(model)) continue;
      if (wanted.every((one) => haystack[row].includes(one))) state.rows.push(row);
    }
    state.page = 0;
    order();
  }

  function sortBy(column) {
    if (state.sort === column.key) state.descending = !state.descending;
    else { state.sort = column.key; state.descending = Boolean(column.number) && column.key !== "q_value_by"; }
    heads.forEach((head, position) => {
      if (headings[position].key === state.sort) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    state.page = 0;
    order();
  }

  function order() {
    const { sort, descending } = state;
    state.rows.sort((a, b) => a - b);
    if (sort) {
      const sign = descending ? -1 : 1;
      const compare = (a, b) => {
        const [one, other] = [value(sort, a), value(sort, b)];
        if (one == null || other == null) return one == null && other == null ? a - b : one == null ? 1 : -1;
        return one === other ? a - b : (one < other ? -sign : sign);
      };
      state.rows.sort(compare);
    }
    draw();
  }

  function turn(by) { state.page += by; draw(); place.scrollIntoView({ block: "start" }); }

  function draw() {
    const pages = Math.max(1, Math.ceil(state.rows.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * PAGE;
    const rows = state.rows.slice(first, first + PAGE);
    body.replaceChildren(...rows.flatMap((row) => state.open.has(row) ? [line(row), detail(row)] : [line(row)]));
    const cut = data.total > count ? " held here, " + shown(data.total) + " in all" : "";
    told.replaceChildren(element("strong", null, shown(state.rows.length)), " of " + shown(count) + (count === 1 ? " rule" : " rules") + cut);
    where.textContent = state.rows.length ? shown(first + 1) + "-" + shown(first + rows.length) : "nothing found";
    previous.disabled = state.page === 0;
    next.disabled = state.page >= pages - 1;
  }

  function line(row) {
    const cells = headings.map((column) => {
      const classes = [column.number ? "number" : column.key, column.minor ? "minor" : ""].join(" ").trim();
      if (column.key === "antecedent") return element("td", { class: classes }, opener(row));
      if (column.key === "verdict") {
        const verdict = value("verdict", row);
        return element("td", { class: classes }, verdict ? element("span", { class: "tag", style: "--tint: var(--" + (VERDICT_TINTS[verdict] || "grey") + ")" }, verdict) : "-");
      }
      const one = value(column.key, row);
      return element("td", { class: classes }, column.number ? shown(one, column.digits) : isolated(one));
    });
    const made = element("tr", { class: "rule", onclick: (event) => { if (!event.target.closest("button") && !String(window.getSelection())) toggle(row); } }, ...cells);
    made.dataset.row = row;
    return made;
  }

  function opener(row) {
    const items = itemsOf(row).flatMap(([text, kind], position) => {
      const item = element("span", { class: "item " + kind }, isolated(text), kind === "word" ? null : element("span", { class: "unseen" }, " (" + kind + ")"));
      return position ? [element("span", { class: "plus" }, " + "), item] : [item];
    });
    return element("button", { type: "button", "aria-expanded": String(state.open.has(row)), onclick: () => toggle(row), onkeydown: move }, ...(items.length ? items : ["always"]));
  }

  function move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = [...body.querySelectorAll("td.antecedent button")];
    const target = buttons[buttons.indexOf(event.currentTarget) + step];
    if (target) { target.focus(); event.preventDefault(); }
  }

  function toggle(row) {
    if (state.open.has(row)) state.open.delete(row); else state.open.add(row);
    draw();
    body.querySelector('tr[data-row="' + row + '"] button').focus({ preventScroll: true });
  }

  function detail(row) {
    const measures = MEASURES.filter(([key]) => columns[key] && columns[key][row] != null)
      .map(([key, name]) => element("div", null, element("dt", null, name), element("dd", null, shown(columns[key][row]))));
    const by = columns.exploited_by && columns.exploited_by[row].length
      ? [element("div", null, element("dt", null, "exploited by"), element("dd", null, isolated(columns.exploited_by[row].map((one) => texts[one]).join(", "))))] : [];
    const sides = !data.questions.question_id ? null : element("div", { class: "sides" }, side("It is right on", data.supporting[row], row), side("It is wrong on", data.counterexamples[row], row));
    return element("tr", { class: "detail" }, element("td", { colspan: heads.filter((head) => getComputedStyle(head).display !== "none").length }, ...(sides ? [sides] : []), element("dl", null, ...by, ...measures)));
  }

  function side(heading, positions, row) {
    const questions = positions.map((position) => {
      const [id, image, text, answer] = ["question_id", "image_id", "question", "answer"].map((name) => data.questions[name][position]);
      return element("li", null, thumbnail(image, row), element("div", { class: "question" }, isolated(text), " ", element("strong", null, isolated(answer)),
        element("span", null, "question ", isolated(id), ", image ", isolated(image))));
    });
    const list = questions.length ? element("ul", null, ...questions) : element("p", null, "no validation question");
    return element("div", null, element("h5", null, heading), list);
  }

  function thumbnail(image, row) {
    const found = data.thumbnails && data.thumbnails[image];
    if (!found) return null;
    const made = element("div", { class: "thumbnail" }, element("img", { src: found.source, alt: "Image " + image }));
    const wanted = new Set((columns.antecedent_objects || [])[row].map((one) => texts[one]));
    const boxes = (found.boxes || []).filter(([name]) => wanted.has(name));
    if (boxes.length) {
      const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      drawn.setAttribute("viewBox", "0 0 1 1");
      drawn.setAttribute("preserveAspectRatio", "none");
      for (const [name, x, y, width, height] of boxes) {
        const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        for (const [key, one] of Object.entries({ x, y, width, height })) box.setAttribute(key, one);
        const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
        title.textContent = name;
        box.append(title);
        drawn.append(box);
      }
      made.append(drawn);
    }
    return made;
  }

  const controls = element("form", { class: "controls", role: "search", onsubmit: (event) => event.preventDefault() },
    element("label", null, "Search words, objects and answers", search),
    ...choices.map(({ label }) => label),
    models.length ? element("label", null, "Exploited by", used) : null,
    element("label", null, "Least confidence", least));
  place.replaceChildren(controls, told, element("div", { class: "scroll" }, table), element("div", { class: "pager" }, previous, next, where));
  filter();
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(input|select|textarea)$/i.test(event.target.tagName)) return;
  const search = document.querySelector('.rules input[type="search"]');
  if (search) { event.preventDefault(); search.focus(); }
});

followTheme();
document.querySelectorAll(".rules").forEach(ruleTable);
drawCharts();
