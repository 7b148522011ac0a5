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
    charts.reliability(place("classwise"), curve,
      { score: `Predicted probability of ${curve.label}`, event: `Observed share of ${curve.label}` });
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

  const drawings = { reliability: drawReliability, rejection: drawRejection, classwise: drawClasswise, costs: drawCosts };
  if (data.uncertainty) drawings.uncertainty = () => charts.uncertainty(place("uncertainty"), data.uncertainty.points);
  if (data.history.length) drawings.history = () => charts.history(place("history"), data.history);

  // Redrawn when its own width changes, so that letters keep their size.
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
})();
