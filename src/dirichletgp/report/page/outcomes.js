"use strict";
// What a threshold leads to, at the prices that a reader sets: counts are given, the rest is worked out here.
const outcomes = (() => {
  const { node, ticks, percent, frame, path, cursor } = draw;

  // Wilson's 95 % interval of k in n.
  function interval(k, n) {
    if (!n) return [0, 1];
    const z2 = 1.96 ** 2, share = k / n, widening = 1 + z2 / n;
    const centre = (share + z2 / (2 * n)) / widening;
    const reach = (1.96 * Math.sqrt((share * (1 - share)) / n + z2 / (4 * n * n))) / widening;
    return [Math.max(0, centre - reach), Math.min(1, centre + reach)];
  }

  // At each threshold: what goes wrong, and the mean cost of a row with its interval.
  function lines(entry, thresholds, n, missCost, alarmCost) {
    return thresholds.map((threshold, i) => {
      const missed = entry.rows - entry.right[i], alarms = entry.taken[i] - entry.right[i];
      const cost = (missed * missCost + alarms * alarmCost) / n;
      // One row more of either kind, so that no mistake seen is not taken for none possible.
      const square = ((missed + 1) * missCost ** 2 + (alarms + 1) * alarmCost ** 2) / n;
      const reach = 1.96 * Math.sqrt(Math.max(0, square - cost * cost) / n);
      return { threshold, missed, alarms, right: entry.right[i], taken: entry.taken[i], cost, low: Math.max(0, cost - reach), high: cost + reach };
    });
  }

  // The cheapest threshold, and those that these rows do not tell from it: only rows between two thresholds differ.
  function cheapest(found, missCost, alarmCost) {
    const best = found.reduce((place, line, i) => (line.cost < found[place].cost ? i : place), 0);
    const alike = found.map((line) => {
      const missed = Math.abs(line.missed - found[best].missed), alarms = Math.abs(line.alarms - found[best].alarms);
      const extra = (line.missed - found[best].missed) * missCost + (line.alarms - found[best].alarms) * alarmCost;
      return extra <= 1.96 * Math.sqrt(missed * missCost ** 2 + alarms * alarmCost ** 2);
    });
    let first = best, last = best;
    while (first > 0 && alike[first - 1]) first--;
    while (last + 1 < found.length && alike[last + 1]) last++;
    return { best, first, last };
  }

  function chart(container, found, place, trivial, onChoose) {
    const top = Math.max(1e-9, trivial, found[place].cost, Math.min(...found.map((l) => l.high))) * 1.35;
    const fifths = [0, 0.2, 0.4, 0.6, 0.8, 1];
    const { root, x, y, left, right, top: ceiling, bottom } = frame(container, {
      x: [0, 1], y: [0, top], xTicks: fifths, yTicks: ticks(0, top, 5), xFormat: percent,
      yFormat: (v) => String(Number(v.toPrecision(3))), xLabel: "Threshold", yLabel: "Mean cost of a row",
    });
    // What is dearer leaves the chart at its top; the finger stays inside.
    const clip = node("clipPath", { id: "outcomes-inside" }, root);
    node("rect", { x: left, y: ceiling, width: right - left, height: bottom - ceiling + 2 }, clip);
    const inside = node("g", { "clip-path": "url(#outcomes-inside)" }, root);
    const across = found.map((l) => x(l.threshold));
    node("path", { class: "band", d: charts.area(across, found.map((l) => y(l.low)), found.map((l) => y(l.high))) }, inside);
    node("path", { class: "ideal", d: path([[left, y(trivial)], [right, y(trivial)]]) }, inside);
    node("path", { class: "line", d: path(found.map((l, i) => [across[i], y(l.cost)])) }, inside);
    const places = found.map((l, i) => [across[i], Math.max(ceiling, y(l.cost))]);
    node("circle", { class: "dot", cx: places[place][0], cy: places[place][1], r: 5 }, root);
    return cursor(container, root, found.map((l, i) => ({
      px: places[i][0], py: places[i][1],
      text: `From ${percent(l.threshold, 1)} on: ${l.cost.toPrecision(3)} a row (${l.low.toPrecision(2)} to ${l.high.toPrecision(2)}), ${l.missed} missed, ${l.alarms} false alarms.`,
    })), { hint: "Point at the chart, or use the arrow keys, to read it.", onChoose });
  }

  return { interval, lines, cheapest, chart };
})();
