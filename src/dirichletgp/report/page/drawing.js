"use strict";
// A small drawing kit: elements, scales, a frame with axes, and a cursor for mouse, touch and keyboard.
const draw = (() => {
  const NS = "http://www.w3.org/2000/svg";

  function node(tag, attributes, parent, text) {
    const element = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.appendChild(element);
    return element;
  }

  const linear = ([from, to], [start, end]) => (value) => start + ((value - from) / (to - from || 1)) * (end - start);

  // Round ticks, about `wanted` of them.
  function ticks(from, to, wanted) {
    const rough = (to - from) / wanted || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
    const found = [];
    for (let k = Math.ceil(from / step - 1e-9); k * step <= to + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}\u00a0%`;

  // Axes within a container as wide as the page allows; x and y map data to pixels.
  function frame(container, options) {
    container.textContent = "";
    const width = kit.paper ? 320 : Math.max(260, Math.round(container.clientWidth) || 460);
    const height = options.height || Math.round(Math.min(width * (kit.paper ? 0.58 : 0.78), 380));
    const margin = { top: 12, right: 14, bottom: 46, left: 64, ...options.margin };
    const root = node("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", focusable: "false" }, container);
    const right = width - margin.right, bottom = height - margin.bottom;
    const x = (options.xScale || linear)(options.x, [margin.left, right]);
    const y = (options.yScale || linear)(options.y, [bottom, margin.top]);
    const grid = node("g", {}, root);
    for (const tick of options.yTicks) {
      node("line", { class: "grid", x1: margin.left, x2: right, y1: y(tick), y2: y(tick) }, grid);
      node("text", { x: margin.left - 8, y: y(tick) + 4, "text-anchor": "end" }, grid, options.yFormat(tick));
    }
    for (const tick of options.xTicks) {
      node("line", { class: "axis", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }, grid);
      node("text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, grid, options.xFormat(tick));
    }
    node("line", { class: "axis", x1: margin.left, x2: right, y1: bottom, y2: bottom }, grid);
    node("text", { class: "title", x: (margin.left + right) / 2, y: height - 6, "text-anchor": "middle" }, root, options.xLabel);
    const middle = (margin.top + bottom) / 2;
    node("text", { class: "title", transform: `translate(13 ${middle}) rotate(-90)`, "text-anchor": "middle" }, root, options.yLabel);
    return { root, x, y, left: margin.left, right, top: margin.top, bottom, width, height };
  }

  const path = (points) => points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");

  // Points to read: [{ px, py, text }]. Pointer and arrow keys choose one; its text stands beneath the chart.
  function cursor(container, root, points, { hint, byX = true, onChoose } = {}) {
    const reading = document.getElementById(container.getAttribute("aria-describedby"));
    const ring = node("circle", { class: "cursor", r: 7 }, root);
    let chosen = -1;
    reading.textContent = hint;
    reading.classList.remove("active");

    function choose(index, told = true) {
      chosen = Math.max(0, Math.min(points.length - 1, index));
      const { px, py, text } = points[chosen];
      ring.setAttribute("cx", px);
      ring.setAttribute("cy", py);
      ring.classList.add("on");
      reading.textContent = text;
      reading.classList.add("active");
      if (told && onChoose) onChoose(chosen);
    }

    function nearest(event) {
      const box = root.getBoundingClientRect(), scale = root.viewBox.baseVal.width / box.width;
      const px = (event.clientX - box.left) * scale, py = (event.clientY - box.top) * scale;
      let best = 0, least = Infinity;
      points.forEach((point, i) => {
        const distance = (point.px - px) ** 2 + (byX ? 0 : (point.py - py) ** 2);
        if (distance < least) [best, least] = [i, distance];
      });
      return best;
    }

    root.onpointermove = root.onpointerdown = (event) => points.length && choose(nearest(event));
    container.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!points.length || (step === undefined && event.key !== "Home" && event.key !== "End")) return;
      event.preventDefault();
      if (event.key === "Home") choose(0);
      else if (event.key === "End") choose(points.length - 1);
      else choose(chosen < 0 ? 0 : chosen + step);
    };
    return choose;
  }

  const kit = { node, linear, ticks, percent, frame, path, cursor, paper: false };
  return kit;
})();
