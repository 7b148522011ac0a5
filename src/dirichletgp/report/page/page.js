"use strict";
// Puts the charts into the page and joins them to its controls.
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const place = (name) => document.getElementById(`chart-${name}`);
  const two = data.classes.length === 2;

  function drawReliability() {
    charts.reliability(place("reliability"), data.reliability, two
      ? { score: `Predicted probability of ${data.classes[1]}`, event: `Observed share of ${data.classes[1]}` }
      : { score: "Confidence in the predicted class", event: "Share that came true" });
  }

  const choice = document.getElementById("class-choice");
  function drawClasswise() {
    const curve = data.classwise[Number(choice.value)];
    place("classwise").setAttribute("aria-label",
      `Reliability diagram of class ${curve.label} against the rest, calibration error ${(100 * curve.error).toFixed(1)} percentage points. Arrow keys read it point by point.`);
    const named = curve.label.length > 14 ? "it" : curve.label; // the axis beside is short
    charts.reliability(place("classwise"), curve,
      { score: `Predicted probability of ${curve.label}`, event: `Observed share of ${named}` });
    document.getElementById("classwise-words").textContent = `Calibration error ${(100 * curve.error).toFixed(1)}\u00a0pp, ` +
      `by chance up to ${(100 * curve.by_chance).toFixed(1)}\u00a0pp. ${curve.words.join(" ")}`;
  }
  choice.addEventListener("change", drawClasswise);
  if (two) choice.value = "0"; // the other one is in the first diagram already

  const slider = document.getElementById("refuse"), output = document.getElementById("refuse-out");
  let choosePoint;
  function showShare() {
    output.textContent = draw.percent(data.rejection[slider.value].rejected, 0);
    slider.setAttribute("aria-valuetext", `${output.textContent} declined, accuracy ${draw.percent(data.rejection[slider.value].accuracy, 1)}`);
  }
  function drawRejection() {
    choosePoint = charts.rejection(place("rejection"), data.rejection, (index) => { slider.value = index; showShare(); });
    showShare();
  }
  slider.addEventListener("input", () => { choosePoint(Number(slider.value), false); showShare(); });

  const buttons = [...document.querySelectorAll("[data-rows]")];
  function showRows(kind) {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.rows === kind));
      document.getElementById(`rows-${button.dataset.rows}`).hidden = button.dataset.rows !== kind;
    }
  }
  for (const button of buttons) button.addEventListener("click", () => showRows(button.dataset.rows));
  showRows(data.rows.wrong.length ? "wrong" : "least");

  const ratio = document.getElementById("cost-ratio"), price = document.getElementById("decline-price");
  function drawCosts() {
    document.getElementById("decline-out").textContent = Number(price.value).toFixed(2);
    charts.costs(place("costs"), data.costs[ratio ? Number(ratio.value) : 0].points, Number(price.value));
  }
  price.addEventListener("input", drawCosts);
  if (ratio) ratio.addEventListener("change", drawCosts);

  const threshold = document.getElementById("threshold"), chosenClass = document.getElementById("outcome-class");
  const priceOf = (id) => Math.max(0, Number(document.getElementById(id).value) || 0);
  const short = (v) => String(Number(v.toPrecision(3)));
  const exact = (t) => `${Number((100 * t).toFixed(2))}\u00a0%`;
  function outcomeNow() {
    const entry = data.outcomes.classes[chosenClass ? Number(chosenClass.value) : 0];
    const miss = priceOf("miss-cost"), alarm = priceOf("alarm-cost");
    const found = outcomes.lines(entry, data.outcomes.thresholds, data.n_rows, miss, alarm);
    return { entry, miss, alarm, found, least: outcomes.cheapest(found, miss, alarm) };
  }
  function drawOutcomes() {
    const { entry, miss, alarm, found } = outcomeNow();
    const place = Number(threshold.value), line = found[place], n = data.n_rows;
    const none = (entry.rows * miss) / n, all = ((n - entry.rows) * alarm) / n;
    document.getElementById("threshold-out").textContent = exact(line.threshold);
    threshold.setAttribute("aria-valuetext", `${exact(line.threshold)}, mean cost ${short(line.cost)}`);
    outcomes.chart(document.getElementById("chart-outcomes"), found, place, Math.min(none, all),
      (index) => { if (Number(threshold.value) !== index) { threshold.value = index; showOutcome(); } });
    showOutcome();
  }
  function showOutcome() {
    const { entry, miss, alarm, found, least } = outcomeNow();
    const line = found[Number(threshold.value)], n = data.n_rows;
    const none = (entry.rows * miss) / n, all = ((n - entry.rows) * alarm) / n;
    document.getElementById("threshold-out").textContent = exact(line.threshold);
    const share = (k, of) => [of ? draw.percent(k / of, 1) : "\u2013", of ? outcomes.interval(k, of).map((v) => draw.percent(v, 1)).join(" to ") : ""];
    const rows = [
      ["Mean cost of a row", short(line.cost), `${short(line.low)} to ${short(line.high)}`],
      [`Precision (right of ${line.taken.toLocaleString("en")} called so)`, ...share(line.right, line.taken)],
      [`Recall (found of ${entry.rows.toLocaleString("en")})`, ...share(line.right, entry.rows)],
      ["Missed, of all rows", ...share(line.missed, n)],
      ["False alarms, of all rows", ...share(line.alarms, n)],
    ];
    const body = document.querySelector("#outcome-table tbody");
    body.textContent = "";
    for (const [name, value, between] of rows) {
      const tr = body.appendChild(document.createElement("tr"));
      const th = tr.appendChild(document.createElement("th"));
      th.scope = "row";
      th.textContent = name;
      for (const text of [value, between]) tr.appendChild(document.createElement("td")).textContent = text;
    }
    const told = miss + alarm > 0 ? `At these prices probabilities that can be taken at their word ask for ${exact(alarm / (miss + alarm))}. ` : "";
    document.getElementById("outcome-words").textContent = told +
      `Cheapest on these rows is ${exact(found[least.best].threshold)} (${short(found[least.best].cost)} a row), but they do not tell it from ` +
      `${exact(found[least.first].threshold)} to ${exact(found[least.last].threshold)}. Calling no row ${entry.label} costs ${short(none)}, calling every row so ${short(all)}.`;
  }
  for (const id of ["miss-cost", "alarm-cost", "threshold"]) document.getElementById(id).addEventListener("input", drawOutcomes);
  if (chosenClass) chosenClass.addEventListener("change", drawOutcomes);
  document.getElementById("cheapest").addEventListener("click", () => { threshold.value = outcomeNow().least.best; drawOutcomes(); });

  const drawings = { outcomes: drawOutcomes, reliability: drawReliability, rejection: drawRejection, classwise: drawClasswise, costs: drawCosts };
  if (data.uncertainty) drawings.uncertainty = () => charts.uncertainty(place("uncertainty"), data.uncertainty.points);
  if (place("history")) drawings.history = () => charts.history(place("history"), data.history);

  // Tables that are wider than their place say so.
  function markWide() {
    for (const box of document.querySelectorAll(".scroll")) {
      const hint = box.previousElementSibling;
      if (hint && hint.classList.contains("sideways")) hint.hidden = box.scrollWidth <= box.clientWidth + 1;
    }
  }
  markWide();
  window.addEventListener("resize", markWide);

  // Redrawn when its own width changes, so that letters keep their size; and for paper, which is narrower.
  const widths = new Map();
  const watch = new ResizeObserver((entries) => requestAnimationFrame(() => {
    for (const { target } of entries) {
      const name = target.id.slice("chart-".length), width = Math.round(target.clientWidth);
      if (width && widths.get(name) !== width) { widths.set(name, width); drawings[name](); }
    }
  }));
  for (const [name, drawing] of Object.entries(drawings)) {
    drawing();
    widths.set(name, Math.round(place(name).clientWidth));
    watch.observe(place(name));
  }
  const drawAll = () => Object.values(drawings).forEach((drawing) => drawing());
  window.addEventListener("beforeprint", () => { draw.paper = true; drawAll(); });
  window.addEventListener("afterprint", () => { draw.paper = false; drawAll(); });
})();
