"use strict";
// Everything on the page can be read without this script. It shows one model and suite at a time,
// colours the grid by another score, lists the images that kill a mutant, and enlarges passes.

const data = JSON.parse(document.getElementById("report-data").textContent);
const byId = (id) => document.getElementById(id);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function make(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function makeSvg(tag, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes = {}, children = []) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A number that is a cell of a CSV, as the page's own numbers are.
function number(value, text, csv, row, column, form) {
  const where = typeof row === "string" ? { "data-image": row } : { "data-row": row };
  const cell = { value, "data-csv": csv, ...where, "data-column": column, "data-form": form };
  return make("data", cell, text);
}

function thumbnail(raster) {
  const hidden = { "aria-hidden": "true" };
  if (!raster) return make("span", { class: "thumb none", ...hidden }, "no picture");
  const use = makeSvg("use", { href: `#${raster}` });
  const svg = makeSvg("svg", { class: "thumb", "data-raster": raster, ...hidden }, use);
  fit(svg);
  return svg;
}

// A thumbnail shows its whole image, whose size the image itself knows.
function fit(svg) {
  const image = byId(svg.dataset.raster);
  const [width, height] = ["width", "height"].map((name) => image.getAttribute(name));
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
}

// Model and suite.

const chooseModel = byId("choose-model");
const chooseSuite = byId("choose-suite");
const views = all("article[data-model]");

function shownView() {
  const { value: model } = chooseModel;
  const { value: suite } = chooseSuite;
  return views.find((view) => view.dataset.model === model && view.dataset.suite === suite);
}

function showView() {
  const ofModel = views.filter((view) => view.dataset.model === chooseModel.value);
  const suites = new Set(ofModel.map((view) => view.dataset.suite));
  for (const option of chooseSuite.options) option.disabled = !suites.has(option.value);
  if (!shownView()) chooseSuite.value = ofModel[0].dataset.suite;
  const shown = shownView();
  for (const article of all("article.view")) {
    article.hidden = (article.dataset.view || article.id) !== shown.id;
  }
  showScore();
}

function showViewOf(element) {
  const article = element.closest("article.view");
  if (!article || !article.hidden) return;
  const view = byId(article.dataset.view || article.id);
  chooseModel.value = view.dataset.model;
  chooseSuite.value = view.dataset.suite;
  showView();
}

// The score that colours the grid.

const chooseScore = byId("choose-score");
const original = new Map();

function showScore() {
  const view = shownView();
  const own = data.views[view.id];
  for (const link of all(".cell a", view)) {
    const cell = link.parentElement;
    const place = link.querySelector(".value");
    if (!original.has(link)) {
      original.set(link, [[...place.childNodes], cell.style.getPropertyValue("--v")]);
    }
    const [nodes, shade] = original.get(link);
    if (chooseScore.value === "") {
      place.replaceChildren(...nodes);
      cell.style.setProperty("--v", shade);
      continue;
    }
    const column = Number(chooseScore.value);
    const row = Number(link.dataset.mutant);
    const value = own.scores[row][column];
    const [written, text] = value === null ? ["", "-"] : [value, value.toFixed(3)];
    const name = data.scoreColumns[column];
    place.replaceChildren(number(written, text, own.table, row, name, "three"));
    cell.style.setProperty("--v", value > 0 ? value / data.largest[column] : 0);
  }
}

// The images that kill a mutant.

const COUNT = "[img_level] iskill_miss_ghost_count";
const MEANING = {
  k: "kills it",
  a: "kills it by any only",
  ".": "does not kill it",
  "?": "is not settled",
};
const MOST = 60;

function showKillers(link) {
  const view = link.closest("article");
  const own = data.views[view.id];
  const m = Number(link.dataset.mutant);
  const entry = byId(link.getAttribute("href").slice(1));
  const order = own.images.map((_, i) => i).filter((i) => own.levels[m][i] !== "x");
  const rank = (i) => 1000 * "?.ak".indexOf(own.levels[m][i]) + own.changed[m][i];
  order.sort((i, j) => rank(j) - rank(i));
  const killers = order.filter((i) => own.levels[m][i] === "k");
  const isNear = (i, place) => own.changed[m][i] > 0 || `${m},${i}` in own.cases || place < 3;
  const listed = (killers.length ? killers : order.filter(isNear)).slice(0, MOST);
  const panel = view.querySelector(".panel");
  const close = make("button", { type: "button", class: "close" }, "Close");
  close.addEventListener("click", () => hideKillers(panel, link));
  const says = killers.length
    ? "These images kill it, those first on which most passes differ."
    : "No image kills it. These come nearest.";
  const isCut = killers.length > listed.length;
  const items = listed.map((i) => killer(own, m, i, entry));
  panel.replaceChildren(
    close,
    make("h4", {}, entry.dataset.name),
    make("p", { class: "soft" }, says, isCut ? ` The first ${listed.length} are shown.` : ""),
    make("ul", { class: "killers" }, ...items),
  );
  if (own.show) {
    const { operator, tag } = entry.dataset;
    const command = make("code", {}, `${own.show} --operator ${operator} --mutant ${tag}`);
    const about = "Any of them as a picture: ";
    panel.append(make("p", { class: "soft show-command" }, about, command));
  }
  for (const other of all('a[aria-expanded="true"]', view)) {
    other.setAttribute("aria-expanded", "false");
  }
  link.setAttribute("aria-expanded", "true");
  panel.setAttribute("aria-label", `Images for ${entry.dataset.name}`);
  panel.dataset.opener = link.id;
  panel.focus({ preventScroll: true });
  panel.scrollIntoView({ block: "nearest" });
}

function killer(own, m, i, entry) {
  const name = make("bdi", {}, own.images[i]);
  const item = make("li", {});
  const chosen = own.cases[`${m},${i}`];
  const changed = own.changed[m][i];
  const cell = [own.tables[m], own.images[i], COUNT, "whole"];
  const count = changed < 0 ? "-" : number(changed, String(changed), ...cell);
  const unit = changed === 1 ? " pass differs" : " passes differ";
  const about = make("span", {}, `${MEANING[own.levels[m][i]]}: `, count, unit);
  if (chosen) {
    const href = `#${chosen}`;
    const label = `${own.images[i]}: see all passes`;
    const link = make("a", { href, "aria-label": label }, thumbnail(own.thumbs[i]));
    const again = make("a", { href, tabindex: "-1", "aria-hidden": "true" }, "see all passes");
    item.append(link, make("span", { class: "name" }, name), about, again);
  } else {
    item.append(thumbnail(own.thumbs[i]), make("span", { class: "name" }, name), about);
  }
  return item;
}

function hideKillers(panel, link) {
  const hint = "Choose a mutant to see the images that kill it, and from there its passes.";
  panel.replaceChildren(make("p", { class: "soft" }, hint));
  link.setAttribute("aria-expanded", "false");
  link.focus();
}

// Cases: all passes as a film strip, one of them large.

function showCase(details) {
  showViewOf(details);
  details.open = true;
  const summary = details.querySelector("summary");
  summary.focus({ preventScroll: true });
  details.scrollIntoView({ block: "start" });
}

function showPass(item) {
  const details = item.closest(".case");
  const strip = item.parentElement;
  for (const other of strip.children) {
    other.classList.toggle("shown", other === item);
    other.querySelector("button").setAttribute("aria-pressed", String(other === item));
  }
  const large = details.querySelector('[data-side="mutant"]');
  large.querySelector("svg").replaceWith(enlarged(item));
  large.querySelector(".which").textContent = `pass ${item.dataset.pass}`;
  const left = details.querySelector('[data-side="original"]');
  if (!details.originalSide) details.originalSide = left.querySelector("svg");
  const own = item.querySelector("template");
  const drawn = (own ? own.content.querySelector("svg") : details.originalSide).cloneNode(true);
  if (!own) markMissed(drawn, tagsOf(item));
  left.querySelector("svg").replaceWith(drawn);
  showMeasure(details);
}

function tagsOf(item) {
  const tags = data.tags[item.closest(".case").id][Number(item.dataset.pass)];
  return tags.map(([kind, object, label, ...rest]) => {
    return [data.kinds[kind], object, data.labels[label], ...rest];
  });
}

// The original finds the same in every pass; what of it is missed changes.
function markMissed(svg, tags) {
  const missed = new Set(tags.filter(([kind]) => kind === "miss").map(([, object]) => object));
  for (const part of all("[data-object]", svg)) {
    const kind = missed.has(part.dataset.object) ? "miss" : "match";
    part.classList.remove("match", "miss");
    part.classList.add(kind);
    const title = part.querySelector("title");
    if (!title) continue;
    title.textContent = title.textContent.replace(/^\w+/, kind);
    const { object, label, level } = part.dataset;
    if (level === "0") part.firstChild.data = tagTexts(kind, object, label)[0];
  }
}

// What may be written at a detection, the longest first.
function tagTexts(kind, object, label) {
  const word = kind === "match" ? "" : `${kind} `;
  return [`${object} ${word}${label}`, `${object} ${label} …`, `${object} …`];
}

// A pass of the strip with a tag for each of its objects.
function enlarged(item) {
  const svg = item.querySelector("svg").cloneNode(true);
  const { width, height } = svg.viewBox.baseVal;
  svg.style.setProperty("--unit", `${Math.max(width, height)}px`);
  for (const small of all("text", svg)) small.remove();
  const texts = [];
  for (const [kind, object, label, score, x, y, ...unusual] of tagsOf(item)) {
    const [level = 0, isEnd = 0, leader = ""] = unusual;
    for (const name of leader ? ["under", kind] : []) {
      const end = `${leader.split("L")[0]}h0`;
      svg.append(makeSvg("path", { class: `leader ${name}`, d: leader }));
      svg.append(makeSvg("path", { class: `end ${name}`, d: end }));
    }
    const written = tagTexts(kind, object, label)[level];
    const place = { class: kind, x, y, "data-object": object, "data-level": level };
    if (isEnd) place["text-anchor"] = "end";
    const text = makeSvg("text", place, written);
    text.append(makeSvg("title", {}, `${kind}: ${label}, score ${score.toFixed(2)}`));
    texts.push(text);
  }
  svg.append(...texts);
  return svg;
}

// The uncertainty beside each box of the mutant, from the table of objects.

const chooseMeasure = byId("choose-measure");

function showMeasure(details) {
  const measure = chooseMeasure.value;
  for (const text of all('[data-side="mutant"] text', details)) {
    const { object, level } = text.dataset;
    if (level !== "0") continue;
    const row = all(".objects tbody tr", details).find((tr) => tr.dataset.object === object);
    const value = row && row.querySelector(`[data-measure="${measure}"] data`);
    let beside = text.querySelector(".beside");
    if (!beside) {
      beside = makeSvg("tspan", { class: "beside" });
      text.insertBefore(beside, text.querySelector("title"));
    }
    const isSum = data.sumsGhosts && measure === "ie" && text.classList.contains("ghost");
    const sign = ` ${measure}${isSum ? " sum" : ""}`;
    beside.textContent = value && value.value ? `${sign} ${value.textContent}` : "";
  }
}

// Charts.

const chooseChart = byId("choose-chart");

function showChart() {
  for (const chart of all("[data-chart]")) chart.hidden = chart.dataset.chart !== chooseChart.value;
}

// Setting it up.

function start() {
  for (const svg of all("svg[data-raster]")) fit(svg);
  for (const choice of all("#toolbar, #beside-choice, #chart-choice")) choice.hidden = false;
  for (const choice of [chooseModel, chooseSuite]) choice.addEventListener("change", showView);
  chooseScore.addEventListener("change", showScore);
  chooseMeasure.addEventListener("change", () => all(".case").forEach(showMeasure));
  for (const panel of all(".panel")) panel.hidden = false;
  for (const link of all(".cell a")) link.setAttribute("aria-expanded", "false");
  for (const item of all(".strip li")) {
    const pass = item.dataset.pass;
    const button = make("button", {
      type: "button",
      "aria-pressed": String(item.classList.contains("shown")),
      "aria-label": `Show pass ${pass} large`,
    });
    const svg = item.querySelector("svg");
    svg.replaceWith(button);
    button.append(svg);
    button.addEventListener("click", () => showPass(item));
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link) return;
    if (link.dataset.mutant !== undefined) {
      event.preventDefault();
      showKillers(link);
    } else {
      const target = byId(link.getAttribute("href").slice(1));
      if (!target || !target.matches(".case")) return;
      event.preventDefault();
      showCase(target);
    }
  });
  document.addEventListener("keydown", (event) => {
    const panel = event.target.closest(".panel");
    const opener = panel && byId(panel.dataset.opener);
    if (event.key === "Escape" && opener) hideKillers(panel, opener);
  });
  if (chooseChart) {
    chooseChart.addEventListener("change", showChart);
    showChart();
  }
  // The model and suite of the verdict first.
  showView();
  const target = location.hash && byId(location.hash.slice(1));
  if (target) {
    if (target.matches(".case")) showCase(target);
    else showViewOf(target);
  }
}

start();
