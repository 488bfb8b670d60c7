import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { html } from './html.js';

/**
 * @typedef {object} Series
 * @property {string} label
 * @property {string} color the name of a colour in style/controls.css
 * @property {(number | null)[]} values
 */

const HEIGHT = 180;

/**
 * A chart over time, with a table of the same numbers for screen readers.
 * @param {{ label: string, times: number[], series: Series[], bars?: boolean, format: (value: number) => string, from: number, to: number }} props
 *   `times`: seconds since 1970; `bars`: stacked
 */
export function TimeChart(props) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const { label, times, series, format } = props;
  const identity = JSON.stringify(props);

  useEffect(() => {
    const element = /** @type {HTMLDivElement} */ (place.current);
    let chart = draw(element, props);
    const redraw = () => {
      chart.destroy();
      chart = draw(element, props);
    };
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    addEventListener('themechange', redraw);
    return () => {
      observer.disconnect();
      removeEventListener('themechange', redraw);
      chart.destroy();
    };
  }, [identity]);

  return html`
    <figure class="chart" aria-label=${label}>
      <figcaption>
        <strong>${label}</strong>
        <span class="legend">${series.map((each) => html`<span class="key ${each.color}">${each.label}</span>`)}</span>
      </figcaption>
      <div ref=${place} aria-hidden="true"></div>
      <table class="for-readers">
        <caption>${label}</caption>
        <tr><th>Time</th>${series.map((each) => html`<th>${each.label}</th>`)}</tr>
        ${times.map(
          (time, index) => html`
            <tr>
              <td>${new Date(time * 1000).toISOString()}</td>
              ${series.map(({ values }) => html`<td>${values[index] == null ? '' : format(values[index])}</td>`)}
            </tr>
          `,
        )}
      </table>
    </figure>
  `;
}

/** @param {HTMLDivElement} element @param {Parameters<typeof TimeChart>[0]} props */
function draw(element, { times, series, bars = false, format, from, to }) {
  const text = colorOf(element, 'var(--muted)');
  const grid = { stroke: colorOf(element, 'var(--line)'), width: 1 };
  // Stacked bars are drawn from the tallest sum to the lowest, so that each covers what is below it.
  const drawn = bars ? stacked(series) : series;
  /** @type {uPlot.Options} */
  const options = {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 } },
    padding: [8, 8, 0, 0],
    scales: {
      x: { time: true, range: () => [from, to] },
      y: { range: (_chart, _low, high) => [0, Math.max(high * 1.1, 1)] },
    },
    axes: [
      {
        stroke: text,
        grid: { show: false },
        ticks: { show: false },
        font: '12px system-ui',
        size: 28,
        space: 70,
        values: timeLabels,
      },
      {
        stroke: text,
        grid,
        ticks: { show: false },
        font: '12px system-ui',
        size: 56,
        values: (_chart, splits) => splits.map((value) => (Number.isInteger(value) || !bars ? format(value) : '')),
      },
    ],
    series: [
      {},
      ...drawn.map((each) => {
        const stroke = colorOf(element, `var(--${each.color})`);
        const barWidth = element.clientWidth < 500 ? 5 : 9;
        return {
          label: each.label,
          stroke,
          width: bars ? 0 : 2,
          fill: bars ? stroke : undefined,
          points: { show: !bars, size: 5, fill: stroke },
          paths: bars ? uPlot.paths.bars?.({ size: [0.8, barWidth], align: 1, radius: 0.15 }) : undefined,
        };
      }),
    ],
    hooks: { setCursor: [(chart) => showValues(chart, series, times, format)] },
  };
  return new uPlot(options, [times, ...drawn.map(({ values }) => values)], element);
}

/** @param {Series[]} series @returns {Series[]} sums, the greatest first */
function stacked(series) {
  const sums = series.map((each, index) => ({
    ...each,
    values: each.values.map((_, at) =>
      series.slice(0, index + 1).reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
    ),
  }));
  return sums.reverse();
}

const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' });

/** @param {uPlot} _chart @param {number[]} splits */
function timeLabels(_chart, splits) {
  const isLong = (splits.at(-1) ?? 0) - (splits[0] ?? 0) > 2 * 86_400;
  return splits.map((seconds) => (isLong ? day : clock).format(seconds * 1000));
}

/** The values under the pointer. @param {uPlot} chart @param {Series[]} series @param {number[]} times @param {(value: number) => string} format */
function showValues(chart, series, times, format) {
  const { over, cursor } = chart;
  let tip = /** @type {HTMLElement | null} */ (over.querySelector('.chart-tip'));
  const at = cursor.idx;
  const values = at == null ? [] : series.filter((each) => each.values[at] != null);
  if (at == null || values.length === 0) {
    tip?.remove();
    return;
  }
  if (!tip) {
    tip = document.createElement('div');
    tip.className = 'chart-tip';
    over.append(tip);
  }
  const lines = values.map((each) => `${each.label} ${format(/** @type {number} */ (each.values[at]))}`);
  tip.textContent = [clock.format((times[at] ?? 0) * 1000), ...lines].join('\n');
  const left = cursor.left ?? 0;
  tip.style.left = `${left < over.clientWidth / 2 ? left + 12 : left - tip.offsetWidth - 12}px`;
}

/** A colour as the canvas takes it. @param {HTMLElement} element @param {string} color */
function colorOf(element, color) {
  const probe = document.createElement('span');
  probe.style.color = color;
  element.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
