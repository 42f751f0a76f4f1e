// One chart: uPlot inside a figure, with what uPlot leaves to others: stacking, percent, gaps, legend buttons, keys, spoken values, PNG.
// Knows nothing of where its figures come from: `show` is given them. Colours are the style sheet's, read anew when the theme changes.
"use strict";
window.TasksysChart = (function () {
  const DASHES = { "": [], long: [9, 4], short: [4, 3], dot: [1.5, 3] };
  const probe = document.createElement("span");
  probe.hidden = true;
  document.documentElement.append(probe);
  function colour(name) {
    probe.style.color = "var(--" + name + ")";
    return getComputedStyle(probe).color;
  }
  const INCREMENTS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800];
  const FONT = () => "12px " + getComputedStyle(document.body).fontFamily;

  class Chart {
    constructor(figure, say, zone, language) {
      this.figure = figure;
      this.say = say;
      this.stacked = figure.dataset.kind === "stacked";
      this.unit = figure.dataset.unit;
      this.limit = figure.dataset.limit === undefined ? null : Number(figure.dataset.limit);
      this.least = Number(figure.dataset.scaleLeast);
      this.plot = figure.querySelector("[data-plot]");
      this.legend = figure.querySelector("[data-legend]");
      this.spoken = figure.querySelector("[data-spoken]");
      this.title = figure.querySelector("h2").textContent;
      this.percent = false;
      this.hidden = new Set();
      this.compact = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
      this.exact = new Intl.NumberFormat(language, { maximumSignificantDigits: 3 });
      this.whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
      this.zone = zone;
      this.clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: zone });
      this.day = new Intl.DateTimeFormat(language, { month: "numeric", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone });
      this.plot.replaceChildren();
      this.wire();
    }

    wire() {
      const percent = this.figure.querySelector("[data-percent]");
      if (percent) {
        percent.hidden = false;
        percent.addEventListener("click", () => {
          this.percent = !this.percent;
          percent.setAttribute("aria-pressed", String(this.percent));
          this.redraw(true);
        });
      }
      const png = this.figure.querySelector("[data-png]");
      png.hidden = false;
      png.addEventListener("click", () => this.png());
      this.plot.addEventListener("keydown", (event) => this.key(event));
      this.plot.addEventListener("pointermove", (event) => {
        // uPlot listens to a mouse; one finger moves the same cursor.
        if (event.pointerType === "mouse" || !this.u) return;
        const box = this.u.over.getBoundingClientRect();
        this.u.setCursor({ left: event.clientX - box.left, top: event.clientY - box.top });
      });
      new ResizeObserver(() => {
        if (this.u && this.plot.clientWidth) this.u.setSize({ width: this.plot.clientWidth, height: this.plot.clientHeight });
      }).observe(this.plot);
    }

    // given: {series:[{key,label,colour,dash}], at, rows, columns, step, window, now}
    show(given) {
      const keys = given.series.map((one) => one.key).join();
      const anew = keys !== this.keys || given.window !== this.given?.window;
      this.keys = keys;
      this.given = given;
      if (anew) this.drawLegend();
      this.redraw(anew);
    }

    visible() {
      return this.given.series.map((_one, index) => index).filter((index) => !this.hidden.has(this.given.series[index].key));
    }

    // What uPlot gets: for a stack the running sums, the topmost first, so that each lower one is painted over it.
    data() {
      const { at, columns } = this.given;
      if (!this.stacked) return [at, ...columns.map((column, index) => (this.hidden.has(this.given.series[index].key) ? column.map(() => null) : column))];
      const shown = this.visible();
      const sums = this.given.series.map(() => new Array(at.length).fill(null));
      for (let i = 0; i < at.length; i++) {
        let total = 0, known = shown.length > 0;
        for (const index of shown) { const value = columns[index][i]; if (value === null) { known = false; break; } total += value; }
        if (!known) continue;
        let sum = 0;
        for (const index of shown) {
          sum += columns[index][i];
          sums[index][i] = this.percent ? (total ? (sum / total) * 100 : null) : sum;
        }
      }
      return [at, ...sums.reverse()];
    }

    redraw(anew) {
      if (!this.given) return;
      const range = this.range();
      if (anew || !this.u) {
        if (this.u) this.u.destroy();
        this.u = new uPlot(this.options(), this.data(), this.plot);
      } else {
        this.u.setData(this.data(), false);
      }
      this.u.setScale("x", { min: range[0], max: range[1] });
      this.legendValues();
    }

    range() { return [this.given.now - this.given.window, this.given.now]; }

    top() {
      const { columns, at } = this.given;
      if (this.percent) return 100;
      const from = this.given.now - this.given.window;
      let most = this.limit === null ? 0 : this.limit * 1.2;
      const shown = this.visible();
      for (let i = 0; i < at.length; i++) {
        if (at[i] < from) continue;
        let sum = 0;
        for (const index of shown) { const value = columns[index][i] ?? 0; if (this.stacked) sum += value; else if (value > most) most = value; }
        if (sum > most) most = sum;
      }
      return Math.max(most * 1.06, this.least || (this.stacked ? 10 : 1));
    }

    options() {
      const chart = this, shown = this.given.series;
      const order = this.stacked ? shown.map((_one, index) => index).reverse() : shown.map((_one, index) => index);
      const axis = { stroke: () => colour("soft"), grid: { stroke: () => colour("grid"), width: 1 }, ticks: { show: false }, font: FONT() };
      return {
        width: this.plot.clientWidth, height: this.plot.clientHeight,
        legend: { show: false },
        cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, sync: { key: "tasksys" } },
        scales: { x: { time: true }, y: { range: () => [0, chart.top()] } },
        axes: [
          { ...axis, space: 64, incrs: INCREMENTS, size: 26, gap: 8, values: (_u, splits) => splits.map((at) => chart.time(at)) },
          { ...axis, values: (_u, splits) => splits.map((value) => (chart.percent ? chart.whole.format(value) + "%" : chart.compact.format(value))), size: (u, values) => chart.axisSize(u, values), gap: 6 },
        ],
        series: [{}, ...order.map((index) => ({
          label: shown[index].label,
          show: !chart.hidden.has(shown[index].key),
          stroke: () => colour(shown[index].colour),
          fill: chart.stacked ? () => colour(shown[index].colour) : undefined,
          width: chart.stacked ? 0 : 2,
          dash: chart.stacked ? undefined : DASHES[shown[index].dash],
          points: { show: (u, _s, i0, i1) => i1 - i0 < 2 },
          spanGaps: false,
        }))],
        hooks: {
          drawClear: [(u) => chart.gaps(u)],
          draw: [(u) => chart.limitLine(u)],
          setCursor: [() => { chart.legendValues(); chart.speakSoon(); }],
        },
      };
    }

    time(at) { return (this.given.window > 7200 ? this.day : this.clock).format(new Date(at * 1000)); }

    axisSize(u, values) {
      if (!values) return 40;
      u.ctx.save();
      u.ctx.font = FONT();
      const widest = Math.max(...values.map((text) => u.ctx.measureText(text ?? "").width));
      u.ctx.restore();
      return Math.ceil(widest) + 14;
    }

    // Steps without a row, and the time after the newest one, are grey bands: nobody looked. Before the first row there is nothing.
    bands() {
      const { at, rows, step, now } = this.given, bands = [];
      for (let i = 0; i < at.length; i++) {
        if (rows[i]) continue;
        const last = bands[bands.length - 1];
        if (last && last[1] === at[i]) last[1] = at[i] + step; else bands.push([at[i], at[i] + step]);
      }
      if (at.length && now - at[at.length - 1] > 2.5 * step + 4) bands.push([at[at.length - 1] + step, now]);
      return bands;
    }

    gaps(u) {
      u.ctx.save();
      u.ctx.fillStyle = colour("gap");
      for (const [from, to] of this.bands()) {
        const left = Math.max(u.valToPos(from, "x", true), u.bbox.left), right = Math.min(u.valToPos(to, "x", true), u.bbox.left + u.bbox.width);
        if (right > left) u.ctx.fillRect(left, u.bbox.top, Math.max(right - left, 1), u.bbox.height);
      }
      u.ctx.restore();
    }

    limitLine(u) {
      if (this.limit === null) return;
      const y = u.valToPos(this.limit, "y", true);
      u.ctx.save();
      u.ctx.strokeStyle = colour("limit");
      u.ctx.lineWidth = 1.5 * devicePixelRatio;
      u.ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
      u.ctx.beginPath();
      u.ctx.moveTo(u.bbox.left, y);
      u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
      u.ctx.stroke();
      u.ctx.restore();
    }

    drawLegend() {
      this.legend.replaceChildren(...this.given.series.map((one) => {
        const button = document.createElement("button");
        button.type = "button";
        button.setAttribute("aria-pressed", String(!this.hidden.has(one.key)));
        const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        svg.setAttribute("viewBox", "0 0 28 12");
        svg.setAttribute("aria-hidden", "true");
        const shape = document.createElementNS("http://www.w3.org/2000/svg", this.stacked ? "rect" : "line");
        const attributes = this.stacked ? { x: 0, y: 0, width: 28, height: 12 } : { x1: 0, x2: 28, y1: 6, y2: 6, "stroke-width": 3, "stroke-dasharray": DASHES[one.dash].join(" ") };
        for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
        shape.style.setProperty(this.stacked ? "fill" : "stroke", "var(--" + one.colour + ")");
        svg.append(shape);
        const text = document.createElement("span");
        button.append(svg, text);
        button.addEventListener("click", () => {
          if (!this.hidden.delete(one.key)) this.hidden.add(one.key);
          button.setAttribute("aria-pressed", String(!this.hidden.has(one.key)));
          this.redraw(true);
        });
        return button;
      }));
    }

    // The step under the cursor, else the newest one there is.
    index() {
      const { at, rows } = this.given;
      const under = this.u && this.u.cursor.left >= 0 ? this.u.cursor.idx : null;
      return under ?? rows.lastIndexOf(1, at.length - 1);
    }

    text(index, series) {
      const value = this.given.columns[series][index];
      if (value === null || value === undefined) return "?";
      const number = Math.abs(value) >= 100 ? this.whole.format(value) : this.exact.format(value);
      if (!this.percent) return number + " " + this.unit;
      const shown = this.visible();
      const total = shown.reduce((sum, other) => sum + (this.given.columns[other][index] ?? 0), 0);
      return total && shown.includes(series) ? this.exact.format((value / total) * 100) + " %" : "—";
    }

    legendValues() {
      if (!this.given) return;
      const index = this.index();
      [...this.legend.children].forEach((button, series) => {
        const text = this.given.series[series].label + (index >= 0 ? " " + this.text(index, series) : "");
        const node = button.lastElementChild;
        if (node.textContent !== text) node.textContent = text;
      });
    }

    speakSoon() {
      clearTimeout(this.timer);
      if (document.activeElement !== this.plot) return;
      this.timer = setTimeout(() => {
        const index = this.index();
        if (index < 0) return;
        const at = this.given.at[index], gap = this.bands().find(([from, to]) => at >= from && at < to);
        this.spoken.textContent = gap
          ? this.say("gap", { from: this.time(gap[0]), to: this.time(gap[1]) })
          : this.time(at) + ": " + this.visible().map((series) => this.given.series[series].label + " " + this.text(index, series)).join(", ");
      }, 150);
    }

    key(event) {
      if (!this.u || !this.given.at.length || event.ctrlKey || event.metaKey || event.altKey) return;
      const last = this.given.at.length - 1, now = this.index(), step = event.shiftKey ? 10 : 1;
      const to = { ArrowLeft: now - step, ArrowRight: now + step, Home: 0, End: last }[event.key];
      if (event.key === "Escape") { this.u.setCursor({ left: -10, top: -10 }); this.plot.blur(); return; }
      if (to === undefined) return;
      event.preventDefault();
      const index = Math.min(last, Math.max(0, to));
      this.u.setCursor({ left: this.u.valToPos(this.given.at[index], "x"), top: 10 });
    }

    png() {
      const from = this.u.ctx.canvas, scale = devicePixelRatio, head = 34 * scale;
      const line = 20 * scale, canvas = document.createElement("canvas"), ctx = canvas.getContext("2d");
      canvas.width = from.width;
      canvas.height = from.height + head + line * this.legend.children.length + 10 * scale;
      ctx.fillStyle = colour("card");
      ctx.fillRect(0, 0, canvas.width, canvas.height);
      ctx.fillStyle = colour("ink");
      ctx.font = "600 " + 14 * scale + "px sans-serif";
      const range = this.range();
      ctx.fillText(this.title + " · " + this.unit + " · " + this.day.format(new Date(range[0] * 1000)) + " – " + this.day.format(new Date(range[1] * 1000)) + " " + this.zone, 10 * scale, 22 * scale);
      ctx.drawImage(from, 0, head);
      ctx.font = 12 * scale + "px sans-serif";
      this.given.series.forEach((one, series) => {
        const y = from.height + head + line * series + 12 * scale;
        ctx.fillStyle = colour(one.colour);
        ctx.fillRect(10 * scale, y - 8 * scale, 18 * scale, 8 * scale);
        ctx.fillStyle = colour("ink");
        ctx.fillText(this.legend.children[series].textContent, 36 * scale, y);
      });
      canvas.toBlob((blob) => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = this.figure.dataset.chart + ".png";
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      });
    }
  }
  return Chart;
})();
