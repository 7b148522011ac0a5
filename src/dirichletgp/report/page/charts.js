"use strict";
// One function per chart; each empties its container and draws into it.
const charts = (() => {
  const { node, linear, ticks, percent, frame, path, cursor } = draw;
  const fifths = [0, 0.2, 0.4, 0.6, 0.8, 1];
  const count = (n) => `${Math.round(n).toLocaleString("en")} row${Math.round(n) === 1 ? "" : "s"}`;

  // Accuracy against confidence, with the model's own band and the share of rows along the foot.
  function reliability(container, curve, { event, score }) {
    const canvas = frame(container, {
      x: [0, 1], y: [-0.18, 1], xTicks: fifths, yTicks: fifths,
      xFormat: percent, yFormat: percent, xLabel: score, yLabel: event,
    });
    const { root, x, y, bottom } = canvas;
    const most = Math.max(...curve.histogram, 1e-9), tall = (y(-0.18) - y(0)) * 0.92;
    curve.histogram.forEach((mass, b) => {
      const wide = (x(1) - x(0)) / curve.histogram.length, high = (mass / most) * tall;
      node("rect", { class: "bar", x: x(0) + b * wide + 1, width: wide - 2, y: bottom - high, height: high }, root);
    });
    const bins = curve.bins;
    for (let b = 0; b + 1 < bins.length && bins[0].lower !== undefined; b++) {
      const [p, q] = [bins[b], bins[b + 1]];
      const corners = [[p.lower, p.accuracy], [q.lower, q.accuracy], [q.upper, q.accuracy], [p.upper, p.accuracy]];
      node("path", { class: "band", d: path(corners.map(([u, v]) => [x(u), y(v)])) + "Z" }, root);
    }
    node("path", { class: "ideal", d: path([[x(0), y(0)], [x(1), y(1)]]) }, root);
    const places = bins.map((bin) => [x(bin.confidence), y(bin.accuracy)]);
    bins.forEach((bin, b) => node("line", { class: "whisker", x1: places[b][0], x2: places[b][0], y1: y(bin.low), y2: y(bin.high) }, root));
    node("path", { class: "line", d: path(places) }, root);
    places.forEach(([cx, cy]) => node("circle", { class: "dot", cx, cy, r: 4.5 }, root));
    cursor(container, root, bins.map((bin, b) => ({
      px: places[b][0], py: places[b][1],
      text: `Said ${percent(bin.confidence, 1)}, came true ${percent(bin.accuracy, 1)} of the time ` +
        `(between ${percent(bin.low)} and ${percent(bin.high)}), on ${count(bin.rows)}.`,
    })), { hint: "Point at the chart, or use the arrow keys, to read it." });
  }

  // The area between two lines over the same places.
  const area = (px, low, high) => path([...px.map((p, i) => [p, low[i]]), ...px.map((p, i) => [p, high[i]]).reverse()]) + "Z";

  function rejection(container, points, onChoose) {
    const low = Math.min(...points.map((p) => p.low)), high = Math.max(...points.map((p) => p.high));
    const pad = Math.max(0.004, 0.06 * (high - low));
    const range = [Math.max(0, low - pad), Math.min(1, high + pad)];
    const digits = range[1] - range[0] < 0.06 ? 1 : 0;
    const { root, x, y, left, right } = frame(container, {
      x: [0, 1], y: range, xTicks: fifths, yTicks: ticks(range[0], range[1], 5),
      xFormat: percent, yFormat: (v) => percent(v, digits), xLabel: "Rows declined", yLabel: "Accuracy of the rest",
    });
    const across = points.map((p) => x(p.rejected));
    node("path", { class: "band", d: area(across, points.map((p) => y(p.low)), points.map((p) => y(p.high))) }, root);
    node("path", { class: "ideal", d: path([[left, y(points[0].accuracy)], [right, y(points[0].accuracy)]]) }, root);
    const places = points.map((p, i) => [across[i], y(p.accuracy)]);
    node("path", { class: "line", d: path(places) }, root);
    node("circle", { class: "dot", cx: places[places.length - 1][0], cy: places[places.length - 1][1], r: 3.5 }, root);
    return cursor(container, root, points.map((p, i) => ({
      px: places[i][0], py: places[i][1],
      text: `Declining ${percent(p.rejected, 1)} of the rows (confidence below ${percent(p.threshold, 1)}) leaves an accuracy of ` +
        `${percent(p.accuracy, 1)} (${percent(p.low, 1)} to ${percent(p.high, 1)}) on ${count(p.left)}.`,
    })), { hint: "Point at the chart, or use the arrow keys, to read it.", onChoose });
  }

  // Mean cost of a row against the share declined: what mistakes cost, and with it what declining does.
  function costs(container, points, price) {
    const totals = points.map(([share, cost]) => cost + price * share);
    const top = Math.max(1e-9, ...totals.slice(0, 1), points[0][1], totals[totals.length - 1]) * 1.06;
    const { root, x, y } = frame(container, {
      x: [0, 1], y: [0, top], xTicks: fifths, yTicks: ticks(0, top, 5), xFormat: percent,
      yFormat: (v) => v.toPrecision(2), xLabel: "Rows declined", yLabel: "Mean cost of a row",
    });
    node("path", { class: "ideal", d: path(points.map(([share, cost]) => [x(share), y(cost)])) }, root);
    const places = points.map(([share], i) => [x(share), y(totals[i])]);
    node("path", { class: "line", d: path(places) }, root);
    const best = totals.indexOf(Math.min(...totals));
    node("circle", { class: "dot", cx: places[best][0], cy: places[best][1], r: 5 }, root);
    cursor(container, root, points.map(([share, cost], i) => ({
      px: places[i][0], py: places[i][1],
      text: `Declining ${percent(share)} of the rows costs ${totals[i].toFixed(3)} a row, of which ${cost.toFixed(3)} for mistakes.`,
    })), { hint: `Least at ${percent(points[best][0])} declined: ${totals[best].toFixed(3)} a row.` });
  }

  // Epistemic uncertainty spans decades: logarithmic, with everything below the floor on the floor.
  function uncertainty(container, points) {
    const floor = 1e-4, top = Math.max(0.02, ...points.map((p) => p[1])) * 1.5;
    const wide = Math.max(0.1, ...points.map((p) => p[0])) * 1.04;
    const log = ([from, to], pixels) => {
      const scale = linear([Math.log10(from), Math.log10(to)], pixels);
      return (value) => scale(Math.log10(Math.max(value, floor)));
    };
    const names = new Map([[1e-4, "≤10⁻⁴"], [1e-3, "10⁻³"], [1e-2, "0.01"], [1e-1, "0.1"], [1, "1"]]);
    const { root, x, y } = frame(container, {
      x: [0, wide], y: [floor, top], yScale: log, xTicks: ticks(0, wide, 5), yTicks: [...names.keys()].filter((v) => v <= top),
      xFormat: String, yFormat: (v) => names.get(v),
      xLabel: "Noise in the labels (aleatoric), nats", yLabel: "Lack of data (epistemic)",
    });
    const places = points.map(([aleatoric, epistemic]) => [x(aleatoric), y(epistemic)]);
    const order = points.map((_, i) => i).sort((a, b) => points[b][2] - points[a][2]);
    for (const i of order) {
      const [px, py] = places[i];
      if (points[i][2]) node("circle", { class: "speck", cx: px, cy: py, r: 2.6 }, root);
      else node("path", { class: "cross", d: `M${px - 3} ${py - 3}l6 6m0 -6l-6 6` }, root);
    }
    const byNoise = points.map((_, i) => i).sort((a, b) => points[a][0] - points[b][0]);
    cursor(container, root, byNoise.map((i) => ({
      px: places[i][0], py: places[i][1],
      text: `Row ${points[i][3]}, predicted ${points[i][2] ? "right" : "wrong"}: ${points[i][0].toFixed(3)} nats of noise, ` +
        `${points[i][1].toPrecision(2)} of lack of data.`,
    })), { hint: "Each mark is a row.", byX: false });
  }

  // What each stage gained on the bound it began with: the best so far, since a line search also tries bad steps.
  function history(container, stages) {
    const searches = stages.filter((stage) => stage.bound_per_row.length).map((stage) => {
      let best = -Infinity;
      return { ...stage, gains: stage.bound_per_row.map((bound) => (best = Math.max(best, bound)) - stage.bound_per_row[0]) };
    });
    const total = searches.reduce((sum, s) => sum + s.gains.length, 0);
    const most = Math.max(1e-3, ...searches.map((s) => s.gains[s.gains.length - 1]));
    const range = [-0.04 * most, 1.1 * most];
    const digits = most < 0.05 ? 3 : most < 0.5 ? 2 : 1;
    const { root, x, y, top, bottom } = frame(container, {
      x: [1, Math.max(2, total)], y: range, xTicks: ticks(1, Math.max(2, total), 6).filter((v) => v >= 1 && Number.isInteger(v)),
      yTicks: ticks(0, range[1], 5), xFormat: String, yFormat: (v) => v.toFixed(digits),
      xLabel: "Evaluation", yLabel: "Gained (nats per row)",
    });
    const readings = [];
    let start = 1;
    searches.forEach((stage, s) => {
      if (s) node("line", { class: "grid", x1: x(start - 0.5), x2: x(start - 0.5), y1: top, y2: bottom }, root);
      const places = stage.gains.map((gain, i) => [x(start + i), y(gain)]);
      node("path", { class: `line ${["", "stage-b", "stage-c"][s % 3]}`, d: path(places) }, root);
      node("circle", { class: `dot ${["", "stage-b", "stage-c"][s % 3]}`, cx: places[places.length - 1][0], cy: places[places.length - 1][1], r: 3.5 }, root);
      places.forEach(([px, py], i) => readings.push({
        px, py, text: `${stage.stage}: ${stage.gains[i].toFixed(4)} nats per row gained after ${i + 1} evaluation${i ? "s" : ""}, a bound of ${(stage.bound_per_row[0] + stage.gains[i]).toFixed(4)}.`,
      }));
      start += stage.gains.length;
    });
    const seconds = (s) => (s.seconds < 0.1 ? "under 0.1" : s.seconds.toFixed(1));
    cursor(container, root, readings, { hint: searches.map((s) => `${s.stage} (${seconds(s)} s)`).join(" · ") });
  }

  return { reliability, rejection, costs, uncertainty, history, area };
})();
